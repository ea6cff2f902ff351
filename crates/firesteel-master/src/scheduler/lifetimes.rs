//! The expected run times of applications, learned from ended applications of the same user and name.
//!
//! An application's own estimate is believed. For any other one, the Master expects the median of the last runs of the
//! same user under the same name. Only the policy [`Lifetimes`](firesteel_placement::Policy::Lifetimes) uses these
//! expectations: a wrong one costs some packing, and nothing else. So a recovered Master may know less: it has learned
//! from the ended applications in its journal, and forgotten those that the journal no longer has.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::Policy;
use firesteel_placement::index::Slot;
use firesteel_placement::policy::Rule;
use firesteel_protocol::messages::ApplicationView;
use firesteel_protocol::scheduling::run_time::corrected;
use firesteel_protocol::time::Timestamp;

use crate::Master;
use crate::tables::applications::application::Application;
use crate::tables::executors::record::ExecutorRecord;

/// How much longer executors are expected to run.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    /// For each Worker with executors: the longest such time.
    pub(crate) on: BTreeMap<Slot, Duration>,
    /// The time for the executors of the application that is served, if it is known.
    pub(crate) own: Option<Duration>,
}

impl Application {
    /// When its first live executor was launched.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        self.executors.iter().map(|(_, executor)| executor.launched).min()
    }

    /// Its estimated end, if it has an estimated run time: counted from the launch of its first live executor, or from
    /// now.
    pub(super) fn told_end(&self, now: Timestamp) -> Option<Timestamp> {
        let told = self.run_time?;
        let began = self.began().unwrap_or(now);
        Some(began + corrected(told, now.since(began)))
    }
}

impl Master {
    /// Learns the run time of an ended application with these executors, if it ran at all.
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

    /// The expected total run time of an application: its own estimate, or learned from its last runs.
    fn expected_run_time(&self, application: &Application) -> Option<Duration> {
        let learned =
            || self.run_times.expected(&application.description.user, &application.description.name);
        application.run_time.or_else(learned)
    }

    /// The expected rest of run times for the policy of an application. Empty for every policy that does not use it.
    pub(super) fn rest_for_policy(&self, now: Timestamp, application: &Application) -> Rest {
        match self.config.rule_for(application.description.policy) {
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

    /// How much longer executors are expected to run: at least as long as they have already run.
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
