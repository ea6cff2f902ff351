//! The reasons for which a Worker has to be woken.

use firesteel_protocol::ids::{DriverId, ExecutorKey};
use firesteel_protocol::master_search::Due;

/// Why the Worker has to be woken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A heartbeat is due.
    Heartbeat,
    /// The search for a Master goes on, or one that was asked had time enough.
    Registration(Due),
    /// The grace of an executor is over.
    KillGrace(ExecutorKey),
    /// The grace of a cluster driver is over.
    DriverKillGrace(DriverId),
    /// A supervised driver is to be started again.
    DriverPause(DriverId),
    /// A search for old directories is due.
    Cleaning,
    /// A try whether anything can be started is due.
    StartTry,
    /// A measurement of what is used is due.
    Measurement,
    /// The time is over in which executors may end by themselves, since the Worker was asked to leave.
    LeaveTimeout,
    /// Killed executors have not ended in time, and the daemon ends without them.
    ShutdownTimeout,
}
