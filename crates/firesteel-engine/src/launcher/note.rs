//! The notes of a launcher, which its user sees.

use std::fmt;
use std::time::Duration;

use firesteel_placement::advanced::words::counted;
use firesteel_placement::{Cores, MiB, Shortfall};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId, ProfileId, WorkerId};
use firesteel_protocol::machine::NoteLevel;
use firesteel_protocol::master_search::leadership::Dispute;
use firesteel_protocol::messages::{ExecutorState, LossReason};

use crate::applicant::Patience;

/// A note for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A Master could not be reached. The launcher will try again.
    MasterUnreachable {
        /// The Master's address.
        master: Address,
        /// The error, in words for people.
        error: String,
        /// How long the launcher will keep trying.
        patience: Patience,
    },
    /// A Master registered the application.
    Registered {
        /// The application's id there.
        app: AppId,
        /// The Master's address.
        master: Address,
    },
    /// The Master's connection ended. Executors keep running, and the launcher reconnects.
    MasterLost {
        /// The Master's address.
        master: Address,
    },
    /// Two Masters say that they lead.
    Dispute(Dispute),
    /// An executor was assigned to a Worker.
    ExecutorLaunched {
        /// The executor's number.
        executor: ExecutorId,
        /// The Worker that will run it.
        worker: WorkerId,
        /// The host's name.
        host: String,
        /// The number of cores.
        cores: Cores,
        /// The amount of memory.
        memory: MiB,
    },
    /// An executor's process runs.
    ExecutorRunning {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: String,
        /// The time since it was assigned.
        after: Duration,
    },
    /// An executor has ended.
    ExecutorEnded {
        /// The executor's number.
        executor: ExecutorId,
        /// The host's name.
        host: String,
        /// How the executor ended.
        end: ExecutorEnd,
        /// How long its process ran, if it was seen to start.
        ran: Option<Duration>,
    },
    /// The Master lost a Worker.
    WorkerRemoved {
        /// The Worker's id.
        worker: WorkerId,
        /// The host's name.
        host: String,
        /// Why it is lost.
        reason: LossReason,
    },
    /// There are fewer executors than asked for. Told once, and again when the reason changes.
    FewerThanAsked {
        /// The number of executors.
        held: usize,
        /// What is missing, by profile, as the Master says.
        shortfalls: Vec<(ProfileId, Shortfall)>,
    },
    /// The application is ending, and its executors are awaited.
    Ending {
        /// The number of executors.
        executors: usize,
    },
    /// Executors are left whose ends were not reported.
    LeftBehind {
        /// The number of executors.
        executors: usize,
    },
    /// A connection sent a message that is not valid now. The message is ignored and the connection closed.
    UnexpectedMessage {
        /// The connection's number.
        peer: PeerId,
    },
}

/// How an executor ended, as far as its launcher knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutorEnd {
    /// It ended as the Master reports.
    Told(ExecutorState),
    /// A Master that does not know the application registered it as a new one, and has the old executors
    /// ended.
    ApplicationReplaced,
}

impl fmt::Display for ExecutorEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Told(ExecutorState::Exited(status)) => write!(f, "exited with {status}"),
            Self::Told(ExecutorState::Killed(Some(status))) => write!(f, "ended as asked, with {status}"),
            Self::Told(ExecutorState::Killed(None)) => f.write_str("ended as asked"),
            Self::Told(ExecutorState::Failed(failure)) => f.write_str(&failure.to_string()),
            Self::Told(ExecutorState::Lost(reason)) => write!(f, "lost: {reason}"),
            Self::Told(state @ (ExecutorState::Launching | ExecutorState::Running)) => write!(f, "{state}"),
            Self::ApplicationReplaced => {
                f.write_str("lost: the restarted Master did not know this application")
            }
        }
    }
}

impl Note {
    /// The level at which the note is logged.
    #[must_use]
    pub fn level(&self) -> NoteLevel {
        match self {
            Self::Registered { .. }
            | Self::ExecutorLaunched { .. }
            | Self::ExecutorRunning { .. }
            | Self::ExecutorEnded { .. }
            | Self::WorkerRemoved { .. }
            | Self::Ending { .. } => NoteLevel::Info,
            Self::MasterUnreachable { .. }
            | Self::MasterLost { .. }
            | Self::Dispute(_)
            | Self::FewerThanAsked { .. }
            | Self::LeftBehind { .. }
            | Self::UnexpectedMessage { .. } => NoteLevel::Warn,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MasterUnreachable { master, error, patience } => {
                write!(f, "cannot reach {}, {patience}: {error}", master.url())
            }
            Self::Registered { app, master } => write!(f, "registered with {} as {app}", master.url()),
            Self::MasterLost { master } => {
                write!(f, "lost the connection to {}: executors keep running; reconnecting", master.url())
            }
            Self::Dispute(dispute) => dispute.fmt(f),
            Self::ExecutorLaunched { executor, worker, host, cores, memory } => {
                let cores = counted(cores.0, "core");
                write!(f, "executor {executor} on {host}: launching, {cores}, {memory} of {worker}")
            }
            Self::ExecutorRunning { executor, host, after } => {
                write!(f, "executor {executor} on {host}: running after {}", seconds(*after))
            }
            Self::ExecutorEnded { executor, host, end, ran } => {
                write!(f, "executor {executor} on {host}: {end}")?;
                ran.map_or(Ok(()), |ran| write!(f, " after {}", seconds(ran)))
            }
            Self::WorkerRemoved { worker, host, reason } => write!(f, "{worker} on {host} is gone: {reason}"),
            Self::FewerThanAsked { held, shortfalls } => {
                write!(f, "{} so far", counted(*held, "executor"))?;
                shortfalls.iter().try_for_each(|(profile, shortfall)| match *profile {
                    ProfileId::DEFAULT => write!(f, "; {shortfall}"),
                    profile => write!(f, "; profile {profile}: {shortfall}"),
                })
            }
            Self::Ending { executors } => {
                write!(f, "waiting for the end of {}", counted(*executors, "executor"))
            }
            Self::LeftBehind { executors } => {
                write!(
                    f,
                    "no end of {} was reported; their Workers end them when they next reach a Master",
                    counted(*executors, "executor")
                )
            }
            Self::UnexpectedMessage { peer } => {
                write!(f, "closed connection {peer}: it sent an unexpected message")
            }
        }
    }
}

/// Written as `0.3 s` or `75 s`.
fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        seconds => format!("{seconds} s"),
    }
}

firesteel_protocol::kinds!("launcher note", Note: MasterUnreachable Registered MasterLost Dispute ExecutorLaunched ExecutorRunning
    ExecutorEnded WorkerRemoved FewerThanAsked Ending LeftBehind UnexpectedMessage);
