//! The notes of a Master, each a line of the log.

pub(crate) mod audit;
mod mentions;
mod wording;

use std::time::Duration;

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::machine::{NoteLevel, Violation};
use firesteel_protocol::messages::{
    ApplicationEnd, DriverState, EarlyEnd, ExecutorState, Impairment, LossReason, RefusedRegistration,
};
use firesteel_protocol::time::Timestamp;

use crate::Audit;

/// A note for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A new Worker has registered.
    WorkerRegistered {
        /// The Worker's id.
        worker: WorkerId,
        /// The number of cores.
        cores: Cores,
        /// The amount of memory.
        memory: MiB,
    },
    /// A Worker came back on another connection before its old one ended.
    WorkerReconnected {
        /// The Worker's id.
        worker: WorkerId,
    },
    /// A driver came back with its application.
    ApplicationReconnected {
        /// The application's id.
        app: AppId,
    },
    /// All that were away after a restart of the Master have returned, or are lost.
    Recovered,
    /// A Worker is about to end, and is given no more executors.
    WorkerLeaving {
        /// The Worker's id.
        worker: WorkerId,
    },
    /// The Master refused a Worker.
    WorkerRefused {
        /// The Worker's id.
        worker: WorkerId,
        /// Why it is refused.
        reason: RefusedRegistration,
    },
    /// A Worker is lost, with its executors.
    WorkerRemoved {
        /// The Worker's id.
        worker: WorkerId,
        /// Why it is lost.
        reason: LossReason,
        /// The number of executors that are lost with it.
        executors: usize,
    },
    /// A Worker has left in order: it had said that it would end, and nothing ran there.
    WorkerLeft {
        /// The Worker's id.
        worker: WorkerId,
    },
    /// Two heartbeats of a Worker are missing.
    WorkerLate {
        /// The Worker's id.
        worker: WorkerId,
        /// How long it has been silent.
        silent: Duration,
    },
    /// A Worker that was late was heard again.
    WorkerHeard {
        /// The Worker's id.
        worker: WorkerId,
    },
    /// A Worker still runs an executor that has counted as ended for a while. It is told to end it.
    EndedExecutorReturned {
        /// The executor's id.
        executor: ExecutorKey,
        /// The Worker's id.
        worker: WorkerId,
        /// The state in which it counts as ended.
        state: ExecutorState,
        /// Since when.
        ended: Timestamp,
    },
    /// Workers were silent for too long, and so was the Master: it looked for them later than it should have.
    WorkersExcused {
        /// The number of Workers that get their time again.
        workers: usize,
        /// By how much the Master was late.
        late: Duration,
    },
    /// An order to launch an executor was not answered, and is repeated.
    OrderRepeated {
        /// The executor.
        executor: ExecutorKey,
        /// The Worker.
        worker: WorkerId,
    },
    /// Something is wrong with a Worker: it is given nothing new for now.
    WorkerImpaired {
        /// The Worker.
        worker: WorkerId,
        /// What is wrong.
        impairment: Impairment,
    },
    /// Nothing is wrong with a Worker any more: it is given executors again.
    WorkerRecovered {
        /// The Worker.
        worker: WorkerId,
    },
    /// The Master is behind with the messages of Workers and drivers.
    Behind {
        /// How long one of them had waited.
        lag: Duration,
    },
    /// The Master was behind, and is no longer.
    CaughtUp {
        /// The longest time for which a message had waited meanwhile.
        longest: Duration,
    },
    /// A new application has registered.
    ApplicationRegistered {
        /// The application's id.
        app: AppId,
        /// The application's name.
        name: String,
    },
    /// The Master refused an application.
    ApplicationRefused {
        /// The application's name.
        name: String,
        /// The reason, in words for people.
        reason: String,
    },
    /// An application ended.
    ApplicationRemoved {
        /// The application's id.
        app: AppId,
        /// How the application ended.
        end: ApplicationEnd,
    },
    /// A cluster driver was submitted.
    DriverSubmitted {
        /// Its id.
        driver: DriverId,
        /// The user who submitted it.
        user: String,
    },
    /// The Master refused a cluster driver.
    DriverRefused {
        /// Why it is refused.
        why: String,
    },
    /// A cluster driver was given to a Worker.
    DriverLaunched {
        /// Its id.
        driver: DriverId,
        /// The Worker.
        worker: WorkerId,
        /// The number of cores.
        cores: Cores,
        /// The amount of memory.
        memory: MiB,
        /// The addresses of custom resources.
        resources: Resources,
    },
    /// The order to start a cluster driver was not answered, and is repeated.
    DriverOrderRepeated {
        /// Its id.
        driver: DriverId,
        /// The Worker.
        worker: WorkerId,
    },
    /// A cluster driver did not run on its Worker, and waits again.
    DriverReturned {
        /// Its id.
        driver: DriverId,
        /// The Worker.
        worker: WorkerId,
    },
    /// Somebody asked for the end of a cluster driver.
    DriverKillAsked {
        /// Its id.
        driver: DriverId,
        /// Who asked: `ann@host`.
        by: String,
    },
    /// A cluster driver ended.
    DriverEnded {
        /// Its id.
        driver: DriverId,
        /// How it ended.
        state: DriverState,
    },
    /// A Worker runs a cluster driver that the Master does not know. It is ended.
    UnknownDriver {
        /// Its id.
        driver: DriverId,
        /// The Worker.
        worker: WorkerId,
    },
    /// Room is reserved for a gang that does not fit yet.
    Reserved {
        /// The application's id.
        app: AppId,
        /// The number of executors that it needs at once.
        executors: u64,
        /// The number of Workers with room for it.
        workers: usize,
        /// When it is expected to start, if enough of what runs says when it ends.
        at: Option<Timestamp>,
    },
    /// A gang would not fit even if every Worker were empty. The Master tries again when Workers come.
    GangNeverFits {
        /// The application's id.
        app: AppId,
        /// The number of executors that it needs at once.
        executors: u64,
        /// The number of executors for which all Workers together have room.
        room: u64,
    },
    /// An executor was assigned to a Worker.
    ExecutorLaunched {
        /// The executor's id.
        executor: ExecutorKey,
        /// The Worker's id.
        worker: WorkerId,
        /// The number of cores.
        cores: Cores,
        /// The amount of memory.
        memory: MiB,
    },
    /// An executor was ended to make room for another application.
    ExecutorPreempted {
        /// The executor's id.
        executor: ExecutorKey,
        /// The application that gets the room.
        by: AppId,
    },
    /// An executor has ended.
    ExecutorEnded {
        /// The executor's id.
        executor: ExecutorKey,
        /// The executor's state.
        state: ExecutorState,
    },
    /// An application has to wait because its executors fail.
    RelaunchDelayed {
        /// The application's id.
        app: AppId,
        /// The number of failures in a row.
        failures: u32,
        /// The length of the wait, in milliseconds.
        millis: u64,
    },
    /// An application is given no executors on a Worker for a while, since its executors end there too early.
    WorkerExcluded {
        /// The Worker's id.
        worker: WorkerId,
        /// The application's id.
        app: AppId,
        /// How its executors end there.
        end: EarlyEnd,
        /// The length of the time, in milliseconds.
        millis: u64,
    },
    /// A Worker is given no executors for a while, since executors of several applications fail there and run elsewhere.
    WorkerDistrusted {
        /// The Worker's id.
        worker: WorkerId,
        /// The length of the time, in milliseconds.
        millis: u64,
    },
    /// A Worker runs an executor that the Master does not know. It is told to end it.
    UnknownExecutor {
        /// The executor's id.
        executor: ExecutorKey,
        /// The Worker's id.
        worker: WorkerId,
    },
    /// A Worker runs executors or cluster drivers of another state, which are left alone for a while.
    ForeignHeld {
        /// The Worker's id.
        worker: WorkerId,
        /// The number of executors.
        executors: usize,
        /// The number of cluster drivers.
        drivers: usize,
        /// Where this Master keeps its state.
        place: String,
        /// How long they are left alone.
        remaining: Duration,
    },
    /// The driver of an application that this state never had has returned. It is not answered for a while.
    ForeignDriverWaits {
        /// The application's id.
        app: AppId,
        /// The number of executors that it takes for living.
        executors: usize,
        /// Where this Master keeps its state.
        place: String,
        /// How long it waits.
        remaining: Duration,
    },
    /// A person or a program asked for a change.
    Audited(Box<Audit>),
    /// The Master's tables contradict each other, so it left something undone. This is a bug.
    Inconsistent(Violation),
    /// A message is not valid from this sender at this time, and was ignored.
    Ignored {
        /// The connection's number.
        peer: PeerId,
        /// Why it is ignored.
        reason: Ignored,
    },
}

/// Why a message was ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// The sender is a Worker that is not registered. It is told to register.
    NotRegistered,
    /// The message names another Worker or application than the one of its connection.
    NotItsOwn {
        /// The id that it names.
        named: String,
    },
    /// The message reports a state that a Worker cannot know, or that the executor can no longer have.
    OddState {
        /// The executor's id.
        executor: ExecutorKey,
        /// The executor's state.
        state: ExecutorState,
    },
    /// The message is about an executor that the Master does not know, or no longer knows. The Worker is told to end it.
    UnknownExecutor {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// The message reports a state of a cluster driver that a Worker cannot know.
    OddDriverState {
        /// The cluster driver's id.
        driver: DriverId,
        /// The state.
        state: DriverState,
    },
    /// The message is about a cluster driver that is not, or no longer, on that Worker.
    UnknownDriver {
        /// The cluster driver's id.
        driver: DriverId,
    },
}

impl Note {
    /// The level at which the note is logged.
    #[must_use]
    pub fn level(&self) -> NoteLevel {
        match self {
            Self::WorkerRegistered { .. }
            | Self::WorkerReconnected { .. }
            | Self::ApplicationReconnected { .. }
            | Self::Recovered
            | Self::WorkerLeaving { .. }
            | Self::WorkerLeft { .. }
            | Self::WorkerHeard { .. }
            | Self::WorkerRecovered { .. }
            | Self::CaughtUp { .. }
            | Self::ApplicationRegistered { .. }
            | Self::ApplicationRemoved { end: ApplicationEnd::Finished { .. }, .. }
            | Self::Reserved { .. }
            | Self::ExecutorLaunched { .. }
            | Self::ExecutorEnded { .. }
            | Self::DriverSubmitted { .. }
            | Self::DriverLaunched { .. }
            | Self::DriverKillAsked { .. }
            | Self::Audited(_)
            | Self::DriverEnded { .. }
            | Self::Ignored { reason: Ignored::UnknownExecutor { .. }, .. } => NoteLevel::Info,
            Self::WorkerRefused { .. }
            | Self::WorkersExcused { .. }
            | Self::OrderRepeated { .. }
            | Self::WorkerImpaired { .. }
            | Self::Behind { .. }
            | Self::WorkerRemoved { .. }
            | Self::ApplicationRefused { .. }
            | Self::ApplicationRemoved { .. }
            | Self::GangNeverFits { .. }
            | Self::ExecutorPreempted { .. }
            | Self::RelaunchDelayed { .. }
            | Self::WorkerExcluded { .. }
            | Self::WorkerDistrusted { .. }
            | Self::UnknownExecutor { .. }
            | Self::WorkerLate { .. }
            | Self::EndedExecutorReturned { .. }
            | Self::ForeignHeld { .. }
            | Self::ForeignDriverWaits { .. }
            | Self::DriverRefused { .. }
            | Self::DriverOrderRepeated { .. }
            | Self::DriverReturned { .. }
            | Self::UnknownDriver { .. }
            | Self::Inconsistent(_)
            | Self::Ignored { .. } => NoteLevel::Warn,
        }
    }
}
