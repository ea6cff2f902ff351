//! The reasons why a Worker needs a call at its deadline.

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
    /// The pause of a supervised driver is over, so it is started again.
    DriverPause(DriverId),
    /// A search for old directories is due.
    Cleaning,
    /// A check whether anything can be started is due.
    StartTry,
    Measurement,
    /// The Worker was asked to leave, and the time is over in which executors may end by themselves.
    LeaveTimeout,
    /// Killed executors did not end in time, so the daemon ends without them.
    ShutdownTimeout,
}
