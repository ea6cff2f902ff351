//! The reasons for which a Worker has to be woken.

use firesteel_protocol::ids::{DriverId, ExecutorKey};
use firesteel_protocol::master_search::Due;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    Heartbeat,
    /// The search for a Master continues, or a Master did not answer in time.
    Registration(Due),
    /// The grace period of an executor is over.
    KillGrace(ExecutorKey),
    /// The grace period of a cluster driver is over.
    DriverKillGrace(DriverId),
    /// A supervised driver is to be started again.
    DriverPause(DriverId),
    /// A search for old directories is due.
    Cleaning,
    /// A check whether anything can be started is due.
    StartTry,
    Measurement,
    /// The time in which executors may end by themselves is over. The Worker was asked to leave.
    LeaveTimeout,
    /// Killed executors did not end in time, so the daemon ends without them.
    ShutdownTimeout,
}
