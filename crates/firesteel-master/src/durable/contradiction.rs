//! How a journal record can contradict the records before it.

use firesteel_protocol::ids::ExecutorId;

#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum Contradiction {
    #[display("there is no Worker {_0}")]
    NoWorker(u64),
    #[display("there is no application {_0}")]
    NoApplication(u64),
    #[display("application {_0} has no executor {_1}")]
    NoExecutor(u64, ExecutorId),
    /// The record adds something that already exists.
    #[display("what it adds is already there")]
    Twice,
    /// The Worker does not have these addresses free.
    #[display("the Worker does not have these addresses free")]
    NoAddresses,
    #[display("the application does not have this resource profile")]
    NoProfile,
    /// The Worker or the application still has executors.
    #[display("it still has executors")]
    HasExecutors,
    /// The record names a cluster driver that does not exist, or does not run.
    #[display("cluster driver {_0} is unknown, or is in a state that excludes this record")]
    NoDriver(u64),
    #[display("it still has cluster drivers")]
    HasDrivers,
}
