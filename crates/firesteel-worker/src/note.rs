//! The notes of a Worker. Each note is a line of the log.

use std::time::Duration;

use firesteel_placement::advanced::words::{counted, none_or};
use firesteel_protocol::NoteLevel;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey, PeerId};
use firesteel_protocol::master_search::leadership::LeaderConflict;
use firesteel_protocol::messages::{DriverState, ExceededLimit, ExecutorState, RefusedRegistration};
use firesteel_protocol::process::ExitStatus;

/// A line of the log: its level, its text and its fields.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Note)]
#[kind("worker note")]
pub enum Note {
    /// A Master has registered the Worker. `duplicate`: the Master already knew the Worker.
    #[note(
        if *duplicate { Warn } else { Info },
        "registered with {master_url}{}",
        if *duplicate { ", which had this Worker on another connection" } else { "" }
    )]
    Registered { master_url: String, duplicate: bool },
    /// The Master is lost, but the executors keep running.
    #[note(Warn, "lost the connection to {master_url}; {} running; reconnecting", count(*executors))]
    MasterLost { master_url: String, executors: usize },
    #[note(Warn, "cannot reach {}: {error}", master.url())]
    MasterUnreachable { master: Address, error: String },
    /// A Master accepted the connection, but did not answer in time.
    #[note(Warn, "{} does not answer", master.url())]
    MasterSilent { master: Address },
    #[note(Warn, "{} closed the connection without an answer", master.url())]
    MasterHungUp { master: Address },
    #[note(Info, "{} stands by{}", master.url(), who_leads(leader.as_ref()))]
    MasterStandsBy { master: Address, leader: Option<Address> },
    /// Two Masters claim to lead.
    #[note(Warn, "{_0}")]
    LeaderConflict(LeaderConflict),
    #[note(Warn, "{} rejected this Worker: {refusal}", master.url())]
    Refused { master: Address, refusal: RefusedRegistration },
    /// The Worker will try all Masters again, after this number of failed rounds since the last registration.
    #[note(
        Info,
        "retrying to register in {:.1} s, after {}",
        pause.as_secs_f64(),
        counted(*failed, "attempt")
    )]
    NextRound { failed: u32, pause: Duration },
    #[note(Info, "{master_url} does not know this Worker: registering again")]
    AskedToReconnect { master_url: String },
    #[note(Warn, "dropped {message} from peer {peer}, which is not this Worker's Master")]
    NotMyMaster { peer: PeerId, message: &'static str },
    #[note(Warn, "ignored a repeated request to launch executor {executor}")]
    LaunchRepeated { executor: ExecutorKey },
    #[note(Info, "fetching {} ({bytes} bytes) of {app} from {source}", counted(*files, "file"))]
    FetchingFiles { app: AppId, files: usize, bytes: u64, source: Address },
    #[note(Info, "fetched the files of {app}")]
    FilesFetched { app: AppId },
    #[note(Warn, "cannot get the files of {app}: {error}")]
    FilesFailed { app: AppId, error: String },
    #[note(Info, "dropped the files of {app}: no longer needed")]
    StrayFetch { app: AppId },
    #[note(Info, "executor {executor} runs as process {pid}")]
    ExecutorStarted { executor: ExecutorKey, pid: u32 },
    /// An executor has ended, or could not be started.
    #[note(level_of_end(state), "executor {executor} ended: {state}")]
    ExecutorEnded { executor: ExecutorKey, state: ExecutorState },
    #[note(Warn, "cannot start executors: {error}; accepting no executors until the cause is removed")]
    CannotStart { error: String },
    #[note(Info, "can start executors again")]
    CanStartAgain,
    #[note(Info, "the Master ends executor {executor}")]
    KillAsked { executor: ExecutorKey },
    #[note(Info, "ignored a request to end executor {executor}: it does not run here")]
    KillUnknown { executor: ExecutorKey },
    #[note(Warn, "executor {executor} did not end after SIGTERM: sending SIGKILL")]
    GraceOver { executor: ExecutorKey },
    #[note(Warn, "killing executor {executor}: {exceeded}")]
    ExecutorExceeds { executor: ExecutorKey, exceeded: ExceededLimit },
    /// A process is reported for an executor that this Worker does not run, or its start is reported twice.
    #[note(
        Warn,
        "ignored a process report for executor {executor}: it does not run here, or its start was reported before"
    )]
    UnknownRunner { executor: ExecutorKey },
    #[note(
        Warn,
        "dropped the unconfirmed end of executor {executor}: too many ends wait for a Master's confirmation"
    )]
    EndForgotten { executor: ExecutorKey },
    /// The order to launch a cluster driver was repeated. The driver runs on this Worker, or did before.
    #[note(Warn, "answered a repeated request to launch {driver}")]
    DriverLaunchRepeated { driver: DriverId },
    #[note(Info, "{driver} {}", running(*pid, *starts))]
    DriverStarted { driver: DriverId, pid: u32, starts: u32 },
    /// A supervised driver failed, and is started again after a pause.
    #[note(Warn, "{driver} ended with {status}: starting it again after {} s", pause.as_secs())]
    DriverPauses { driver: DriverId, status: ExitStatus, pause: Duration },
    /// A cluster driver has ended, or could not be started.
    #[note(
        if matches!(state, DriverState::Failed(_) | DriverState::Error(_)) { Warn } else { Info },
        "{}",
        driver_end(driver, state)
    )]
    DriverEnded { driver: DriverId, state: DriverState },
    #[note(Info, "the Master ends {driver}")]
    DriverKillAsked { driver: DriverId },
    #[note(Info, "ignored a request to end {driver}: it does not run here")]
    DriverKillUnknown { driver: DriverId },
    #[note(Warn, "{driver} did not end after SIGTERM: sending SIGKILL")]
    DriverGraceOver { driver: DriverId },
    #[note(Warn, "killing {driver}: {exceeded}")]
    DriverExceeds { driver: DriverId, exceeded: ExceededLimit },
    /// A process is reported for a cluster driver that this Worker does not run, or its start is reported twice.
    #[note(
        Warn,
        "ignored a process report for {driver}: it does not run here, or its start was reported before"
    )]
    UnknownDriverRunner { driver: DriverId },
    #[note(
        Info,
        "removing the work directories of {}: not written for {} s",
        counted(*directories, "ended application"),
        unwritten_for.as_secs()
    )]
    DirectoriesRemoved { directories: usize, unwritten_for: Duration },
    #[note(
        Info,
        "removing the work directories of the oldest {}: more than the limits allow is kept",
        counted(*executors, "ended executor")
    )]
    SurplusRemoved { executors: usize },
    /// The Worker was asked to leave. It ends when its executors have ended.
    #[note(
        Info,
        "asked to leave: taking no more executors, and ending when none is left; {} running{}",
        count(*executors),
        within.map(|it| format!("; what runs after {} s is ended", it.as_secs_f64())).unwrap_or_default()
    )]
    AskedToLeave { executors: usize, within: Option<Duration> },
    #[note(Info, "shutting down with {}", count(*executors))]
    ShuttingDown { executors: usize },
    #[note(Warn, "asked again to shut down: killing {}", count(*executors))]
    ShutdownForced { executors: usize },
    #[note(Warn, "exiting with {} still running", counted(*executors, "killed executor"))]
    LeftBehind { executors: usize },
}

fn level_of_end(state: &ExecutorState) -> NoteLevel {
    match state {
        ExecutorState::Failed(_) | ExecutorState::Lost(_) => NoteLevel::Warn,
        ExecutorState::Launching
        | ExecutorState::Running
        | ExecutorState::Killed(_)
        | ExecutorState::Exited(_) => NoteLevel::Info,
    }
}

fn who_leads(leader: Option<&Address>) -> String {
    match leader {
        Some(leader) => format!(": {} leads", leader.url()),
        None => ", and no Master leads yet".to_owned(),
    }
}

fn running(pid: u32, starts: u32) -> String {
    match starts {
        1 => format!("runs as process {pid}"),
        _ => format!("runs again as process {pid}; it was started {starts} times"),
    }
}

fn driver_end(driver: &DriverId, state: &DriverState) -> String {
    match state {
        DriverState::Submitted => format!("gave {driver} back to the Master"),
        _ => format!("{driver} ended: {state}"),
    }
}

/// Formats a number of executors: `no executor`, `2 executors`.
fn count(executors: usize) -> String {
    none_or(executors as u64, "executor")
}
