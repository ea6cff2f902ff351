//! The messages between the state machines. There is one file for each pair of machines. The names are Spark's.
//!
//! The order of fields and variants is part of the protocol (see [`crate::wire`]) and never changes. New variants are
//! added at the end of an enum, and new fields at the end of a variant or struct.

mod application;
mod client;
mod cluster_driver;
mod decommission;
mod description;
mod driver_executor;
mod driver_master;
mod executor;
mod files;
mod history;
mod logs;
mod outcome;
mod report;
mod reserved_room;
mod shared;
mod state;
mod state_mark;
mod totals;
mod worker_master;

pub use application::{
    ApplicationAnswer, ApplicationDetail, Blocker, ClusterView, EarlyEnd, ExcludedWorker, Holder,
    ImpairedWorker, KillAnswer, LateWorker, MOST_EXCLUDED, MOST_HOLDERS, MOST_KEPT, ProfileView,
    SchedulingStatus,
};
pub use client::{
    ApplicationState, ApplicationView, ClientToMaster, ClientToWorker, ExecutorView, Impairment,
    JoiningToMaster, LONGEST_HOST, MasterToClient, MasterToJoining, MasterView, Requester, Rights,
    RunningDriver, RunningExecutor, WaitingMachine, WorkerState, WorkerToClient, WorkerView,
    WorkerViewOfItself, number,
};
pub use cluster_driver::{
    DRIVER_NAME, DriverDescription, DriverError, DriverLaunch, DriverLocation, DriverReport, DriverRestarts,
    DriverState, DriverView, DriverWait, KillDriverAnswer, RefusedDriver, SubmitDriverAnswer,
};
pub use decommission::{DecommissionAnswer, LeavingWorker, MOST_LEAVING};
pub use description::{ApplicationDescription, Placing, Submitter, UnsoundGang, WantedExecutors, Work};
pub use driver_executor::{
    DriverToExecutor, ExecutorToDriver, HeartbeatRules, RefusedExecutor, Stream, TaskDirectory, TaskEnd,
    TaskSpec, TaskState,
};
pub use driver_master::{
    ApplicationEnd, DriverToMaster, ExecutorTarget, HostPreferences, MOST_PREFERRED, MOST_PROFILES,
    MOST_ROWS, MasterToDriver, Relaunch, ResourceProfile, Resumption, UnsoundProfile, limit_after_final_end,
};
pub use executor::{ExecutorState, LossReason};
pub use files::{
    ApplicationFiles, ArchiveFormat, DriverToWorker, FileDescription, FileKind, MAX_CHUNK, MOST_FILES,
    Sha256, UnsoundFiles, WorkerToDriver, is_file_name,
};
pub use history::{
    ExceededLimit, HistoryCursor, HistoryPage, MOST_PAST_EXECUTORS, PastApplication, PastNumber, PastRow,
    Used,
};
pub use logs::{
    DriverLogRequest, LogAddress, LogAuthor, LogPiece, LogRange, LogRequest, LogStart, RefusedLog,
};
pub use outcome::{Outcome, OutcomeWords};
pub use report::{
    Departure, DepartureCause, DiskSpace, MachineUsage, TimedReport, Usage, WorkerRemark, WorkerReport,
    is_web_address, sum,
};
pub use reserved_room::ReservedRoom;
pub use shared::Shared;
pub use state::{PageSize, StateCursor, StateHead, StatePage, StateRow, StateTotals};
pub use state::{Step, page};
pub use state_mark::{GivenNumbers, MOST_STATES, RunId, StateId, StateMark};
pub use totals::{ClusterTotals, ShareState, WorkerShare};
pub use worker_master::{
    Bounded, ExecutorLaunch, ExecutorReport, ExecutorWork, MOST_CORES, MasterToWorker, Offered,
    RefusedRegistration, WorkerDescription, WorkerToMaster,
};
