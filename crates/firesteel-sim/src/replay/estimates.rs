//! The run times that applications announce.

use std::time::Duration;

use super::workload::Workload;
use crate::dice::Dice;

/// How accurate the announced run times are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Estimates {
    /// The trace's own estimates, if it has any.
    #[default]
    Trace,
    /// No application announces a run time.
    None,
    /// Each application announces its true run time.
    Exact,
    /// Each application announces twice its run time.
    Double,
    /// Each application announces between a third of its run time and three times its run time. The factors are spread
    /// evenly on a logarithmic scale.
    Noisy,
    /// Half of the applications announce their run time. The others announce the run time of another application.
    HalfWrong,
}

impl Workload {
    /// The same workload with these estimates, in whole seconds. The smallest estimate is one second.
    #[must_use]
    pub fn with_estimates(mut self, seed: u64, estimates: Estimates) -> Self {
        let mut dice = Dice::new(seed ^ 0xE571);
        let lifetimes: Vec<Duration> = self.applications.iter().map(|one| one.lifetime).collect();
        for application in &mut self.applications {
            let lifetime = application.lifetime;
            let said = match estimates {
                Estimates::Trace => continue,
                Estimates::None => {
                    application.run_time = None;
                    continue;
                }
                Estimates::Exact => lifetime,
                Estimates::Double => lifetime.saturating_mul(2),
                Estimates::Noisy => lifetime.mul_f64(3_f64.powf(dice.part() * 2.0 - 1.0)),
                Estimates::HalfWrong if dice.one_in(2) => *dice.pick(&lifetimes),
                Estimates::HalfWrong => lifetime,
            };
            application.run_time = Some(Duration::from_secs((said.as_secs_f64().ceil() as u64).max(1)));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TraceApplication;

    #[test]
    fn estimates_are_as_good_as_their_name_says() {
        let one = |n: u64| TraceApplication {
            lifetime: Duration::from_secs(n * 10),
            run_time: Some(Duration::from_secs(7)),
            ..TraceApplication::default()
        };
        let work = Workload { workers: Vec::new(), applications: (1..=1000).map(one).collect() };
        let said = |estimates| {
            let work = work.clone().with_estimates(1, estimates);
            let ratio = |one: &TraceApplication| {
                one.run_time.map(|said| said.as_secs_f64() / one.lifetime.as_secs_f64())
            };
            work.applications.iter().map(ratio).collect::<Vec<_>>()
        };
        let near =
            |ratio: &Option<f64>, wanted: f64| ratio.is_some_and(|ratio| (ratio - wanted).abs() < 1e-9);
        assert!(said(Estimates::None).iter().all(Option::is_none));
        assert!(work.clone().with_estimates(1, Estimates::Trace) == work);
        assert!(said(Estimates::Exact).iter().all(|ratio| near(ratio, 1.0)));
        assert!(said(Estimates::Double).iter().all(|ratio| near(ratio, 2.0)));
        let noisy = said(Estimates::Noisy);
        assert!(noisy.iter().flatten().all(|ratio| (0.33..3.2).contains(ratio)));
        assert!(
            noisy.iter().flatten().any(|ratio| *ratio < 0.5)
                && noisy.iter().flatten().any(|ratio| *ratio > 2.0)
        );
        let right = said(Estimates::HalfWrong).iter().filter(|ratio| near(ratio, 1.0)).count();
        assert!((440..560).contains(&right), "{right} of 1000 are right");
    }
}
