//! The expected run times of applications, learned from ended applications of the same user and name.
//!
//! If an application has its own estimate, the Master uses it. For any other application, the Master expects the median
//! of the last runs by the same user under the same name. Only the policy
//! [`Lifetimes`](firesteel_placement::Policy::Lifetimes) uses these expectations, so a wrong one only makes the packing
//! worse. This is why a recovered Master may know less: it learns only from the ended applications that are still in
//! its journal.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::advanced::policy::Rest;
use firesteel_protocol::messages::ApplicationView;
use firesteel_protocol::scheduling::run_time::corrected;
use firesteel_protocol::time::Timestamp;

use crate::Master;
use crate::tables::applications::application::Application;
use crate::tables::applications::table::ApplicationTable;
use crate::tables::executors::record::ExecutorRecord;
use crate::tables::run_times::RunTimes;

/// The facts from which run times of applications are expected.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunningTimes<'m> {
    pub(super) now: Timestamp,
    pub(super) applications: &'m ApplicationTable,
    pub(super) run_times: &'m RunTimes,
}

impl Application {
    /// When the application's first live executor was launched.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        self.executors.iter().map(|(_, executor)| executor.launched).min()
    }

    /// The application's estimated end, if it has an estimated run time. It is counted from the launch of its first
    /// live executor, or from now.
    pub(super) fn told_end(&self, now: Timestamp) -> Option<Timestamp> {
        let told = self.run_time?;
        let began = self.began().unwrap_or(now);
        Some(began + corrected(told, now.since(began)))
    }
}

impl Master {
    /// Learns the run time of an ended application with these executors, if any of them ran.
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
}

impl RunningTimes<'_> {
    /// How much longer executors are expected to run, when this application is served. An executor is expected to run
    /// at least as long again as it has run.
    pub(super) fn rest(&self, application: &Application) -> Rest {
        let now = self.now;
        let mut rests: BTreeMap<Slot, Duration> = BTreeMap::new();
        for other in self.applications.queue().filter(|other| !other.executors.is_empty()) {
            let end = other.began().zip(self.expected(other)).map(|(began, whole)| began + whole);
            for (_, executor) in other.executors.iter() {
                let rest = end.map_or(Duration::ZERO, |end| end.since(now)).max(now.since(executor.launched));
                let longest = rests.entry(executor.slot).or_default();
                *longest = rest.max(*longest);
            }
        }
        let own = self.expected(application).map(|whole| {
            let ran = application.began().map_or(Duration::ZERO, |began| now.since(began));
            whole.saturating_sub(ran).max(ran)
        });
        Rest { on: rests, own }
    }

    /// The expected total run time of an application: its own estimate, or that of the last runs of its user and name.
    fn expected(&self, application: &Application) -> Option<Duration> {
        let learned =
            || self.run_times.expected(&application.description.user, &application.description.name);
        application.run_time.or_else(learned)
    }
}
