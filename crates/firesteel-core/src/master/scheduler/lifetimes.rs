//! How long applications ran that have ended, by user and name, and what that says of those that run.
//!
//! An application that says how long it runs is believed. For any other one, the Master expects the median of the last runs of the
//! same user under the same name. Only the policy [`Lifetimes`](firesteel_placement::Policy::Lifetimes) uses what is expected:
//! a wrong expectation costs some packing, and nothing else. So a Master that was recovered may know less: it has learned from
//! the ended applications in its journal, and forgotten those that the journal no longer has.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use firesteel_placement::Policy;
use firesteel_placement::index::Slot;
use firesteel_placement::policy::Rule;

use crate::master::Master;
use crate::master::tables::applications::application::Application;
use crate::master::tables::executors::record::ExecutorRecord;
use crate::messages::ApplicationView;
use crate::run_time::corrected;
use crate::time::Timestamp;

/// The number of users and names that are remembered. A further one replaces the one whose last run ended first.
const MOST: usize = 4096;

/// The number of last runs whose median is expected.
const RUNS: usize = 5;

/// The last run times by user and name.
#[derive(Debug, Default)]
pub(crate) struct RunTimes {
    by_name: BTreeMap<(String, String), Past>,
    /// The users and names by the number of their last run.
    by_use: BTreeMap<u64, (String, String)>,
    runs: u64,
}

#[derive(Debug, Default)]
struct Past {
    last: VecDeque<Duration>,
    /// The number of the last run.
    used: u64,
}

impl RunTimes {
    /// An application ran for this long, from its first executor to its end.
    pub(crate) fn learn(&mut self, user: &str, name: &str, ran: Duration) {
        let key = (user.to_owned(), name.to_owned());
        self.runs += 1;
        let past = self.by_name.entry(key.clone()).or_default();
        if past.last.len() == RUNS {
            past.last.pop_front();
        }
        past.last.push_back(ran);
        self.by_use.remove(&past.used);
        past.used = self.runs;
        self.by_use.insert(self.runs, key);
        if self.by_name.len() > MOST
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.by_name.remove(&oldest);
        }
    }

    /// How long an application of this user and name is expected to run: the median of its last runs, the longer one of two.
    pub(crate) fn expected(&self, user: &str, name: &str) -> Option<Duration> {
        let past = self.by_name.get(&(user.to_owned(), name.to_owned()))?;
        let mut last: Vec<Duration> = past.last.iter().copied().collect();
        last.sort_unstable();
        last.get(last.len() / 2).copied()
    }
}

/// How much longer executors are expected to run.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// The executors on each Worker that has any, the longest of them.
    pub(crate) on: BTreeMap<Slot, Duration>,
    /// The executors of the application that is served, if that is known.
    pub(crate) own: Option<Duration>,
}

impl Application {
    /// When its first live executor was launched.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        self.executors.iter().map(|(_, executor)| executor.launched).min()
    }

    /// When it will have ended, if it says how long it runs: from the launch of its first live executor, or from now.
    pub(crate) fn told_end(&self, now: Timestamp) -> Option<Timestamp> {
        let told = self.run_time?;
        let began = self.began().unwrap_or(now);
        Some(began + corrected(told, now.since(began)))
    }
}

impl Master {
    /// An application has ended that had these executors: remembers how long it ran, if it did.
    pub(crate) fn learn_run_time<'a>(
        &mut self,
        row: &ApplicationView,
        executors: impl IntoIterator<Item = &'a ExecutorRecord>,
    ) {
        let began = executors.into_iter().map(|executor| executor.launched).min();
        if let Some((began, ended)) = began.zip(row.ended) {
            self.run_times.learn(&row.user, &row.name, ended.since(began));
        }
    }

    /// How long an application will run in all, as it says or as the last ones of its user and name did.
    fn expected_run_time(&self, application: &Application) -> Option<Duration> {
        let learned =
            || self.run_times.expected(&application.description.user, &application.description.name);
        application.run_time.or_else(learned)
    }

    /// What the policy of an application has to know of how long executors run on: nothing, for all policies but one.
    pub(crate) fn rest_for_policy(&self, now: Timestamp, application: &Application) -> Rest {
        match application.rule(&self.config) {
            Rule::Policy(Policy::Lifetimes) => self.expected_rest(now, application),
            Rule::Policy(
                Policy::Spark
                | Policy::BestFit
                | Policy::LeastFragmentation
                | Policy::LearnedFragmentation
                | Policy::SpreadHeld,
            )
            | Rule::Expression(_) => Rest::default(),
        }
    }

    /// How much longer executors are expected to run. Each is expected to run at least as long again as it has run.
    fn expected_rest(&self, now: Timestamp, application: &Application) -> Rest {
        let mut rests: BTreeMap<Slot, Duration> = BTreeMap::new();
        for other in self.applications.queue().filter(|other| !other.executors.is_empty()) {
            let end = other.began().zip(self.expected_run_time(other)).map(|(began, whole)| began + whole);
            for (_, executor) in other.executors.iter() {
                let rest = end.map_or(Duration::ZERO, |end| end.since(now)).max(now.since(executor.launched));
                let longest = rests.entry(executor.slot).or_default();
                *longest = rest.max(*longest);
            }
        }
        let own = self.expected_run_time(application).map(|whole| {
            let ran = application.began().map_or(Duration::ZERO, |began| now.since(began));
            whole.saturating_sub(ran).max(ran)
        });
        Rest { on: rests, own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_median_of_the_last_five_runs_is_expected() {
        let mut times = RunTimes::default();
        assert_eq!(times.expected("u", "n"), None);
        for (ran, expected) in [(10, 10), (30, 30), (20, 20), (500, 30), (600, 30), (700, 500), (5, 500)] {
            times.learn("u", "n", seconds(ran));
            assert_eq!(times.expected("u", "n"), Some(seconds(expected)), "after {ran}");
        }
        assert_eq!(times.expected("u", "m"), None, "another name");
        assert_eq!(times.expected("v", "n"), None, "another user");
    }

    #[test]
    fn the_name_that_ended_first_is_forgotten() {
        let mut times = RunTimes::default();
        for n in 0..MOST {
            times.learn("u", &n.to_string(), seconds(1));
        }
        times.learn("u", "0", seconds(1));
        times.learn("u", "new", seconds(1));
        assert_eq!((times.by_name.len(), times.by_use.len()), (MOST, MOST));
        assert_eq!(times.expected("u", "1"), None, "the oldest");
        assert!(times.expected("u", "0").is_some() && times.expected("u", "2").is_some());
    }
}
