//! The durable changes of applications: registration, targets, host preferences, health and end.

use firesteel_placement::ExecutorLimit;
use firesteel_protocol::ids::{AppId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, ApplicationEnd, ApplicationState, ApplicationView, ExecutorTarget,
};
use firesteel_protocol::time::Timestamp;

use crate::Master;
use crate::durable::record::Record;
use crate::tables::applications::application::{Application, Entry};
use crate::tables::applications::ended::Ended;
use crate::tables::applications::host_preferences::LimitedPreferences;
use crate::tables::link::Link;
use crate::tables::long_sorted::LongSorted;

impl Master {
    pub(crate) fn add_application(
        &mut self,
        now: Timestamp,
        (number, id): (u64, AppId),
        description: ApplicationDescription,
        link: Link,
        entry: &Entry,
    ) {
        if self.records.are_wanted() {
            let (id, max_cores, description) = (id.clone(), entry.max_cores, Box::new(description.clone()));
            self.records.add(now, Record::ApplicationRegistered { app: number, id, max_cores, description });
        }
        self.applications.insert(Application::new((number, id), description, link, now, entry));
    }

    /// Sets the numbers of executors that a driver wants.
    pub(crate) fn set_targets(&mut self, now: Timestamp, number: u64, targets: Vec<ExecutorTarget>) {
        let application = self.applications.at_mut(number).expect("the application is live");
        // In the meantime, a pass may have made the application forget profiles. Recovery runs no passes, so it forgets
        // them here.
        application.forget_profiles();
        for ExecutorTarget { id, profile, total } in &targets {
            application.set_target(*id, profile, ExecutorLimit::AtMost(*total));
        }
        self.records.add(now, Record::TargetsSet { app: number, targets });
    }

    /// Sets the hosts that an application prefers and excludes.
    pub(crate) fn set_preferences(&mut self, now: Timestamp, number: u64, preferences: LimitedPreferences) {
        if self.records.are_wanted() && preferences != self.applications.numbered(number).preferences {
            let preferences = Box::new(preferences.to_message());
            self.records.add(now, Record::HostsPreferred { app: number, preferences });
        }
        self.applications.prefer(number, preferences);
    }

    /// Moves an application without executors to the ended ones. Returns the link of its driver, and the Workers that
    /// ever ran its executors.
    pub(crate) fn retire_application(
        &mut self,
        now: Timestamp,
        app: &AppId,
        end: &ApplicationEnd,
    ) -> (Link, LongSorted<WorkerId>) {
        let application = self.applications.remove(app);
        if self.records.are_wanted() {
            let (app, end) = (application.sequence, end.clone());
            self.records.add(now, Record::ApplicationEnded { app, end });
        }
        let row = ended(self.row_of(&application), now, end);
        let Application { sequence, link, workers, ended, .. } = application;
        let mut executors = Vec::from(ended);
        executors.sort_by_key(|executor| executor.id);
        self.retire(now, Ended { sequence, end: end.clone(), row, executors });
        (link, workers)
    }

    pub(crate) fn retire(&mut self, now: Timestamp, ended: Ended) {
        self.learn_run_time(&ended.row, &ended.executors);
        let dropped = self.applications.retire(ended, self.config.retained_applications);
        self.archive_applications(now, dropped);
    }

    /// Drops the ended applications and cluster drivers from the lists. The history keeps them.
    pub(crate) fn clear_completed(&mut self, now: Timestamp) {
        self.records.add(now, Record::CompletedCleared);
        let applications = self.applications.forget_ended();
        self.archive_applications(now, applications);
        let drivers = self.drivers.forget_ended();
        self.archive_drivers(now, drivers);
    }
}

fn ended(row: ApplicationView, now: Timestamp, end: &ApplicationEnd) -> ApplicationView {
    // The connection is not recorded, so it must not be remembered.
    let row = ApplicationView { ended: Some(now), away_since: None, web_address: None, ..row };
    let state = match end {
        ApplicationEnd::Finished { outcome } => {
            return ApplicationView { state: ApplicationState::Finished, outcome: outcome.clone(), ..row };
        }
        ApplicationEnd::Killed { .. } => ApplicationState::Killed,
        // The driver may have finished all its work while it could not reach a Master.
        ApplicationEnd::NotBack => ApplicationState::Unknown,
        ApplicationEnd::DriverLost
        | ApplicationEnd::ExecutorsFailed { .. }
        | ApplicationEnd::GivenUp { .. }
        | ApplicationEnd::Refused { .. }
        | ApplicationEnd::GangRefused(_) => ApplicationState::Failed,
    };
    ApplicationView { state, end: Some(end.to_string()), ..row }
}
