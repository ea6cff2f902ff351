//! The machines' remarks, by name.

use firesteel_core::{driver, executor, launcher, master, worker};

use super::kind::kinds;

kinds!("master note", master::Note: WorkerRegistered WorkerReconnected WorkerLeaving WorkerRefused WorkerRemoved
    ApplicationRegistered ApplicationRefused ApplicationRemoved Reserved GangNeverFits ExecutorPreempted ExecutorLaunched ExecutorEnded RelaunchDelayed
    UnknownExecutor Inconsistent Ignored);
kinds!("worker note", worker::Note: Registered MasterLost MasterUnreachable MasterSilent MasterHungUp Refused
    NextRound AskedToReconnect NotMyMaster LaunchRepeated FetchingFiles FilesFetched FilesFailed StrayFetch ExecutorStarted ExecutorEnded KillAsked KillUnknown
    GraceOver UnknownRunner EndForgotten DirectoriesRemoved ShuttingDown ShutdownForced LeftBehind);
kinds!("driver note", driver::Note: MasterUnreachable Registered MasterLost ExecutorAdded ExecutorRegistered
    ExecutorRefused ExecutorAbsent ExecutorLost TargetSet TargetIsDynamic IdleExecutorsKilled ExecutorsKilled KillUnknown ProfileUnknown ProfileRefused
    RequestRefused WorkerRemoved TaskFailed Excluded Readmitted HostsReadmitted TaskTooLarge NeverFits NoExecutor CreditExceeded
    UnexpectedMessage UnexpectedTask);
kinds!("launcher note", launcher::Note: MasterUnreachable Registered MasterLost ExecutorLaunched ExecutorRunning
    ExecutorEnded WorkerRemoved FewerThanAsked Ending LeftBehind UnexpectedMessage);
kinds!("executor note", executor::Note: Registered RepeatedLaunch TooFewCores GraceOver);
