//! How executors start and end.

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::{Cores, Demand};
use firesteel_protocol::address::Address;
use firesteel_protocol::executor_trouble::explained;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::machine::Violation;
use firesteel_protocol::messages::{
    ExecutorReport, ExecutorState, LossReason, MasterToDriver, MasterToWorker, Used,
};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::time::Timestamp;

use crate::durable::changes::executors;
use crate::tables::executors::executor::Probation;
use crate::tables::workers::unknown_processes::UnknownProcess;
use crate::{Ignored, Master, Note, Pass};

impl Master {
    /// Assigns an executor to a Worker that has room for it.
    ///
    /// Source: Spark Master, 4.0.1: the message to the Worker is sent before the message to the driver.
    pub(crate) fn launch_executor(
        &mut self,
        now: Timestamp,
        app: &AppId,
        profile: ProfileId,
        each: &Demand,
        slot: Slot,
        cores: Cores,
    ) {
        let application = self.applications.live_mut(app);
        let Some(grant) = self.workers.grant(slot, each, cores) else {
            let worker = &self.workers.row(slot).description.id;
            let sentence = format!("{worker} was chosen for {app} and has too few addresses for {each:?}");
            return self.effects.violated(Violation { machine: "master", sentence });
        };
        let row = self.workers.row_mut(slot);
        let memory = each.memory;

        let id = ExecutorId(application.next_executor);
        let executor = ExecutorKey { app: app.clone(), executor: id };
        let (worker_link, driver) = (row.link, application.link);
        let (worker, Address { host, port }) = (row.description.id.clone(), row.description.address());
        row.orders.sent(now, executor.clone());
        executors::add(&mut self.records, now, application, id, (slot, row), (profile, grant));
        let launch = application.order(id, row);
        self.lineage.see_executor(id);

        self.effects.note(Note::ExecutorLaunched { executor, worker: worker.clone(), cores, memory });
        self.tell_worker(worker_link, MasterToWorker::LaunchExecutor(launch));
        self.tell_driver(
            driver,
            MasterToDriver::ExecutorAdded { executor: id, profile, worker, host, cores, memory, port },
        );
    }

    /// Handles a Worker's report about an executor's state.
    pub(crate) fn on_executor_state_changed(&mut self, now: Timestamp, peer: PeerId, report: ExecutorReport) {
        let Some(slot) = self.workers.slot_of_peer(peer) else {
            self.ignore(peer, Ignored::NotRegistered);
            return self.tell_worker(peer, MasterToWorker::ReconnectWorker);
        };
        self.hear_of(slot, &report);
        let row = self.workers.row(slot);
        if row.executors.contains(&report.executor) {
            return self.update_executor(now, peer, report);
        }
        let worker = row.description.id.clone();
        // This is usual after a kill and after the end of an application, because the Master forgets such executors at
        // once. It can also happen if the Master gave up an order, and the order then arrived over a connection that
        // the Worker had left.
        let executor = report.executor;
        if report.state.is_finished() {
            self.learn_end(now, &worker, &executor, (&report.state, report.used));
            self.report_end(&worker, &executor, &report.state);
            self.see_unknown_process_end(slot, &UnknownProcess::Executor(executor.clone()));
            self.tell_worker(peer, MasterToWorker::ExecutorEndNoted { executor });
        } else if self.is_held(&executor) {
            self.hold(slot, UnknownProcess::Executor(executor));
        } else {
            self.ignore(peer, Ignored::UnknownExecutor { executor: executor.clone() });
            self.tell_worker(peer, MasterToWorker::KillExecutor { executor });
        }
    }

    /// Applies a report about an executor from the executor's own Worker. A repeated state changes nothing.
    pub(super) fn update_executor(&mut self, now: Timestamp, peer: PeerId, report: ExecutorReport) {
        let ExecutorReport { executor, state, used } = report;
        let (state, trouble) = explained(&self.applications.live(&executor.app).description.command, state);
        let probation = self.probation_of(&executor).expect("an executor that a Worker lists is live");
        match (&state, probation) {
            (ExecutorState::Running, Probation::Launching) => self.start_executor(now, &executor),
            (ExecutorState::Launching, _)
            | (ExecutorState::Running, Probation::Running { .. } | Probation::Proven { .. }) => {}
            (ExecutorState::Lost(_), _) => self.ignore(peer, Ignored::OddState { executor, state }),
            (ExecutorState::Killed(_) | ExecutorState::Failed(_) | ExecutorState::Exited(_), _) => {
                self.end_probations(now, &executor.app);
                let place = self.applications.live(&executor.app).place_of(executor.executor);
                let state = match (state, used.and_then(Used::loss)) {
                    (ExecutorState::Exited(status), Some(loss)) if status != ExitStatus::SUCCESS => {
                        ExecutorState::Lost(loss)
                    }
                    (state, _) => state,
                };
                if let Some(state) = self.lost_to_worker(peer, &state) {
                    self.end_executor_that_used(now, &executor, state, used);
                } else {
                    self.end_executor_that_used(now, &executor, state.clone(), used);
                    self.count_end(now, &executor, place, (state, trouble));
                }
                self.tell_worker(peer, MasterToWorker::ExecutorEndNoted { executor });
            }
        }
    }

    /// The LOST state for an executor whose Worker reported that it can start none. This failure is not the
    /// application's fault.
    fn lost_to_worker(&self, peer: PeerId, end: &ExecutorState) -> Option<ExecutorState> {
        let ExecutorState::Failed(failure) = end else { return None };
        self.workers.of_peer(peer).filter(|row| row.cannot_start.is_some())?;
        Some(ExecutorState::Lost(LossReason::CannotStart { why: failure.to_string() }))
    }

    /// Handles the reported end of an executor that the Master has already taken back.
    pub(super) fn learn_end(
        &mut self,
        now: Timestamp,
        worker: &WorkerId,
        executor: &ExecutorKey,
        (end, used): (&ExecutorState, Option<Used>),
    ) {
        let Some((_, record)) = self.applications.ended_executor(executor) else { return };
        if record.worker.id != *worker {
            return;
        }
        // If a report has no exit status, it contains nothing new.
        let status = end.exit_status().filter(|_| record.state == ExecutorState::Killed(None));
        if status.is_some() || used.is_some() {
            self.amend_end(now, executor, status, used);
        }
    }

    /// Whether an executor is on probation or proven. `None` if it is not live.
    pub(super) fn probation_of(&self, executor: &ExecutorKey) -> Option<Probation> {
        Some(self.applications.get(&executor.app)?.executors.get(executor.executor)?.probation)
    }

    /// Records that an executor's process has started.
    fn start_executor(&mut self, now: Timestamp, executor: &ExecutorKey) {
        let application = self.applications.live_mut(&executor.app);
        let is_live = executors::start(&mut self.records, now, application, executor.executor);
        assert!(is_live, "the executor is live");
        let driver = application.link;
        let (executor_id, state) = (executor.executor, ExecutorState::Running);
        self.tell_driver(
            driver,
            MasterToDriver::ExecutorUpdated { executor: executor_id, state, lost_host: None },
        );
        self.end_probations(now, &executor.app);
        self.pass = Pass::Due;
    }

    /// Ends an executor: gives its share back to the Worker, and informs the driver.
    pub(super) fn end_executor(&mut self, now: Timestamp, executor: &ExecutorKey, end: ExecutorState) {
        self.end_executor_that_used(now, executor, end, None);
    }

    /// Like `end_executor`. `used` is the resource usage that the Worker reported, if it reported any.
    fn end_executor_that_used(
        &mut self,
        now: Timestamp,
        executor: &ExecutorKey,
        end: ExecutorState,
        used: Option<Used>,
    ) {
        self.end_probations(now, &executor.app);
        let number = self.applications.live(&executor.app).sequence;
        let (row, driver) = self.release_numbered(now, number, executor, (end.clone(), used));
        let lost_host = is_with_worker(&end).then(|| row.description.host.clone());

        self.effects.note(Note::ExecutorEnded { executor: executor.clone(), state: end.clone() });
        let (executor, state) = (executor.executor, end);
        self.tell_driver(driver, MasterToDriver::ExecutorUpdated { executor, state, lost_host });
        self.pass = Pass::Due;
    }
}

/// Whether an end means that the executor's whole Worker is lost, with everything else that ran on its host.
///
/// Source: Spark Master, 4.0.1, which names the host only in this case. If the host is named, the driver drops the data
/// of all its other executors on that host.
fn is_with_worker(end: &ExecutorState) -> bool {
    match end {
        ExecutorState::Lost(
            LossReason::Disconnected | LossReason::HeartbeatTimeout { .. } | LossReason::NotBack,
        ) => true,
        ExecutorState::Lost(
            LossReason::LaunchLost
            | LossReason::Preempted { .. }
            | LossReason::Container { .. }
            | LossReason::OverLimit { .. }
            | LossReason::Unanswered
            | LossReason::CannotStart { .. },
        )
        | ExecutorState::Launching
        | ExecutorState::Running
        | ExecutorState::Killed(_)
        | ExecutorState::Failed(_)
        | ExecutorState::Exited(_) => false,
    }
}
