//! Executors and cluster drivers that a Worker runs for a Master with another state.

use std::collections::BTreeSet;

use firesteel_protocol::ids::{DriverId, ExecutorKey};

#[derive(Debug, Default)]
pub(crate) struct UnknownProcesses {
    pub(crate) executors: BTreeSet<ExecutorKey>,
    pub(crate) drivers: BTreeSet<DriverId>,
}

/// An executor or a cluster driver that belongs to another Master's state.
#[derive(Clone, Debug)]
pub(crate) enum UnknownProcess {
    Executor(ExecutorKey),
    Driver(DriverId),
}
