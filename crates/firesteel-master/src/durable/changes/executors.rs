//! The durable changes of executors: launches, states and ends.

use std::sync::Arc;

use firesteel_placement::advanced::index::Slot;
use firesteel_protocol::ids::{ExecutorId, ExecutorKey, ProfileId};
use firesteel_protocol::messages::{ExecutorState, Used};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::time::Timestamp;

use crate::Master;
use crate::durable::record::Record;
use crate::durable::records::Records;
use crate::tables::applications::application::Application;
use crate::tables::capacity::Grant;
use crate::tables::executors::record::ExecutorRecord;
use crate::tables::link::Link;
use crate::tables::workers::row::WorkerRow;

/// Adds an executor with this share of a Worker to its application, and to the Worker in this slot.
pub(crate) fn add(
    records: &mut Records,
    now: Timestamp,
    application: &mut Application,
    executor: ExecutorId,
    (slot, row): (Slot, &mut WorkerRow),
    (profile, grant): (ProfileId, Grant),
) {
    if records.are_wanted() {
        let resources = grant.has_resources().then(|| grant.resources().clone());
        let (cores, memory) = (grant.cores(), grant.memory());
        let (app, worker) = (application.sequence, row.number);
        let record = Record::ExecutorLaunched { app, executor, worker, profile, cores, memory, resources };
        records.add(now, record);
    }
    row.executors.insert(ExecutorKey { app: application.id.clone(), executor });
    application.add_executor(now, executor, (row.description.id.clone(), slot), profile, grant);
}

/// Records that an executor's process runs. Returns whether the executor is live.
#[must_use]
pub(crate) fn start(
    records: &mut Records,
    now: Timestamp,
    application: &mut Application,
    executor: ExecutorId,
) -> bool {
    let is_live = application.start_probation(now, executor);
    if is_live {
        records.add(now, Record::ExecutorStarted { app: application.sequence, executor });
    }
    is_live
}

impl Master {
    /// Records how the process of an executor ended, if the Master had already taken the executor back. Does nothing if
    /// the Master no longer remembers the executor.
    pub(crate) fn amend_end(
        &mut self,
        now: Timestamp,
        key: &ExecutorKey,
        status: Option<ExitStatus>,
        used: Option<Used>,
    ) {
        if let Some((app, record)) = self.applications.ended_executor(key) {
            record.learn(now, status, used);
            self.records.add(now, Record::EndLearned { app, executor: key.executor, status, used });
        }
    }

    /// Removes a live executor from its application, and gives its share back to the Worker. The application remembers
    /// how the executor ended. Returns the Worker and the link of the driver.
    pub(crate) fn release_executor(
        &mut self,
        now: Timestamp,
        executor: &ExecutorKey,
        end: ExecutorState,
    ) -> (&WorkerRow, Link) {
        let number = self.applications.live(&executor.app).sequence;
        self.release_numbered(now, number, executor, (end, None))
    }

    /// Releases an executor of the application with this number. If the Worker does not report the executor's usage
    /// together with the end, the last reported usage counts.
    pub(crate) fn release_numbered(
        &mut self,
        now: Timestamp,
        number: u64,
        executor: &ExecutorKey,
        (end, used): (ExecutorState, Option<Used>),
    ) -> (&WorkerRow, Link) {
        let application = self.applications.at_mut(number).expect("the application is live");
        let driver = application.link;
        let ended = application.remove_executor(executor.executor);
        application.count_final_end(&ended, &end);
        let row = self.workers.row_mut(ended.slot);
        let used = used.or_else(|| row.used_by(executor));
        if self.records.are_wanted() {
            let (app, executor, state) = (application.sequence, executor.executor, end.clone());
            self.records.add(now, Record::ExecutorEnded { app, executor, state, used });
        }
        self.preempted.see(now, &end);
        let record = ended.record(executor.executor, Arc::clone(&row.description));
        application.remember(ExecutorRecord { state: end, ended: Some(now), used, ..record });
        row.executors.remove(executor);
        self.workers.give_back(ended.slot, ended.grant);
        (self.workers.row(ended.slot), driver)
    }
}
