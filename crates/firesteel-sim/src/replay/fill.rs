//! Applications come and none goes.

use firesteel_core::master::Config;
use firesteel_core::messages::Placing;

use super::outcome::{Shares, requests};
use super::run::describe;
use super::stage::{Apply, Stage};
use super::workload::{Size, Workload};

/// A cluster that is filled.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// Whenever another hundredth was asked for.
    pub steps: Vec<Filled>,
    /// How much was free and of no use to the next executor, in the end.
    pub stranded: Shares,
    /// How many executors run.
    pub executors: u64,
}

/// How far it is filled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filled {
    /// What was asked for (see [`Workload::asked`]).
    pub asked: f64,
    /// What of that is given out.
    pub given: f64,
}

impl Fill {
    /// What of the cluster is not given out in the end, although it was asked for.
    #[must_use]
    pub fn unallocated(&self) -> f64 {
        self.steps.last().map_or(0.0, |last| last.asked - last.given)
    }
}

/// Has the workload's applications come one after the other, executor by executor as there is room; none goes.
/// [`Workload::asking_for`] makes it as large as the cluster.
pub fn fill(config: &Config, workload: &Workload, apply: &mut impl Apply) -> Fill {
    let mut stage = Stage::new(config.clone(), &workload.workers, apply);
    let (mut asked, mut steps) = ([0.0; 3], Vec::new());
    for (application, driver) in workload.applications.iter().zip(0..) {
        let amounts = Size::of(&application.request).amounts();
        asked.iter_mut().zip(amounts).for_each(|(all, amount)| *all += amount * application.executors as f64);
        stage.register(driver, describe(application, Placing::default()));
        let is_last = driver + 1 == workload.applications.len() as u64;
        let now = workload.asked(asked);
        if is_last || now * 100.0 >= steps.len() as f64 + 1.0 {
            steps.push(Filled { asked: now, given: workload.asked(stage.books.used()) });
        }
    }
    let stranded = Shares::of(stage.books.stranded(&requests(workload)), workload.capacity());
    Fill { steps, stranded, executors: stage.books.executors() as u64 }
}
