//! The notes of a Master. Each note is a line of the log.

pub(crate) mod audit;

use std::fmt;
use std::time::Duration;

use firesteel_placement::advanced::words::{counted, none_or};
use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::ids::{AppId, DriverId, ExecutorId, ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::machine::Violation;
use firesteel_protocol::messages::{
    ApplicationEnd, DriverState, EarlyEnd, ExecutorState, Impairment, LossReason, RefusedRegistration,
    StateId,
};
use firesteel_protocol::time::Timestamp;

use crate::Audit;

/// A line of the log: its level, its text and its fields.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Note)]
#[kind("master note")]
pub enum Note {
    #[note(Info, "registered {worker} with {} and {memory}", counted(cores.0, "core"))]
    WorkerRegistered { worker: WorkerId, cores: Cores, memory: MiB },
    /// A Worker returned on another connection before its old one ended.
    #[note(Info, "{worker} reconnected")]
    WorkerReconnected { worker: WorkerId },
    #[note(Info, "{app} reconnected")]
    ApplicationReconnected { app: AppId },
    /// All Workers and applications that were away after a restart of the Master have returned, or are lost.
    #[note(Info, "all Workers and applications are back")]
    Recovered,
    #[note(
        Warn,
        "the connection of {worker} ended: it keeps {} and gets nothing new until it returns within {} s",
        none_or(*executors, "executor"),
        within.as_secs_f64()
    )]
    WorkerAway { worker: WorkerId, executors: usize, within: Duration },
    #[note(
        Warn,
        "the connection of the driver of {app} ended: {app} keeps its executors and gets no new ones until the driver \
         returns within {} s",
        within.as_secs_f64()
    )]
    ApplicationAway { app: AppId, within: Duration },
    #[note(Info, "{worker} is shutting down: it gets no more executors")]
    WorkerLeaving { worker: WorkerId },
    #[note(Warn, "refused {worker:?}: {reason}")]
    WorkerRefused { worker: WorkerId, reason: RefusedRegistration },
    #[note(Warn, "removed {worker} with {}: {reason}", none_or(*executors, "executor"))]
    WorkerRemoved { worker: WorkerId, reason: LossReason, executors: usize },
    /// A Worker has left that had announced its end, and nothing ran on it.
    #[note(Info, "{worker} has left")]
    WorkerLeft { worker: WorkerId },
    /// A Worker has missed two heartbeats.
    #[note(
        Warn,
        "no heartbeat of {worker} for {} s: it is lost if it stays silent for spark.worker.timeout",
        silent.as_secs()
    )]
    WorkerLate { worker: WorkerId, silent: Duration },
    #[note(Info, "{worker} sends heartbeats again")]
    WorkerHeard { worker: WorkerId },
    #[note(Warn, "{worker} still runs {executor}, which counts as {state} since {ended}: stopping it")]
    EndedExecutorReturned { executor: ExecutorKey, worker: WorkerId, state: ExecutorState, ended: Timestamp },
    /// Workers were silent for too long, but the Master itself was late in checking them.
    #[note(
        Warn,
        "this Master stood still or was busy for {:.1} s; {} get their time again",
        late.as_secs_f64(),
        counted(*workers, "silent Worker")
    )]
    WorkersExcused { workers: usize, late: Duration },
    #[note(Warn, "{worker} did not answer the request to launch {executor}: asked again")]
    OrderRepeated { executor: ExecutorKey, worker: WorkerId },
    #[note(Warn, "{worker} is given nothing new for now: it {impairment}")]
    WorkerImpaired { worker: WorkerId, impairment: Impairment },
    #[note(Info, "{worker} is given executors again")]
    WorkerRecovered { worker: WorkerId },
    /// The longest time that a message of a Worker or driver has waited.
    #[note(Warn, "this Master is behind: messages wait for {:.1} s before it handles them", lag.as_secs_f64())]
    Behind { lag: Duration },
    #[note(Info, "this Master has caught up: messages waited for up to {:.1} s", longest.as_secs_f64())]
    CaughtUp { longest: Duration },
    #[note(Info, "registered {app} ({name})")]
    ApplicationRegistered { app: AppId, name: String },
    #[note(Warn, "refused an application ({name}): {reason}")]
    ApplicationRefused { name: String, reason: String },
    #[note(Warn, "ignored the hosts that {app} prefers: {reason}")]
    PreferencesRefused { app: AppId, reason: String },
    #[note(if matches!(end, ApplicationEnd::Finished { .. }) { Info } else { Warn }, "removed {app}: {end}")]
    ApplicationRemoved { app: AppId, end: ApplicationEnd },
    #[note(Info, "{user:?} submitted {driver}")]
    DriverSubmitted { driver: DriverId, user: String },
    #[note(Warn, "refused a driver: {why}")]
    DriverRefused { why: String },
    #[note(
        Info,
        "launching {driver} on {worker} with {} and {memory}{}",
        counted(cores.0, "core"),
        and_resources(resources)
    )]
    DriverLaunched { driver: DriverId, worker: WorkerId, cores: Cores, memory: MiB, resources: Resources },
    #[note(Warn, "{worker} did not answer the request to launch {driver}: asked again")]
    DriverOrderRepeated { driver: DriverId, worker: WorkerId },
    #[note(Warn, "{driver} did not run on {worker}, and waits for a Worker again")]
    DriverReturned { driver: DriverId, worker: WorkerId },
    /// A user (`ann@host`) asked to end a cluster driver.
    #[note(Info, "{by} asked for the end of {driver}")]
    DriverKillAsked { driver: DriverId, by: String },
    #[note(Info, "{driver} is {state}")]
    DriverEnded { driver: DriverId, state: DriverState },
    #[note(Warn, "{worker} runs {driver}, which should not run there: stopping it")]
    UnknownDriver { driver: DriverId, worker: WorkerId },
    /// Resources are reserved for a gang that does not fit yet. Its start is known if enough running applications have
    /// estimated run times.
    #[note(
        Info,
        "reserved room on {} for {app}, which needs {executors} executors together{}",
        counted(*workers, "Worker"),
        at.map(|at| format!("; expected start: {at}")).unwrap_or_default()
    )]
    Reserved { app: AppId, executors: u64, workers: usize, at: Option<Timestamp> },
    /// A gang would not fit even if every Worker were empty. The Master tries again when Workers register.
    #[note(Warn, "{app} needs {executors} executors together, but all Workers in sum have room for {room}")]
    GangNeverFits { app: AppId, executors: u64, room: u64 },
    #[note(Info, "launching executor {executor} on {worker} with {} and {memory}", counted(cores.0, "core"))]
    ExecutorLaunched { executor: ExecutorKey, worker: WorkerId, cores: Cores, memory: MiB },
    #[note(Warn, "ending executor {executor} to make room for {by}")]
    ExecutorPreempted { executor: ExecutorKey, by: AppId },
    #[note(Info, "executor {executor} is {state}")]
    ExecutorEnded { executor: ExecutorKey, state: ExecutorState },
    #[note(Warn, "{} of {app} failed in a row: next launch in {millis} ms", counted(*failures, "executor"))]
    RelaunchDelayed { app: AppId, failures: u32, millis: u64 },
    #[note(Warn, "executors of {app} {end} on {worker}: excluding {worker} for {app} for {millis} ms")]
    WorkerExcluded { worker: WorkerId, app: AppId, end: EarlyEnd, millis: u64 },
    #[note(
        Warn,
        "executors of several applications fail on {worker} and run elsewhere: excluding {worker} for all \
         applications for {millis} ms"
    )]
    WorkerDistrusted { worker: WorkerId, millis: u64 },
    #[note(Warn, "{worker} runs {executor}, which belongs to no known application: stopping it")]
    UnknownExecutor { executor: ExecutorKey, worker: WorkerId },
    /// Executors or cluster drivers of another Master's state are left alone for a while. `place` is where this Master
    /// stores its state.
    #[note(
        Warn,
        "{worker} runs {} that this Master has no record of: its state in {place} is new, or older than they are. {}",
        executors_and_drivers(*executors as u64, *drivers as u64),
        Advice(*remaining)
    )]
    ForeignHeld { worker: WorkerId, executors: usize, drivers: usize, place: String, remaining: Duration },
    /// The driver of an application that is not in this Master's state gets no answer for a while.
    #[note(
        Warn,
        "{app} has returned with {}, but this Master has no record of it: its state in {place} is new, or older than it is. {}",
        counted(*executors, "executor"),
        Advice(*remaining)
    )]
    ForeignDriverWaits { app: AppId, executors: usize, place: String, remaining: Duration },
    /// There is evidence of decisions that are not in this Master's state.
    #[note(
        Warn,
        "the state in {place} is older than what others know: it ends at {ended}, and {evidence}. It is an old copy, or \
         has lost its end. The decisions in between are lost. The executors of each application that it has number \
         on from {next}, so that none is given twice. To go on without loss, stop this Master now and start it with the latest state"
    )]
    StateIsOlder { place: String, ended: Timestamp, evidence: Box<Evidence>, next: ExecutorId },
    /// The driver has executors, and has served another state.
    #[note(
        Warn,
        "{app} gets no answer: it has executors of a Master with state {theirs}, and this Master has state {ours}. They keep \
         running. If this Master was started with the state of another cluster, start it with its own"
    )]
    OtherStatesDriver { app: AppId, theirs: StateId, ours: StateId },
    /// A user or a program asked for a change.
    #[note(Info, "{_0}")]
    Audited(#[mentions] Box<Audit>),
    /// The Master's tables contradict each other, so a handler did not finish its work.
    #[note(Warn, "a bug in Firesteel, please report it: {_0}")]
    Inconsistent(Violation),
    #[note(reason.level(), "ignored a message of connection {peer}: {reason}")]
    Ignored {
        peer: PeerId,
        #[mentions]
        reason: Ignored,
    },
}

/// Why a message is not valid from this sender at this time.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Note)]
pub enum Ignored {
    /// The sender is not registered, and is asked to register.
    #[note(Warn, "its Worker is not registered")]
    NotRegistered,
    #[note(Warn, "it names {named:?}, which does not belong to its sender")]
    NotItsOwn { named: String },
    /// The Worker cannot know this state, or the executor can no longer have it.
    #[note(Warn, "it reports executor {executor} as {state}, which does not follow its present state")]
    OddState { executor: ExecutorKey, state: ExecutorState },
    /// The executor is unknown, so the Worker is ordered to end it.
    #[note(Info, "unknown executor {executor}")]
    UnknownExecutor { executor: ExecutorKey },
    #[note(Warn, "it reports {driver} as {state}, which does not follow its present state")]
    OddDriverState { driver: DriverId, state: DriverState },
    #[note(Warn, "it reports {driver}, which does not run on this Worker")]
    UnknownDriver { driver: DriverId },
}

/// What shows that a state is older.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum Evidence {
    /// The peer remembers this later moment of the state.
    #[display("{who} was told of decisions until {seen}")]
    Mark { who: String, seen: Timestamp },
    /// The peer names an executor with a higher number than this state has given.
    #[display("{who} knows of later executors of {app}")]
    Executor { who: String, app: AppId },
}

/// What the user can do about executors of another Master's state, which are left alone for this time.
struct Advice(Duration);

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "They keep running for {} s and are then stopped. To keep them, stop this Master now and start it where the old \
             state is; to stop them immediately, start it as a new Master",
            self.0.as_secs()
        )
    }
}

fn executors_and_drivers(executors: u64, drivers: u64) -> String {
    match (executors, drivers) {
        (_, 0) => counted(executors, "executor"),
        (0, _) => counted(drivers, "driver"),
        _ => format!("{} and {}", counted(executors, "executor"), counted(drivers, "driver")),
    }
}

fn and_resources(resources: &Resources) -> String {
    if resources.is_empty() { String::new() } else { format!(" and {resources}") }
}
