//! The notes of a launcher, which are shown to the user.

use std::time::Duration;

use firesteel_placement::advanced::words::counted;
use firesteel_placement::{Cores, MiB, Shortfall};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId, ProfileId, WorkerId};
use firesteel_protocol::master_search::leadership::LeaderConflict;
use firesteel_protocol::messages::{ExecutorState, LossReason};

use crate::applicant::ConnectTimeout;

/// A line for the user: its level, its text and its fields.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Note)]
#[kind("launcher note")]
pub enum Note {
    /// The launcher will keep trying, for as long as `patience` says.
    #[note(Warn, "cannot reach {}, {patience}: {error}", master.url())]
    MasterUnreachable { master: Address, error: String, patience: ConnectTimeout },
    #[note(Info, "registered with {} as {app}", master.url())]
    Registered { app: AppId, master: Address },
    #[note(Warn, "lost the connection to {}: executors keep running; reconnecting", master.url())]
    MasterLost { master: Address },
    /// Two Masters both claim to lead.
    #[note(Warn, "{_0}")]
    LeaderConflict(LeaderConflict),
    #[note(
        Info,
        "executor {executor} on {host}: launching, {}, {memory} of {worker}",
        counted(cores.0, "core")
    )]
    ExecutorLaunched { executor: ExecutorId, worker: WorkerId, host: String, cores: Cores, memory: MiB },
    /// `after` is the time since the executor was assigned.
    #[note(Info, "executor {executor} on {host}: running after {}", seconds(*after))]
    ExecutorRunning { executor: ExecutorId, host: String, after: Duration },
    /// `ran` is how long the executor's process ran, if the launcher saw it start.
    #[note(
        Info,
        "executor {executor} on {host}: {end}{}",
        ran.map(|ran| format!(" after {}", seconds(ran))).unwrap_or_default()
    )]
    ExecutorEnded { executor: ExecutorId, host: String, end: ExecutorEnd, ran: Option<Duration> },
    #[note(Info, "{worker} on {host} is gone: {reason}")]
    WorkerRemoved { worker: WorkerId, host: String, reason: LossReason },
    /// There are fewer executors than requested. Reported once, and again when the reason changes.
    #[note(Warn, "{} so far{}", counted(*held, "executor"), missing(shortfalls))]
    FewerThanAsked { held: usize, shortfalls: Vec<(ProfileId, Shortfall)> },
    #[note(Info, "waiting for the end of {}", counted(*executors, "executor"))]
    Ending { executors: usize },
    #[note(
        Warn,
        "the end of {} was not reported; Workers stop them when they next connect to a Master",
        counted(*executors, "executor")
    )]
    LeftBehind { executors: usize },
    /// The message is not valid in the launcher's present state.
    #[note(Warn, "closed connection {peer}: it sent an unexpected message")]
    UnexpectedMessage { peer: PeerId },
}

/// How an executor ended, as far as its launcher knows.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum ExecutorEnd {
    /// The executor ended as the Master reports.
    #[display("{}", told(_0))]
    Reported(ExecutorState),
    /// A Master that does not know the application registered it as a new one, and ends the old executors.
    #[display("lost: the restarted Master did not know this application")]
    ApplicationReplaced,
}

fn told(state: &ExecutorState) -> String {
    match state {
        ExecutorState::Exited(status) => format!("exited with {status}"),
        ExecutorState::Killed(Some(status)) => format!("ended as asked, with {status}"),
        ExecutorState::Killed(None) => "ended as asked".to_owned(),
        ExecutorState::Failed(failure) => failure.to_string(),
        ExecutorState::Lost(reason) => format!("lost: {reason}"),
        ExecutorState::Launching | ExecutorState::Running => state.to_string(),
    }
}

/// The missing executors by profile, as the Master reports them.
fn missing(shortfalls: &[(ProfileId, Shortfall)]) -> String {
    let parts = shortfalls.iter().map(|(profile, shortfall)| match *profile {
        ProfileId::DEFAULT => format!("; {shortfall}"),
        profile => format!("; profile {profile}: {shortfall}"),
    });
    parts.collect()
}

/// Written as `0.3 s` or `75 s`.
fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        seconds => format!("{seconds} s"),
    }
}
