//! What is wrong with a record that cannot be true after those before it.

use firesteel_protocol::ids::ExecutorId;

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum Contradiction {
    /// It names a Worker that is not there.
    #[display("there is no Worker {_0}")]
    NoWorker(u64),
    /// It names an application that is not there.
    #[display("there is no application {_0}")]
    NoApplication(u64),
    /// It names an executor that is not there.
    #[display("application {_0} has no executor {_1}")]
    NoExecutor(u64, ExecutorId),
    /// What it adds is there already.
    #[display("what it adds is already there")]
    Twice,
    /// The Worker has no such addresses free.
    #[display("the Worker does not have these addresses free")]
    NoAddresses,
    /// The application has no such resource profile.
    #[display("the application does not have this resource profile")]
    NoProfile,
    /// The Worker or the application still has executors.
    #[display("it still has executors")]
    HasExecutors,
    /// It names a cluster driver that is not there, or does not run.
    #[display("there is no cluster driver {_0} of which this can be true")]
    NoDriver(u64),
    /// The Worker still has cluster drivers.
    #[display("it still has cluster drivers")]
    HasDrivers,
}
