//! The notes of a Worker, each a line of the log.

mod wording;

use std::time::Duration;

use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey, PeerId};
use firesteel_protocol::master_search::leadership::Dispute;
use firesteel_protocol::messages::{DriverState, ExecutorState, RefusedRegistration};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::{Mentions, NoteLevel};

/// A note for the log.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("worker note")]
pub enum Note {
    /// A Master registered the Worker.
    Registered {
        /// The Master's URL.
        master_url: String,
        /// Whether the Master knew the Worker already, on another connection.
        duplicate: bool,
    },
    /// The Master's connection ended. Executors keep running.
    MasterLost {
        /// The Master's URL.
        master_url: String,
        /// The number of live executors.
        executors: usize,
    },
    /// A Master could not be reached.
    MasterUnreachable {
        /// The Master's address.
        master: Address,
        /// The error, in words for people.
        error: String,
    },
    /// A Master accepted the connection and did not answer in time.
    MasterSilent {
        /// The Master's address.
        master: Address,
    },
    /// A Master accepted the connection and closed it without an answer.
    MasterHungUp {
        /// The Master's address.
        master: Address,
    },
    /// A Master stands by.
    MasterStandsBy {
        /// The Master's address.
        master: Address,
        /// The Master that leads, if it knows.
        leader: Option<Address>,
    },
    /// Two Masters say that they lead.
    Dispute(Dispute),
    /// A Master refused the Worker.
    Refused {
        /// The Master's address.
        master: Address,
        /// Why the Master refuses it.
        refusal: RefusedRegistration,
    },
    /// The Worker will try all Masters again.
    NextRound {
        /// The number of failed rounds since the last registration.
        failed: u32,
        /// How long the pause is.
        pause: Duration,
    },
    /// The Master does not know the Worker, which registers again.
    AskedToReconnect {
        /// The Master's URL.
        master_url: String,
    },
    /// A Master that the Worker is not registered with sent an order. It was ignored.
    NotMyMaster {
        /// The connection's number.
        peer: PeerId,
        /// The message's name.
        message: &'static str,
    },
    /// An executor that was launched before is to be launched again. The order was ignored.
    LaunchRepeated {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// An application's files are being fetched.
    FetchingFiles {
        /// The application's id.
        app: AppId,
        /// The number of files.
        files: usize,
        /// The total length of the files, in bytes.
        bytes: u64,
        /// The address that they are fetched from.
        source: Address,
    },
    /// An application's files were fetched.
    FilesFetched {
        /// The application's id.
        app: AppId,
    },
    /// An application's files could not be fetched.
    FilesFailed {
        /// The application's id.
        app: AppId,
        /// The error, in words for people.
        error: String,
    },
    /// A fetch ended that is no longer awaited.
    StrayFetch {
        /// The application's id.
        app: AppId,
    },
    /// An executor's process has started.
    ExecutorStarted {
        /// The executor's id.
        executor: ExecutorKey,
        /// The process's id.
        pid: u32,
    },
    /// An executor ended, or could not be started.
    ExecutorEnded {
        /// The executor's id.
        executor: ExecutorKey,
        /// The executor's state.
        state: ExecutorState,
    },
    /// Nothing can be started.
    CannotStart {
        /// The reason, in words for people.
        error: String,
    },
    /// Executors and cluster drivers can be started again.
    CanStartAgain,
    /// The Master asked for an executor to be ended.
    KillAsked {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// The Master asked for the end of an executor that does not live here. It was ignored.
    KillUnknown {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// An executor did not end in time, and is killed.
    GraceOver {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// The shell reports on an executor that does not live here, or reports its start twice.
    UnknownRunner {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// Too many ends are unconfirmed: this one is forgotten.
    EndForgotten {
        /// The executor's id.
        executor: ExecutorKey,
    },
    /// A cluster driver that is here, or was, is to be started again by a repeated order.
    DriverLaunchRepeated {
        /// The cluster driver's id.
        driver: DriverId,
    },
    /// A cluster driver's process has started.
    DriverStarted {
        /// The cluster driver's id.
        driver: DriverId,
        /// The process's id.
        pid: u32,
        /// How often it was started, with this time.
        starts: u32,
    },
    /// A supervised driver failed, and will be started again.
    DriverPauses {
        /// The cluster driver's id.
        driver: DriverId,
        /// How its process ended.
        status: ExitStatus,
        /// The pause before its next start.
        pause: Duration,
    },
    /// A cluster driver ended here, or could not be started.
    DriverEnded {
        /// The cluster driver's id.
        driver: DriverId,
        /// Its state.
        state: DriverState,
    },
    /// The Master asked for a cluster driver to be ended.
    DriverKillAsked {
        /// The cluster driver's id.
        driver: DriverId,
    },
    /// The Master asked for the end of a cluster driver that does not live here. It was ignored.
    DriverKillUnknown {
        /// The cluster driver's id.
        driver: DriverId,
    },
    /// A cluster driver did not end in time, and is killed.
    DriverGraceOver {
        /// The cluster driver's id.
        driver: DriverId,
    },
    /// The shell reports on a cluster driver that does not live here, or reports its start twice.
    UnknownDriverRunner {
        /// The cluster driver's id.
        driver: DriverId,
    },
    /// Directories of ended applications are removed.
    DirectoriesRemoved {
        /// The number of directories.
        directories: usize,
        /// How long nothing was written in them.
        unwritten_for: Duration,
    },
    /// Directories of ended executors exceed their number or size. The oldest are removed.
    SurplusRemoved {
        /// The number of directories.
        executors: usize,
    },
    /// The Worker was asked to leave. It ends when its executors have ended.
    AskedToLeave {
        /// The number of live executors.
        executors: usize,
        /// The time after which those that still run are ended.
        within: Option<Duration>,
    },
    /// The daemon is ending, with its executors.
    ShuttingDown {
        /// The number of live executors.
        executors: usize,
    },
    /// The daemon was asked again to end.
    ShutdownForced {
        /// The number of live executors.
        executors: usize,
    },
    /// The daemon ends although killed executors have not ended.
    LeftBehind {
        /// The number of executors.
        executors: usize,
    },
}

impl Note {
    /// The ids that the note names.
    #[must_use]
    pub fn mentions(&self) -> Mentions<'_> {
        match self {
            Self::DriverLaunchRepeated { driver }
            | Self::DriverStarted { driver, .. }
            | Self::DriverPauses { driver, .. }
            | Self::DriverEnded { driver, .. }
            | Self::DriverKillAsked { driver }
            | Self::DriverKillUnknown { driver }
            | Self::DriverGraceOver { driver }
            | Self::UnknownDriverRunner { driver } => Mentions::driver(driver),
            Self::FetchingFiles { app, .. }
            | Self::FilesFetched { app }
            | Self::FilesFailed { app, .. }
            | Self::StrayFetch { app } => Mentions::app(app),
            Self::NotMyMaster { peer, .. } => Mentions::peer(*peer),
            note => note.executor().map_or(Mentions::NONE, Mentions::executor),
        }
    }

    /// The executor that the note is about, for the fields of the log line.
    #[must_use]
    pub fn executor(&self) -> Option<&ExecutorKey> {
        match self {
            Self::LaunchRepeated { executor }
            | Self::ExecutorStarted { executor, .. }
            | Self::ExecutorEnded { executor, .. }
            | Self::KillAsked { executor }
            | Self::KillUnknown { executor }
            | Self::GraceOver { executor }
            | Self::UnknownRunner { executor }
            | Self::EndForgotten { executor } => Some(executor),
            Self::Registered { .. }
            | Self::MasterLost { .. }
            | Self::MasterUnreachable { .. }
            | Self::MasterSilent { .. }
            | Self::MasterHungUp { .. }
            | Self::MasterStandsBy { .. }
            | Self::Dispute(_)
            | Self::Refused { .. }
            | Self::NextRound { .. }
            | Self::AskedToReconnect { .. }
            | Self::NotMyMaster { .. }
            | Self::FetchingFiles { .. }
            | Self::FilesFetched { .. }
            | Self::FilesFailed { .. }
            | Self::StrayFetch { .. }
            | Self::CannotStart { .. }
            | Self::CanStartAgain
            | Self::DirectoriesRemoved { .. }
            | Self::SurplusRemoved { .. }
            | Self::AskedToLeave { .. }
            | Self::ShuttingDown { .. }
            | Self::ShutdownForced { .. }
            | Self::DriverLaunchRepeated { .. }
            | Self::DriverStarted { .. }
            | Self::DriverPauses { .. }
            | Self::DriverEnded { .. }
            | Self::DriverKillAsked { .. }
            | Self::DriverKillUnknown { .. }
            | Self::DriverGraceOver { .. }
            | Self::UnknownDriverRunner { .. }
            | Self::LeftBehind { .. } => None,
        }
    }

    /// The level at which the note is logged.
    #[must_use]
    pub fn level(&self) -> NoteLevel {
        match self {
            Self::MasterLost { .. }
            | Self::MasterUnreachable { .. }
            | Self::MasterSilent { .. }
            | Self::MasterHungUp { .. }
            | Self::Dispute(_)
            | Self::Refused { .. }
            | Self::NotMyMaster { .. }
            | Self::LaunchRepeated { .. }
            | Self::FilesFailed { .. }
            | Self::GraceOver { .. }
            | Self::UnknownRunner { .. }
            | Self::EndForgotten { .. }
            | Self::ShutdownForced { .. }
            | Self::CannotStart { .. }
            | Self::DriverLaunchRepeated { .. }
            | Self::DriverPauses { .. }
            | Self::DriverGraceOver { .. }
            | Self::UnknownDriverRunner { .. }
            | Self::DriverEnded { state: DriverState::Failed(_) | DriverState::Error(_), .. }
            | Self::LeftBehind { .. } => NoteLevel::Warn,
            Self::Registered { duplicate: true, .. } => NoteLevel::Warn,
            Self::ExecutorEnded { state, .. } => match state {
                ExecutorState::Failed(_) | ExecutorState::Lost(_) => NoteLevel::Warn,
                ExecutorState::Launching
                | ExecutorState::Running
                | ExecutorState::Killed(_)
                | ExecutorState::Exited(_) => NoteLevel::Info,
            },
            Self::Registered { duplicate: false, .. }
            | Self::MasterStandsBy { .. }
            | Self::NextRound { .. }
            | Self::AskedToReconnect { .. }
            | Self::FetchingFiles { .. }
            | Self::FilesFetched { .. }
            | Self::StrayFetch { .. }
            | Self::ExecutorStarted { .. }
            | Self::KillAsked { .. }
            | Self::KillUnknown { .. }
            | Self::DriverStarted { .. }
            | Self::DriverEnded { .. }
            | Self::DriverKillAsked { .. }
            | Self::DriverKillUnknown { .. }
            | Self::DirectoriesRemoved { .. }
            | Self::SurplusRemoved { .. }
            | Self::CanStartAgain
            | Self::AskedToLeave { .. }
            | Self::ShuttingDown { .. } => NoteLevel::Info,
        }
    }
}
