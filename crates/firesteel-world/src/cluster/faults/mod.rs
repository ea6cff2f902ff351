//! The faults of a simulated cluster, and how often they strike.
//!
//! - [`Fault`], [`FaultPlan`]: each kind of fault, and how often it strikes; `strikes`: faults that strike by themselves.
//! - `disks`, `shortages`, `stalls`, `partitions`, `busy_master`: spells during which something does not work.
//! - `election`, `leaving`: leaders that are deposed, and Workers that are asked to leave.
//! - `strangers`: hostile peers.

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

/// A fault in a simulated cluster, or an action of an unusual peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Kind)]
#[kind("fault")]
pub enum Fault {
    /// A connection is cut. Messages on their way are lost, and the two sides learn of it at different
    /// times.
    CutLink,
    /// A connection is cut, and one side learns of it a minute or two later.
    HalfOpenLink,
    /// A message was on its way on a connection that was cut.
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
    /// A Worker cannot start any executor.
    WorkerCannotStart,
    /// An executor's process fails within milliseconds, before it dials its driver.
    ExecutorCrashesAtOnce,
    /// An executor's process returns 0 before it dials its driver.
    ExecutorExitsZero,
    /// An executor's process never dials its driver and never ends.
    ExecutorHangs,
    /// An executor's process ignores SIGTERM.
    ExecutorIgnoresTerminate,
    /// An executor's process stands still, for a while or for good.
    ExecutorStandsStill,
    /// An executor's process dies at work.
    ExecutorCrashesLater,
    /// A Worker's fetch of an application's files takes seconds.
    SlowFetch,
    /// A Worker cannot fetch an application's files.
    FetchFails,
    /// A task returns a code other than 0.
    TaskFails,
    /// A task's program does not exist.
    TaskCannotStart,
    /// A task never ends.
    TaskHangs,
    /// A task ignores SIGTERM.
    TaskIgnoresTerminate,
    /// A task has more output than credit, and waits.
    OutputBeyondCredit,
    /// A Worker dies without notice.
    WorkerCrash,
    /// A Worker is asked to end.
    WorkerShutdown,
    /// A driver dies without notice.
    DriverCrash,
    /// A user cancels an application.
    DriverCancel,
    /// A user cancels one task.
    TaskCancel,
    /// A user asks for the state, or why there are fewer executors than requested.
    Question,
    /// The Master dies without notice and comes back, with what it has written down or with empty tables.
    MasterCrash,
    /// A write of the Master's to its disk takes seconds.
    SlowSync,
    /// A write of the Master's to its disk fails, and the Master ends.
    SyncFails,
    /// The Master dies after it has written something down, before it tells anybody.
    WrittenUntold,
    /// A leader loses the election service and keeps its peers, until another Master leads.
    LeaderCutOff,
    /// A leader's process stands still until its tenure is over, and maybe until another Master leads.
    LeaderPaused,
    /// What a leader says is held up until it is deposed.
    HeldUp,
    /// A former leader hears a peer after another one has begun to lead.
    FormerLeaderHears,
    /// A dial to a Master is accepted seconds late.
    SlowConnect,
    /// What a Master says of itself on a new connection comes seconds late.
    LateHello,
    /// What a Master said of itself comes after its peer has met a later leader.
    FormerLeaderMet,
    /// A message of a former leader arrives after the next one has begun.
    FormerLeaderHeard,
    /// The Master handles messages slower than they come.
    BusyMaster,
    /// A Worker cannot start an executor because its disk is full.
    DiskFull,
    /// An executor cannot start a task because its machine is short of processes.
    TaskMeetsShortage,
    /// A Worker cannot start anything because its machine is short of processes.
    WorkerMeetsShortage,
    /// For a while nothing that the Master sends reaches a Worker.
    Stall,
    /// For a while nothing passes between two parties, in one direction or in both.
    Partition,
    /// A machine's deadline comes late.
    LateDeadline,
    /// A machine's deadline comes early.
    EarlyDeadline,
    /// An application changes its targets.
    RequestExecutors,
    /// An application ends some of its executors.
    KillExecutors,
    /// A stranger acts as a Worker.
    HostileWorker,
    /// A stranger acts as a driver.
    HostileDriver,
    /// A stranger acts as an executor and dials a driver.
    HostileExecutor,
    /// A status client asks a Master or a Worker.
    StatusClient,
    /// A stranger acts as the Master of a Worker.
    HostileMaster,
    /// A stranger takes the place of an executor that has not registered yet, and floods its driver with
    /// output.
    Impostor,
    /// The Master orders a Worker to register again for no reason.
    OddOrder,
    /// An order to launch an executor comes twice.
    RepeatedOrder,
}

/// The faults that strike by themselves, each with its weight. The other faults affect something under way:
/// a dial, a start, a task.
const STRIKES: [(Fault, u64); 20] = [
    (Fault::CutLink, 12),
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

/// How often faults strike.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    /// The time after the start at which all faults stop, in milliseconds.
    pub until: u64,
    /// The average time between two strikes, in milliseconds. `None`: no fault strikes by itself.
    pub strike_every: Option<u64>,
    /// One dial in this many fails; 0 means never. The fields below count in the same way.
    pub dial: u64,
    /// One executor's process in this many is faulty.
    pub executor: u64,
    /// One deadline in this many comes late.
    pub deadline: u64,
    /// One connection in this many is slow.
    pub slow: u64,
}

impl FaultPlan {
    /// A plan without faults.
    #[must_use]
    pub fn calm() -> Self {
        Self { until: 0, strike_every: None, dial: 0, executor: 0, deadline: 0, slow: 0 }
    }

    /// A random plan, from calm to rough.
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
    /// A random fault that strikes by itself.
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
