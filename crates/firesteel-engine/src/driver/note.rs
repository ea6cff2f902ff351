//! The notes of a driver, each a line of the log.

use std::fmt;
use std::time::Duration;

use firesteel_placement::advanced::words::{are, counted, list, none_or};
use firesteel_placement::explain::shortfall::Reason;
use firesteel_placement::{Cores, MiB, Shortfall};
use firesteel_protocol::address::Address;
use firesteel_protocol::exchange::ResumeError;
use firesteel_protocol::ids::{AppId, AttemptId, ExecutorId, PeerId, ProfileId, TaskId, WorkerId};
use firesteel_protocol::master_search::leadership::LeaderConflict;
use firesteel_protocol::messages::{
    ExecutorState, LossReason, MOST_PROFILES, RefusedExecutor, UnsoundProfile,
};
use firesteel_protocol::process::StartFailure;

use super::{ExclusionCause, FailureCause, Replacement};
use crate::applicant::ConnectTimeout;

/// A line of the log: its level, its text and its fields.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Note)]
#[kind("driver note")]
pub enum Note {
    /// The driver will keep trying, for as long as `patience` says.
    #[note(Warn, "cannot reach {}, {patience}: {error}", master.url())]
    MasterUnreachable { master: Address, error: String, patience: ConnectTimeout },
    #[note(Info, "registered with {} as {app}", master.url())]
    Registered { app: AppId, master: Address },
    /// Executors of the application may have been lost already, for another reason.
    #[note(Warn, "{} did not know this application: it begins anew there", master.url())]
    ApplicationReplaced { master: Address },
    #[note(Warn, "lost the connection to {}: tasks keep running; reconnecting", master.url())]
    MasterLost { master: Address },
    /// Two Masters both claim to lead.
    #[note(Warn, "{_0}")]
    LeaderConflict(LeaderConflict),
    #[note(
        Info,
        "executor {executor} is assigned to {worker} on {host}: {}, {memory}",
        counted(cores.0, "core")
    )]
    ExecutorAdded { executor: ExecutorId, worker: WorkerId, host: String, cores: Cores, memory: MiB },
    #[note(Info, "executor {executor} on {host} is ready: {}", counted(cores.0, "core"))]
    ExecutorRegistered { executor: ExecutorId, profile: ProfileId, host: String, cores: Cores },
    #[note(
        Info,
        "executor {executor} on {host} is away: its connection ended, and it may return within {} s",
        patience.as_secs_f64()
    )]
    ExecutorAway { executor: ExecutorId, host: String, patience: Duration },
    #[note(Info, "executor {executor} on {host} is back after {:.1} s", absent.as_secs_f64())]
    ExecutorBack { executor: ExecutorId, host: String, absent: Duration },
    /// The executor registered again, and its tasks run elsewhere now.
    #[note(Warn, "executor {executor} cannot return: {error}")]
    ExecutorEstranged { executor: ExecutorId, error: ResumeError },
    #[note(Warn, "refused executor {executor}: {reason}")]
    ExecutorRefused { executor: ExecutorId, reason: RefusedExecutor },
    /// The executor has a running process, which the driver has ended.
    #[note(
        Warn,
        "executor {executor} on {host} did not register within {} s of its start: requesting a replacement",
        waited.as_secs()
    )]
    ExecutorAbsent { executor: ExecutorId, host: String, waited: Duration },
    /// The tasks run again: tasks that ran on the executor until its loss, and tasks that the executor stopped because
    /// it was shutting down.
    #[note(
        match loss {
            ExecutorLoss::Ended(ExecutorState::Killed(_)) if *tasks == 0 => Info,
            _ => Warn,
        },
        "executor {executor} on {host} is lost with {}: {loss}",
        none_or(*tasks, "task")
    )]
    ExecutorLost { executor: ExecutorId, host: String, loss: ExecutorLoss, tasks: usize },
    /// An executor gave a task back, because its machine lacks a resource. The executor takes no more tasks than it
    /// runs, until one ends. Noted once, until the executor has run as many tasks as it has cores for.
    #[note(Warn, "executor {executor} on {host} {}: {failure}; {}", short(*running).0, short(*running).1)]
    ExecutorShort { executor: ExecutorId, host: String, failure: StartFailure, running: usize },
    /// Executors were silent for too long, and the driver was late to look for signs of life.
    #[note(
        Warn,
        "this driver stood still or was busy for {:.1} s; {} get their time again",
        late.as_secs_f64(),
        counted(*executors, "silent executor")
    )]
    ExecutorsExcused { executors: usize, late: Duration },
    /// The number of executors wanted for a profile has changed.
    #[note(Info, "the target is {}{}", counted(*total, "executor"), OfProfile(*profile))]
    TargetSet { profile: ProfileId, total: u64 },
    #[note(Warn, "ignored a target of {}: dynamic allocation sets it", counted(*total, "executor"))]
    TargetIsDynamic { total: u64 },
    #[note(Info, "asked {} to end after {idle:?} without a task", Numbers(executors))]
    IdleExecutorsKilled { executors: Vec<ExecutorId>, idle: Duration },
    /// The targets are lowered temporarily, because no executor of the profile `to` fits.
    #[note(Warn, "asked {} to end without a task: tasks of profile {to} need the room", Numbers(executors))]
    IdleExecutorsGivenBack { executors: Vec<ExecutorId>, to: ProfileId },
    #[note(
        Info,
        "asked {} to end: {}",
        Numbers(executors),
        match replacement {
            Replacement::Wanted => "requesting replacements",
            Replacement::Unwanted => "without replacement",
        }
    )]
    ExecutorsKilled { executors: Vec<ExecutorId>, replacement: Replacement },
    /// The executors do not exist, or are already being ended.
    #[note(Warn, "cannot end {}: not running", Numbers(executors))]
    KillUnknown { executors: Vec<ExecutorId> },
    #[note(Warn, "unknown resource profile {profile}")]
    ProfileUnknown { profile: ProfileId },
    #[note(Warn, "rejected resource profile {profile}: {reason}")]
    ProfileRefused { profile: ProfileId, reason: RefusedProfile },
    /// The Master does not know the application, or has another driver for it.
    #[note(Warn, "the Master refused {request}")]
    RequestRefused { request: Request },
    #[note(Warn, "{worker} on {host} is gone: {reason}")]
    WorkerRemoved { worker: WorkerId, host: String, reason: LossReason },
    /// `failures` attempts at the task have failed. The task has failed if `failures` has reached `limit`.
    #[note(
        Warn,
        "task {attempt} failed on executor {executor} on {host}: {cause} ({failures} of {limit} failures)"
    )]
    TaskFailed {
        attempt: AttemptId,
        executor: ExecutorId,
        host: String,
        cause: FailureCause,
        failures: u32,
        limit: u32,
    },
    #[note(
        Warn,
        "{cause}; no more {} start there for {} s",
        if matches!(cause, ExclusionCause::HostAvoided { .. }) { "executors" } else { "tasks" },
        timeout.as_secs()
    )]
    Excluded { cause: ExclusionCause, timeout: Duration },
    #[note(Warn, "executor {executor} on {host} {why}")]
    Readmitted { executor: ExecutorId, host: String, why: Readmission },
    #[note(Warn, "{} {} no longer excluded: no other executor is left", list(hosts), are(hosts.len()))]
    HostsReadmitted { hosts: Vec<String> },
    /// `task` is the first task with this size.
    #[note(
        Warn,
        "task {task} needs {}, and the largest executor has {largest}: waiting for a larger one",
        counted(cores.0, "core")
    )]
    TaskTooLarge { task: TaskId, cores: Cores, largest: Cores },
    /// No Worker is large enough for an executor, or all Workers together are too small for the executors that the
    /// application starts with.
    #[note(Warn, "{shortfall}; the application waits for {}", remedy(&shortfall.reason))]
    NeverFits { profile: ProfileId, shortfall: Shortfall },
    /// Tasks wait, and the Master has not assigned an executor yet. Noted once, soon after the start.
    #[note(Warn, "{}; waiting", joined(shortfalls.iter().map(|(_, shortfall)| shortfall.to_string())))]
    StillWaiting { shortfalls: Vec<(ProfileId, Shortfall)> },
    /// Tasks wait, and no executor has come for some time.
    #[note(Warn, "no executor has registered for {} s{}", waited.as_secs(), why_none(master))]
    NoExecutor { waited: Duration, master: MasterStatus },
    #[note(
        Warn,
        "dropped executor {executor}: it sent {sent} bytes of the output of task {attempt}, and {granted} were allowed"
    )]
    CreditExceeded { executor: ExecutorId, attempt: AttemptId, sent: u64, granted: u64 },
    /// The message is not valid in the driver's present state.
    #[note(Warn, "closed connection {peer}: it sent an unexpected message")]
    UnexpectedMessage { peer: PeerId },
    /// A task was submitted out of order, or after the last one.
    #[note(Warn, "ignored task {task}: it came out of order")]
    UnexpectedTask { task: TaskId },
}

/// Why a resource profile is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum RefusedProfile {
    /// No executor can have this profile.
    Unsound(UnsoundProfile),
    #[display("its number has another profile")]
    Taken,
    #[display("an application has at most {MOST_PROFILES} profiles")]
    TooMany,
}

/// A request to the Master about executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum Request {
    #[display("to change the number of executors")]
    Targets,
    #[display("to end executors")]
    Kill,
}

/// Why an excluded executor is readmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum Readmission {
    #[display("is no longer excluded: its exclusion has expired")]
    TimeIsUp,
    #[display("is no longer excluded: no other executor is left")]
    NoOtherLeft,
    #[display("is tried with one task: its exclusion has expired")]
    OnTrial,
    /// A task succeeded on the executor or host, or has run there for long.
    #[display("is no longer excluded: a task that was tried did not fail")]
    Proven,
}

/// Why an executor is lost.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum ExecutorLoss {
    /// The Master reported how the executor ended.
    #[display("{}", if let ExecutorState::Lost(reason) = _0 { reason.to_string() } else { _0.to_string() })]
    Ended(ExecutorState),
    /// The executor's connection ended, and the Master reported nothing.
    #[display("its connection ended")]
    Disconnected,
    /// The executor was silent for too long. The Master is asked to end it.
    #[display("no heartbeat for {} s", timeout.as_secs_f64())]
    HeartbeatTimeout { timeout: Duration },
    /// The application was registered as a new one, and the Master ends the executors of the old one.
    #[display("the restarted Master did not know this application")]
    ApplicationReplaced,
    #[display("it did not keep to the protocol")]
    Misbehaved,
}

/// Whether a Master has registered the application and is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MasterStatus {
    /// A Master has the application.
    Registered {
        /// The Master's address.
        master: Address,
        /// The missing executors by profile, as the Master reports them. Empty if every requested executor is assigned.
        shortfalls: Vec<(ProfileId, Shortfall)>,
        /// Profiles that tasks wait for and of which no executor is wanted.
        unwanted: Vec<ProfileId>,
    },
    /// No Master has the application.
    Lost,
}

fn short(running: usize) -> (&'static str, &'static str) {
    match running {
        0 => ("takes no tasks for now", "it retries soon, and no task counts as failed"),
        _ => ("takes no more tasks for now", "it takes others as some end, and no task counts as failed"),
    }
}

/// What the user can do if an application can never get the executors that it asks for.
fn remedy(reason: &Reason) -> &'static str {
    match reason {
        Reason::GangTooLarge { .. } => "more Workers",
        Reason::TooSmall { .. }
        | Reason::LimitReached { .. }
        | Reason::TooFewCoresLeft { .. }
        | Reason::NoWorkers
        | Reason::NotGranted { .. }
        | Reason::Busy { .. }
        | Reason::Held { .. }
        | Reason::GangWaits { .. }
        | Reason::KeptForAnother
        | Reason::Avoided { .. }
        | Reason::Paused { .. }
        | Reason::Excluded { .. }
        | Reason::Impaired { .. }
        | Reason::Labelled { .. }
        | Reason::UserLimit { .. } => "a larger Worker",
    }
}

/// The reason why there is no executor, as the end of a sentence.
fn why_none(master: &MasterStatus) -> String {
    let (shortfalls, unwanted) = match master {
        MasterStatus::Lost => return ", and no Master is connected".to_owned(),
        MasterStatus::Registered { shortfalls, unwanted, .. } => (shortfalls, unwanted),
    };
    if shortfalls.is_empty() && unwanted.is_empty() {
        return ": the assigned ones have not registered yet".to_owned();
    }
    let missing = shortfalls.iter().map(|(profile, shortfall)| match *profile {
        ProfileId::DEFAULT => shortfall.to_string(),
        profile => format!("profile {profile}: {shortfall}"),
    });
    let untargeted =
        unwanted.iter().map(|profile| format!("tasks need one{}, and the target is 0", OfProfile(*profile)));
    format!(": {}", joined(missing.chain(untargeted)))
}

fn joined(reasons: impl Iterator<Item = String>) -> String {
    reasons.collect::<Vec<_>>().join("; ")
}

/// Written as ` of profile 2`, or as nothing for the default profile.
struct OfProfile(ProfileId);

impl fmt::Display for OfProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ProfileId::DEFAULT => Ok(()),
            profile => write!(f, " of profile {profile}"),
        }
    }
}

/// Written as `executor 3` or `executors 3, 4`.
struct Numbers<'a>(&'a [ExecutorId]);

impl fmt::Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(numbers) = self;
        f.write_str(if numbers.len() == 1 { "executor" } else { "executors" })?;
        let comma = |at| if at == 0 { "" } else { "," };
        numbers.iter().enumerate().try_for_each(|(at, number)| write!(f, "{} {number}", comma(at)))
    }
}
