//! The faults of a simulated cluster, and how often they occur.
//!
//! - [`Fault`], [`FaultPlan`]: each kind of fault, and how often it occurs; `strikes`: faults that occur by themselves.
//! - `disks`, `shortages`, `stalls`, `partitions`, `busy_master`: faults that last for some time.
//! - `election`, `leaving`: leaders that are deposed, and Workers that are decommissioned.
//! - `absences`: Workers that are away; `strangers`: hostile peers.

pub(super) mod absences;
pub(super) mod busy_master;
pub(super) mod disks;
pub(super) mod election;
pub(super) mod leaving;
pub(super) mod partitions;
pub(super) mod shortages;
pub(super) mod stalls;
mod strangers;
mod strikes;

use firesteel_sim::dice::Dice;

/// A fault in a simulated cluster, or an unusual action of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("fault")]
pub enum Fault {
    /// A connection is cut. Messages in transit are lost, and the two sides notice at different times.
    CutLink,
    /// A connection between an executor and its driver is cut.
    CutExecutorLink,
    /// A connection is cut, and one side notices only a minute or two later.
    HalfOpenLink,
    /// A cut connection lost a message in transit.
    MessageLost,
    /// A dial is refused although the target listens.
    ConnectRefused,
    /// A dial is not answered for seconds.
    ConnectTimesOut,
    /// A connection delays every message by up to 400 ms.
    SlowLink,
    /// An executor's process takes seconds to start.
    ExecutorStartsLate,
    /// An executor's process cannot be started.
    ExecutorCannotStart,
    WorkerCannotStart,
    /// An executor's process fails within milliseconds, before it connects to its driver.
    ExecutorCrashesAtOnce,
    /// An executor's process returns 0 before it connects to its driver.
    ExecutorExitsZero,
    /// An executor's process never connects to its driver and never ends.
    ExecutorHangs,
    /// An executor's process ignores SIGTERM.
    ExecutorIgnoresTerminate,
    /// An executor's process is paused, for some time or for good.
    ExecutorStandsStill,
    /// An executor's process dies after it has begun to work.
    ExecutorCrashesLater,
    /// A Worker's fetch of an application's files takes seconds.
    SlowFetch,
    /// A Worker cannot fetch an application's files.
    FetchFails,
    /// A task returns a code other than 0.
    TaskFails,
    /// A task's program does not exist.
    TaskCannotStart,
    TaskHangs,
    TaskIgnoresTerminate,
    /// A task's output is larger than its credit, and the task is blocked.
    OutputBeyondCredit,
    /// A Worker dies without notice.
    WorkerCrash,
    WorkerShutdown,
    /// A driver dies without notice.
    DriverCrash,
    /// A user cancels an application.
    DriverCancel,
    TaskCancel,
    /// A user asks for the state of a driver, or why there are fewer executors than requested.
    Question,
    /// The Master dies without notice and restarts, from its records or with empty tables.
    MasterCrash,
    /// A write of the Master to its disk takes seconds.
    SlowSync,
    /// A write of the Master to its disk fails, and the Master ends.
    SyncFails,
    /// The Master dies when its records are durable, but their effects are not performed yet.
    WrittenUntold,
    /// A leader loses its connection to the election service, but not to its peers, until another Master leads.
    LeaderCutOff,
    /// A leader's process is paused until its lease has ended, and perhaps until another Master leads.
    LeaderPaused,
    /// A leader's messages are held up until the leader is deposed.
    HeldUp,
    /// A former leader receives a message after another Master has begun to lead.
    FormerLeaderHears,
    /// A connection to a Master is accepted seconds late.
    SlowConnect,
    /// A Master's hello on a new connection arrives seconds late.
    LateHello,
    /// A former leader's hello arrives at a peer that has already met a later leader.
    FormerLeaderMet,
    /// A message of a former leader arrives after the next leader has begun.
    FormerLeaderHeard,
    /// The Master handles messages more slowly than they arrive.
    BusyMaster,
    /// A Worker cannot start an executor because its disk is full.
    DiskFull,
    /// An executor cannot start a task because its machine has too few processes left.
    TaskMeetsShortage,
    /// A Worker cannot start a process because its machine has too few processes left.
    WorkerMeetsShortage,
    /// No message of the Master reaches a Worker for some time.
    Stall,
    /// No message passes between two parties for some time, in one direction or in both.
    Partition,
    /// A machine's deadline comes late.
    LateDeadline,
    /// A machine's deadline comes early.
    EarlyDeadline,
    /// An application changes its targets.
    RequestExecutors,
    KillExecutors,
    /// A hostile peer pretends to be a Worker.
    HostileWorker,
    /// A hostile peer pretends to be a driver.
    HostileDriver,
    /// A hostile peer pretends to be an executor and connects to a driver.
    HostileExecutor,
    /// A status client sends a request to a Master or a Worker.
    StatusClient,
    /// A hostile peer pretends to be the Master of a Worker.
    HostileMaster,
    /// A hostile peer pretends to be an executor that has not registered yet, and floods its driver with output.
    Impostor,
    /// The Master tells a Worker to register again, for no reason.
    OddOrder,
    /// An order to launch an executor arrives twice.
    RepeatedOrder,
}

/// The faults that occur by themselves, each with its weight. The other faults affect a connection, a start or a task
/// in progress.
const STRIKES: [(Fault, u64); 21] = [
    (Fault::CutLink, 12),
    (Fault::CutExecutorLink, 10),
    (Fault::HalfOpenLink, 5),
    (Fault::ExecutorStandsStill, 4),
    (Fault::WorkerCrash, 5),
    (Fault::WorkerShutdown, 2),
    (Fault::DriverCrash, 1),
    (Fault::DriverCancel, 3),
    (Fault::TaskCancel, 6),
    (Fault::Question, 4),
    (Fault::MasterCrash, 2),
    (Fault::EarlyDeadline, 10),
    (Fault::RequestExecutors, 5),
    (Fault::KillExecutors, 6),
    (Fault::HostileWorker, 4),
    (Fault::HostileDriver, 5),
    (Fault::HostileExecutor, 4),
    (Fault::StatusClient, 2),
    (Fault::HostileMaster, 2),
    (Fault::Impostor, 3),
    (Fault::OddOrder, 2),
];

#[derive(Clone, Debug)]
pub struct FaultPlan {
    /// The time after the start at which all faults stop, in milliseconds.
    pub until: u64,
    /// The average time between two faults, in milliseconds. `None`: no fault occurs by itself.
    pub strike_every: Option<u64>,
    /// One in this many connection attempts fails. 0 means never. The fields below count in the same way.
    pub dial: u64,
    /// One in this many executor processes is faulty.
    pub executor: u64,
    /// One in this many deadlines comes late.
    pub deadline: u64,
    /// One in this many connections is slow.
    pub slow: u64,
}

impl FaultPlan {
    /// A plan without faults.
    #[must_use]
    pub fn calm() -> Self {
        Self { until: 0, strike_every: None, dial: 0, executor: 0, deadline: 0, slow: 0 }
    }

    /// A random plan, with few or many faults.
    pub fn rolled(dice: &mut Dice) -> Self {
        if dice.one_in(12) {
            return Self::calm();
        }
        Self {
            until: dice.between(20_000, 120_000),
            strike_every: (!dice.one_in(8)).then(|| dice.between(500, 12_000)),
            dial: *dice.pick(&[0, 3, 10, 30]),
            executor: *dice.pick(&[0, 2, 4, 8, 16]),
            deadline: *dice.pick(&[0, 4, 20]),
            slow: *dice.pick(&[0, 3, 10]),
        }
    }
}

impl Fault {
    /// A random fault that occurs by itself.
    pub(crate) fn rolled(dice: &mut Dice) -> Self {
        let mut left = dice.below(STRIKES.iter().map(|(_, weight)| weight).sum());
        for (fault, weight) in STRIKES {
            if left < weight {
                return fault;
            }
            left -= weight;
        }
        Self::CutLink
    }
}
