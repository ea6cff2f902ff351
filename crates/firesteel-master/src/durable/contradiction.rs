//! How a record can contradict the records before it.

use std::fmt;

use firesteel_protocol::ids::ExecutorId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contradiction {
    NoWorker(u64),
    NoApplication(u64),
    NoExecutor(u64, ExecutorId),
    /// It adds something that exists already.
    Twice,
    /// The Worker has no such addresses free.
    NoAddresses,
    NoProfile,
    /// The Worker or the application still has executors.
    HasExecutors,
    /// It names a cluster driver that does not exist, or does not run.
    NoDriver(u64),
    HasDrivers,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorker(worker) => write!(f, "there is no Worker {worker}"),
            Self::NoApplication(app) => write!(f, "there is no application {app}"),
            Self::NoExecutor(app, executor) => write!(f, "application {app} has no executor {executor}"),
            Self::Twice => f.write_str("what it adds is already there"),
            Self::NoAddresses => f.write_str("the Worker does not have these addresses free"),
            Self::NoProfile => f.write_str("the application does not have this resource profile"),
            Self::HasExecutors => f.write_str("it still has executors"),
            Self::NoDriver(driver) => {
                write!(f, "there is no cluster driver {driver} of which this can be true")
            }
            Self::HasDrivers => f.write_str("it still has cluster drivers"),
        }
    }
}
