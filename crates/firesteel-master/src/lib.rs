//! The Master knows the Workers and the applications, and decides which Worker runs which executor.
//!
//! Handlers change the tables and mark that a scheduling pass is due. The pass runs once, at the end of the event
//! (`settle`); `firesteel_placement` decides which executors fit where.
//!
//! A *driver* owns an application. A *cluster driver* is a program that was submitted to run as a driver on a Worker.
//! The code for applications does not depend on cluster drivers.
//!
//! The modules form layers. A layer uses only the layers below it:
//!
//! ```text
//!  handlers    what each message changes               clients    requests of clients, and their answers
//!  scheduler   the pass: who is given which Workers  durable    what is written down, and recovered from
//!  tables      what it knows, and no rule
//!  config, event, effect, note
//! ```
//!
//! Each kind of durable change has one function, in `durable/changes`: it changes the tables and adds the journal
//! record. A handler calls this function and then sends messages about the change. Recovery calls it for each record.
//!
//! The Master identifies connections only by number. Each Worker and each application has a *link*: its connection, or
//! none while it is *away*: after a restart of the Master, or after its connection ended without a goodbye.

mod check;
mod clients;
mod config;
mod durable;
mod effect;
mod event;
mod handlers;
mod lag;
mod limits;
mod note;
mod scheduler;
mod tables;
#[cfg(test)]
mod tests;
mod users;

use durable::records::Records;
use handlers::ended_app_executors::EndedAppExecutors;
use handlers::foreign::Hold;
use lag::Lag;
use scheduler::memory::Memory;
use scheduler::queues::QueueScheduling;
use tables::applications::table::ApplicationTable;
use tables::archive::Archive;
use tables::drivers::table::ClusterDriverTable;
use tables::lineage::Lineage;
use tables::link::Link;
use tables::preempted::Preempted;
use tables::run_times::RunTimes;
use tables::workers::table::WorkerTable;
use users::Submissions;

pub use config::{Config, Durability, Exclusion, HistoryLimits, ResourceShares, Retries, UnknownExecutors};
pub use durable::contradiction::Contradiction;
pub use durable::record::{
    ApplicationImage, Counters, EndedDriver, EndedImage, ExecutorImage, ProfileImage, Record,
    UnreadableRecord,
};
pub use durable::recovery::{Away, RecoveryError};
pub use durable::snapshot::{
    ApplicationCondition, ApplicationSnapshot, DriverSnapshot, ExecutorSnapshot, HeldResources, Presence,
    ProfileSnapshot, Snapshot, SnapshotError, WorkerCondition, WorkerSnapshot,
};
pub use effect::{Effect, Outbound};
pub use event::{Event, Inbound};
pub use limits::{Limits, OverBudget};
pub use note::audit::{Action, Audit, Verdict};
pub use note::{Evidence, Ignored, Note};
pub use scheduler::queues::ReservationView;
pub use tables::applications::health::ApplicationHealth;
pub use tables::workers::health::WorkerHealth;
pub use users::PerUser;

use std::collections::BTreeSet;

use firesteel_protocol::ids::PeerId;
use firesteel_protocol::machine::{Effects, Machine, Violation};
use firesteel_protocol::messages::{DriverToMaster, MasterToDriver, MasterToWorker, WorkerToMaster};
use firesteel_protocol::time::Timestamp;

#[derive(Debug)]
pub struct Master {
    config: Config,
    workers: WorkerTable,
    applications: ApplicationTable,
    drivers: ClusterDriverTable,
    ended_app_executors: EndedAppExecutors,
    queue_scheduling: QueueScheduling,
    memory: Memory,
    preempted: Preempted,
    run_times: RunTimes,
    submissions: Submissions,
    pass: Pass,
    lag: Lag,
    /// The history: ended applications and cluster drivers that are no longer listed on status pages.
    archive: Archive,
    /// Whether Workers or applications have not returned since the restart, and none has been lost.
    recovering: bool,
    /// Whether executors that belong to another state of a Master are left alone, and until when.
    hold: Hold,
    /// The time of the last record from which this Master was recovered.
    stopped: Timestamp,
    /// The identity of the state, and how far it went before this run.
    lineage: Lineage,
    records: Records,
    /// The time of the latest event.
    now: Timestamp,
    /// The clients for which a log is being read.
    log_readers: BTreeSet<PeerId>,
    effects: Effects<Effect>,
}

/// Whether the current event requires a scheduling pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    NotDue,
    Due,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A Worker's heartbeat may be overdue.
    WorkerTimeout,
    /// An application that waits after failures may get executors again.
    Relaunch,
    /// A Worker that was excluded for one or all applications may be used again.
    Readmission,
    /// An application may again end executors of other applications.
    Preemption,
    /// A Worker or application that is away is lost.
    Absence,
    /// Executors that belong to another state of a Master are ended.
    Foreign,
}

impl Master {
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            workers: WorkerTable::new(config.worker_order),
            records: Records::new(config.durability),
            config,
            applications: ApplicationTable::default(),
            drivers: ClusterDriverTable::default(),
            ended_app_executors: EndedAppExecutors::default(),
            queue_scheduling: QueueScheduling::default(),
            memory: Memory::default(),
            preempted: Preempted::default(),
            run_times: RunTimes::default(),
            submissions: Submissions::default(),
            pass: Pass::NotDue,
            lag: Lag::default(),
            archive: Archive::default(),
            recovering: false,
            hold: Hold::default(),
            stopped: Timestamp::default(),
            lineage: Lineage::default(),
            now: Timestamp::default(),
            log_readers: BTreeSet::new(),
            effects: Effects::default(),
        }
    }

    fn on_message(&mut self, now: Timestamp, peer: PeerId, arrived: Timestamp, message: Inbound) {
        // Requests of clients overtake other messages. So they do not show how long other messages wait.
        let counts = !matches!(message, Inbound::Client(_));
        if let Some(note) = counts.then(|| self.lag.record(now, arrived)).flatten() {
            self.effects.note(note);
        }
        match message {
            Inbound::Worker(message) => self.on_worker_message(now, peer, arrived, message),
            Inbound::Driver(message) => self.on_driver_message(now, peer, message),
            Inbound::Client(message) => self.on_client_message(now, peer, message),
        }
    }

    fn on_worker_message(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        arrived: Timestamp,
        message: WorkerToMaster,
    ) {
        match message {
            WorkerToMaster::RegisterWorker { worker, executors, drivers } => {
                self.on_register_worker(now, peer, *worker, executors, drivers);
            }
            WorkerToMaster::Heartbeat { worker, last_order } => {
                self.on_heartbeat(now, (peer, arrived), &worker, last_order.as_ref());
            }
            WorkerToMaster::StartsChecked { worker, error } => {
                self.on_starts_checked(peer, &worker, error);
            }
            WorkerToMaster::WorkerDecommissioning { worker } => {
                self.on_worker_decommissioning(peer, &worker);
            }
            WorkerToMaster::WorkerLatestState { worker, executors } => {
                self.on_worker_latest_state(now, peer, &worker, executors);
            }
            WorkerToMaster::ExecutorStateChanged(report) => self.on_executor_state_changed(now, peer, report),
            WorkerToMaster::DriverStateChanged(report) => self.on_driver_state_changed(now, peer, report),
            WorkerToMaster::WorkerReported(report) => self.on_worker_reported(now, peer, *report),
            WorkerToMaster::DriverRestarted { driver, restarts, last, pause_millis } => {
                self.on_driver_restarted(now, peer, &driver, (restarts, last, pause_millis));
            }
        }
    }

    fn on_driver_message(&mut self, now: Timestamp, peer: PeerId, message: DriverToMaster) {
        match message {
            DriverToMaster::RegisterApplication(description) => {
                self.on_register_application(now, peer, *description);
            }
            DriverToMaster::UnregisterApplication { app, outcome } => {
                self.on_unregister_application(now, peer, &app, outcome);
            }
            DriverToMaster::RequestExecutors { app, targets } => {
                self.on_request_executors(now, peer, &app, targets)
            }
            DriverToMaster::KillExecutors { app, executors } => {
                self.on_kill_executors(now, peer, &app, executors)
            }
            DriverToMaster::PreferHosts { app, preferences } => {
                self.on_prefer_hosts(now, peer, &app, *preferences)
            }
            DriverToMaster::RequestShortfall { app } => self.on_request_shortfall(peer, &app),
            DriverToMaster::ResumeApplication(resumption) => {
                self.on_resume_application(now, peer, resumption);
            }
        }
    }

    fn on_disconnected(&mut self, now: Timestamp, peer: PeerId) {
        self.log_readers.remove(&peer);
        self.on_worker_disconnected(now, peer);
        self.on_driver_disconnected(now, peer);
    }

    fn on_deadline(&mut self, now: Timestamp, heard_until: Timestamp) {
        self.remove_silent_workers(now, heard_until);
        self.lose_absent(now, heard_until);
        self.end_foreign(now, heard_until);
        let may_preempt = self.forget_preemptions(now);
        let released = self.applications.release(now);
        let readmitted = self.workers.readmit(now);
        if self.applications.readmit_workers(now) || readmitted || released || may_preempt {
            self.pass = Pass::Due;
        }
    }

    /// Sends a Worker a message. If the Worker is away, it gets the information when it returns.
    fn tell_worker(&mut self, to: impl Into<Link>, message: MasterToWorker) {
        if let Link::Here(peer) = to.into() {
            let mut message = message;
            if let MasterToWorker::LaunchExecutor(launch) = &mut message {
                launch.mark = self.mark();
            }
            self.effects.push(Effect::Send { peer, message: Outbound::Worker(message) });
        }
    }

    /// Sends a driver a message. If the driver is away, it gets the information when it returns.
    fn tell_driver(&mut self, to: impl Into<Link>, message: MasterToDriver) {
        if let Link::Here(peer) = to.into() {
            self.effects.push(Effect::Send { peer, message: Outbound::Driver(message) });
        }
    }

    /// Sets whether the Master records its decisions from now on.
    fn set_durability(&mut self, durability: Durability) {
        self.config.durability = durability;
        self.records = Records::new(durability);
    }

    fn ignore(&mut self, peer: PeerId, reason: Ignored) {
        self.effects.note(Note::Ignored { peer, reason });
    }
}

impl Machine for Master {
    type Event = Event;
    type Effect = Effect;
    type Reason = Reason;

    fn apply(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        self.now = now;
        match event {
            Event::Received { peer, arrived, message } => self.on_message(now, peer, arrived, message),
            Event::Disconnected { peer } => self.on_disconnected(now, peer),
            Event::LogRead { peer, outcome } => self.on_log_read(peer, outcome),
            Event::WorkerGone { worker, since } => self.on_worker_gone(now, &worker, since),
            Event::Deadline { heard_until } => self.on_deadline(now, heard_until),
        }
        self.see_returned();
        self.settle(now);
        self.record_healths(now);
        if self.records.must_precede() {
            self.lineage.marked = now;
        }
        let effects = self.effects.take();
        // Messages about the changes are sent after the records are durable.
        match self.records.take() {
            None => effects,
            Some(persist) => std::iter::once(persist).chain(effects).collect(),
        }
    }

    fn only_asks(event: &Event) -> bool {
        match event {
            Event::Received { message: Inbound::Client(message), .. } => message.only_asks(),
            Event::LogRead { .. } => true,
            _ => false,
        }
    }

    fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        let timeout = self.workers.next_look().map(|time| (time, Reason::WorkerTimeout));
        let relaunch = self.applications.next_release().map(|time| (time, Reason::Relaunch));
        let preemption = self.next_preemption().map(|time| (time, Reason::Preemption));
        let readmission = [self.applications.next_readmission(), self.workers.next_readmission()];
        let readmission = readmission.into_iter().flatten().min().map(|time| (time, Reason::Readmission));
        let absence = self.next_loss().map(|time| (time, Reason::Absence));
        let foreign = self.next_foreign_end().map(|time| (time, Reason::Foreign));
        [timeout, relaunch, readmission, preemption, absence, foreign]
            .into_iter()
            .flatten()
            .min_by_key(|(time, _)| *time)
    }

    fn check(&self) -> Result<(), Violation> {
        self.check_tables()
    }
}
