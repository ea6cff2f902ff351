//! Coverage of a run: how often each variant was seen.

use std::fmt;
use std::marker::PhantomData;

use firesteel_engine::{driver, executor, launcher};
use firesteel_master as master;
use firesteel_protocol::machine::kind::Kind;
use firesteel_protocol::messages::{
    ApplicationEnd, ClientToMaster, ClientToWorker, DriverState, DriverToExecutor, DriverToMaster,
    ExecutorState, ExecutorToDriver, LossReason, MasterToClient, MasterToDriver, MasterToWorker, Outcome,
    RefusedExecutor, RefusedLog, RefusedRegistration, TaskEnd, TaskState, WorkerToClient, WorkerToMaster,
};
use firesteel_worker as worker;

use crate::cluster::faults::Fault;
use crate::cluster::network::message::Message;

/// How often each variant of an enum was seen.
#[derive(Clone, Debug)]
pub struct Tally<K> {
    counts: Vec<u64>,
    kind: PhantomData<K>,
}

impl<K: Kind> Default for Tally<K> {
    fn default() -> Self {
        Self { counts: vec![0; K::NAMES.len()], kind: PhantomData }
    }
}

impl<K: Kind> Tally<K> {
    pub fn count(&mut self, seen: &K) {
        self.counts[seen.index()] += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
    }

    pub(crate) fn rows(&self, group: &'static str) -> impl Iterator<Item = Row> {
        K::NAMES.iter().zip(&self.counts).map(move |(&name, &count)| Row {
            group,
            kind: K::ENUM,
            name,
            count,
        })
    }
}

/// One line of a coverage: an enum's variant, with its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The group of the enum: `sent`, `received`, `event`, ...
    pub group: &'static str,
    pub kind: &'static str,
    pub name: &'static str,
    pub count: u64,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12}  {} {}::{}", self.count, self.group, self.kind, self.name)
    }
}

/// Defines a struct with a [`Tally`] for each of the given enums, and the methods that list them.
macro_rules! tallies {
    ($(#[$doc:meta])+ $name:ident $($group:literal $field:ident: $type:ty),+ $(,)?) => {
        $(#[$doc])+
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            /// The number of events that machines received, over all runs.
            pub events: u64,
            pub runs: u64,
            $(pub(crate) $field: Tally<$type>,)+
        }

        impl $name {
            pub fn add(&mut self, other: &Self) {
                self.events += other.events;
                self.runs += other.runs;
                $(self.$field.add(&other.$field);)+
            }

            /// All variants that can occur, with their counts.
            #[must_use]
            pub fn rows(&self) -> Vec<Row> {
                let mut rows = Vec::new();
                $(rows.extend(self.$field.rows($group));)+
                rows
            }
        }
    };
}

pub(crate) use tallies;

tallies! {
    /// How often each event, effect and fault of a cluster occurred.
    Coverage
    "sent" sent_worker_to_master: WorkerToMaster,
    "sent" sent_master_to_worker: MasterToWorker,
    "sent" sent_driver_to_master: DriverToMaster,
    "sent" sent_master_to_driver: MasterToDriver,
    "sent" sent_client_to_master: ClientToMaster,
    "sent" sent_master_to_client: MasterToClient,
    "sent" sent_client_to_worker: ClientToWorker,
    "sent" sent_worker_to_client: WorkerToClient,
    "sent" sent_executor_to_driver: ExecutorToDriver,
    "sent" sent_driver_to_executor: DriverToExecutor,
    "received" received_worker_to_master: WorkerToMaster,
    "received" received_master_to_worker: MasterToWorker,
    "received" received_driver_to_master: DriverToMaster,
    "received" received_master_to_driver: MasterToDriver,
    "received" received_client_to_master: ClientToMaster,
    "received" received_master_to_client: MasterToClient,
    "received" received_client_to_worker: ClientToWorker,
    "received" received_worker_to_client: WorkerToClient,
    "received" received_executor_to_driver: ExecutorToDriver,
    "received" received_driver_to_executor: DriverToExecutor,
    "event" master_event: master::Event,
    "event" worker_event: worker::Event,
    "event" driver_event: driver::Event,
    "event" launcher_event: launcher::Event,
    "event" executor_event: executor::Event,
    "effect" master_effect: master::Effect,
    "effect" worker_effect: worker::Effect,
    "effect" driver_effect: driver::Effect,
    "effect" launcher_effect: launcher::Effect,
    "answer" answer: driver::Answer,
    "effect" executor_effect: executor::Effect,
    "note" master_note: master::Note,
    "note" worker_note: worker::Note,
    "note" driver_note: driver::Note,
    "note" launcher_note: launcher::Note,
    "note" executor_note: executor::Note,
    "to driver" executor_state: ExecutorState,
    "to driver" lost: LossReason,
    "to master" reported: ExecutorState,
    "driver" driver_state: DriverState,
    "application" application_end: ApplicationEnd,
    "application" outcome: Outcome,
    "application" ending: driver::Ending,
    "application" launch_ending: launcher::Ending,
    "task" task_outcome: driver::TaskOutcome,
    "task" unfit: driver::Unfit,
    "task" task_state: TaskState,
    "task" task_end: TaskEnd,
    "refused" refused_worker: RefusedRegistration,
    "refused" refused_executor: RefusedExecutor,
    "refused" refused_log: RefusedLog,
    "exit" worker_exit: worker::Exit,
    "exit" executor_exit: executor::Exit,
    "fault" fault: Fault,
}

impl Coverage {
    /// The variants that never occurred.
    #[must_use]
    pub fn missing(&self) -> Vec<Row> {
        self.rows().into_iter().filter(|row| row.count == 0).collect()
    }

    pub(crate) fn sent(&mut self, message: &Message) {
        match message {
            Message::WorkerToMaster(message) => {
                self.sent_worker_to_master.count(message);
                if let WorkerToMaster::ExecutorStateChanged(report) = message {
                    self.reported.count(&report.state);
                }
            }
            Message::MasterToWorker(message) => {
                self.sent_master_to_worker.count(message);
                if let MasterToWorker::RegisterWorkerFailed(reason) = message {
                    self.refused_worker.count(reason);
                }
            }
            Message::DriverToMaster(message) => self.sent_driver_to_master.count(message),
            Message::MasterToDriver(message) => {
                self.sent_master_to_driver.count(message);
                self.told(message);
            }
            Message::ClientToMaster(message) => self.sent_client_to_master.count(message),
            Message::MasterToClient(message) => self.sent_master_to_client.count(message),
            Message::ClientToWorker(message) => self.sent_client_to_worker.count(message),
            Message::WorkerToClient(message) => {
                self.sent_worker_to_client.count(message);
                if let WorkerToClient::RequestLogFailed(reason) = message {
                    self.refused_log.count(reason);
                }
            }
            Message::ExecutorToDriver(message) => {
                self.sent_executor_to_driver.count(message);
                if let ExecutorToDriver::StatusUpdate { state, .. } = message {
                    self.task_state.count(state);
                    if let TaskState::Ended(end) = state {
                        self.task_end.count(end);
                    }
                }
            }
            Message::DriverToExecutor(message) => {
                self.sent_driver_to_executor.count(message);
                if let DriverToExecutor::RegisterExecutorFailed(reason) = message {
                    self.refused_executor.count(reason);
                }
            }
        }
    }

    pub(crate) fn received(&mut self, message: &Message) {
        match message {
            Message::WorkerToMaster(message) => self.received_worker_to_master.count(message),
            Message::MasterToWorker(message) => self.received_master_to_worker.count(message),
            Message::DriverToMaster(message) => self.received_driver_to_master.count(message),
            Message::MasterToDriver(message) => self.received_master_to_driver.count(message),
            Message::ClientToMaster(message) => self.received_client_to_master.count(message),
            Message::MasterToClient(message) => self.received_master_to_client.count(message),
            Message::ClientToWorker(message) => self.received_client_to_worker.count(message),
            Message::WorkerToClient(message) => self.received_worker_to_client.count(message),
            Message::ExecutorToDriver(message) => self.received_executor_to_driver.count(message),
            Message::DriverToExecutor(message) => self.received_driver_to_executor.count(message),
        }
    }

    /// Counts the executor states, and the reasons for losses, in a message from the Master to a driver.
    fn told(&mut self, message: &MasterToDriver) {
        match message {
            MasterToDriver::ExecutorUpdated { state, .. } => {
                self.executor_state.count(state);
                if let ExecutorState::Lost(reason) = state {
                    self.lost.count(reason);
                }
            }
            MasterToDriver::ExecutorAdded { .. } => self.executor_state.count(&ExecutorState::Launching),
            MasterToDriver::RegisteredApplication { .. }
            | MasterToDriver::WorkerRemoved { .. }
            | MasterToDriver::ApplicationRemoved(_)
            | MasterToDriver::ExecutorsGone { .. }
            | MasterToDriver::ExecutorLeaving { .. }
            | MasterToDriver::ExecutorsRequested { .. }
            | MasterToDriver::ExecutorsKilled { .. }
            | MasterToDriver::Shortfalls(_) => {}
        }
    }
}
