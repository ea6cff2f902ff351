//! A process that the Worker was ordered to start: an executor or a cluster driver.

use firesteel_protocol::ids::{DriverId, ExecutorKey};

/// A process that the Worker was ordered to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    Executor(ExecutorKey),
    Driver(DriverId),
}
