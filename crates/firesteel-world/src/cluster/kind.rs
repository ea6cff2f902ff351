//! The variants of an enum, by name: what a run must have seen of each.

use firesteel_core::messages::{
    ApplicationEnd, ClientToMaster, ClientToWorker, DriverToExecutor, DriverToMaster, ExecutorState,
    ExecutorToDriver, LossReason, MasterToClient, MasterToDriver, MasterToWorker, RefusedExecutor,
    RefusedLog, RefusedRegistration, TaskEnd, TaskState, WorkerToClient, WorkerToMaster,
};
use firesteel_core::{driver, executor, launcher, master, worker};

/// An enum whose variants have names.
pub trait Kind {
    /// The enum's name.
    const ENUM: &'static str;
    /// The variants' names.
    const NAMES: &'static [&'static str];

    /// Which variant this is: an index into [`NAMES`](Self::NAMES).
    fn index(&self) -> usize;

    /// Its name.
    fn name(&self) -> &'static str {
        Self::NAMES[self.index()]
    }
}

/// Names the variants of an enum. A variant that is not listed is a compile error.
macro_rules! kinds {
    ($name:literal, $type:ty: $($variant:ident)+) => {
        impl $crate::cluster::kind::Kind for $type {
            const ENUM: &'static str = $name;
            const NAMES: &'static [&'static str] = &[$(stringify!($variant)),+];

            fn index(&self) -> usize {
                #[allow(clippy::enum_variant_names, reason = "the names are those of the enum that is counted")]
                enum Index { $($variant),+ }
                match self { $(Self::$variant { .. } => Index::$variant as usize),+ }
            }
        }
    };
}
pub(crate) use kinds;

kinds!("WorkerToMaster", WorkerToMaster: RegisterWorker Heartbeat WorkerDecommissioning
    ExecutorStateChanged);
kinds!("MasterToWorker", MasterToWorker: RegisteredWorker RegisterWorkerFailed ReconnectWorker LaunchExecutor
    KillExecutor ApplicationFinished ExecutorEndNoted);
kinds!("DriverToMaster", DriverToMaster: RegisterApplication UnregisterApplication RequestExecutors
    KillExecutors PreferHosts RequestShortfall);
kinds!("MasterToDriver", MasterToDriver: RegisteredApplication ExecutorAdded ExecutorUpdated WorkerRemoved
    ApplicationRemoved ExecutorsGone ExecutorsRequested ExecutorsKilled Shortfalls);
kinds!("ClientToMaster", ClientToMaster: RequestMasterState RequestApplication KillApplication);
kinds!("MasterToClient", MasterToClient: MasterStateResponse ApplicationResponse
    KillApplicationResponse);
kinds!("ClientToWorker", ClientToWorker: RequestWorkerState RequestLog);
kinds!("WorkerToClient", WorkerToClient: WorkerStateResponse LogResponse RequestLogFailed);
kinds!("ExecutorToDriver", ExecutorToDriver: RegisterExecutor StatusUpdate TaskOutput);
kinds!("DriverToExecutor", DriverToExecutor: RegisteredExecutor RegisterExecutorFailed LaunchTask KillTask
    OutputCredit StopExecutor);

kinds!("ExecutorState", ExecutorState: Launching Running Killed Failed Lost Exited);
kinds!("LossReason", LossReason: Disconnected HeartbeatTimeout LaunchLost Preempted Container OverMemory);
kinds!("ApplicationEnd", ApplicationEnd: Finished DriverLost ExecutorsFailed Killed GivenUp Refused);
kinds!("RefusedRegistration", RefusedRegistration: UnsoundId SameAddress UnsoundSize);
kinds!("RefusedExecutor", RefusedExecutor: OtherApplication NumberTaken TooManyAddresses Stopping);
kinds!("RefusedLog", RefusedLog: UnsoundId OneAtATime NoLog Unreadable);
kinds!("TaskState", TaskState: Running Ended);
kinds!("TaskEnd", TaskEnd: Exited Killed NotStarted);

kinds!("master event", master::Event: Received Disconnected Deadline);
kinds!("master effect", master::Effect: Send Close Note);
kinds!("worker event", worker::Event: Start Connected ConnectFailed Received Disconnected FilesFetched FilesFailed
    RunnerStarted RunnerFailed RunnerExited StaleFound LogRead Shutdown Deadline);
kinds!("worker effect", worker::Effect: Connect Send Close FetchFiles RemoveFiles StartExecutor SignalExecutor
    CleanApplication FindStale RemoveDirectory ReadLog Exit Note);
kinds!("worker exit", worker::Exit: Shutdown NoMaster Refused);
kinds!("driver event", driver::Event: Start Connected ConnectFailed Received Disconnected Submit InputEnded
    AddProfile RequestExecutors KillExecutors OutputConsumed CancelTask Ask MastersMoved Removed
    Cancel Deadline);
kinds!("driver effect", driver::Effect: Connect Send Close Output DiscardOutput TaskEnded Answer Done NothingLeft
    Note);
kinds!("answer", driver::Answer: View Shortfalls NoMaster);
kinds!("task outcome", driver::TaskOutcome: Succeeded Failed Cancelled Unfit);
kinds!("unfit", driver::Unfit: TooLong NoSuchProfile TooFewAddresses NoSuchExecutor
    TooFewCores);
kinds!("application outcome", driver::Outcome: Completed Cancelled Removed NoMaster);
kinds!("launcher event", launcher::Event: Start Connected ConnectFailed Received Disconnected MastersMoved Removed End
    Deadline);
kinds!("launcher effect", launcher::Effect: Connect Send Close Note Done);
kinds!("launch outcome", launcher::Outcome: Met Asked Removed NoMaster);
kinds!("executor event", executor::Event: Start Connected ConnectFailed Received Disconnected TaskStarted
    TaskNotStarted TaskOutput TaskExited Shutdown Deadline);
kinds!("executor effect", executor::Effect: Connect Send StartTask AllowOutput DrainOutput SignalTask Exit
    Note);
kinds!("executor exit", executor::Exit: Stopped DriverLost DriverUnreachable Refused);
