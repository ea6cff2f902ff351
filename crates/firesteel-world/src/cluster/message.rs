//! Any message that crosses a link.

use firesteel_core::messages::{
    ClientToMaster, ClientToWorker, DriverToExecutor, DriverToMaster, ExecutorToDriver, MasterToClient,
    MasterToDriver, MasterToWorker, WorkerToClient, WorkerToMaster,
};
use firesteel_core::{driver, master, worker};

/// A message, whoever sends it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    /// From a Worker to its Master.
    WorkerToMaster(WorkerToMaster),
    /// From the Master to a Worker.
    MasterToWorker(MasterToWorker),
    /// From a driver to its Master.
    DriverToMaster(DriverToMaster),
    /// From the Master to a driver.
    MasterToDriver(MasterToDriver),
    /// From a status client to a Master.
    ClientToMaster(ClientToMaster),
    /// From a Master to a status client.
    MasterToClient(MasterToClient),
    /// From a status client to a Worker.
    ClientToWorker(ClientToWorker),
    /// From a Worker to a status client.
    WorkerToClient(WorkerToClient),
    /// From an executor to its driver.
    ExecutorToDriver(ExecutorToDriver),
    /// From a driver to an executor.
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
