//! The messages that cross links, of any sender.

use firesteel_engine::driver;
use firesteel_master as master;
use firesteel_protocol::messages::{
    ClientToMaster, ClientToWorker, DriverToExecutor, DriverToMaster, ExecutorToDriver, MasterToClient,
    MasterToDriver, MasterToWorker, WorkerToClient, WorkerToMaster,
};
use firesteel_worker as worker;

/// A message of any sender.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    /// A message from a Worker to its Master.
    WorkerToMaster(WorkerToMaster),
    /// A message from the Master to a Worker.
    MasterToWorker(MasterToWorker),
    /// A message from a driver to its Master.
    DriverToMaster(DriverToMaster),
    /// A message from the Master to a driver.
    MasterToDriver(MasterToDriver),
    /// A message from a status client to a Master.
    ClientToMaster(ClientToMaster),
    /// A message from a Master to a status client.
    MasterToClient(MasterToClient),
    /// A message from a status client to a Worker.
    ClientToWorker(ClientToWorker),
    /// A message from a Worker to a status client.
    WorkerToClient(WorkerToClient),
    /// A message from an executor to its driver.
    ExecutorToDriver(ExecutorToDriver),
    /// A message from a driver to an executor.
    DriverToExecutor(DriverToExecutor),
}

impl From<master::Outbound> for Message {
    fn from(message: master::Outbound) -> Self {
        match message {
            master::Outbound::Worker(message) => Self::MasterToWorker(message),
            master::Outbound::Driver(message) => Self::MasterToDriver(message),
            master::Outbound::Client(message) => Self::MasterToClient(message),
        }
    }
}

impl From<worker::Outbound> for Message {
    fn from(message: worker::Outbound) -> Self {
        match message {
            worker::Outbound::Master(message) => Self::WorkerToMaster(message),
            worker::Outbound::Client(message) => Self::WorkerToClient(message),
        }
    }
}

impl From<driver::Outbound> for Message {
    fn from(message: driver::Outbound) -> Self {
        match message {
            driver::Outbound::Master(message) => Self::DriverToMaster(message),
            driver::Outbound::Executor(message) => Self::DriverToExecutor(message),
        }
    }
}
