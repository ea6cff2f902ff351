//! The messages that pass over connections, of any sender.

use firesteel_engine::driver;
use firesteel_master as master;
use firesteel_protocol::messages::{
    ClientToMaster, ClientToWorker, DriverToExecutor, DriverToMaster, ExecutorToDriver, MasterToClient,
    MasterToDriver, MasterToWorker, WorkerToClient, WorkerToMaster,
};
use firesteel_worker as worker;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    WorkerToMaster(WorkerToMaster),
    MasterToWorker(MasterToWorker),
    DriverToMaster(DriverToMaster),
    MasterToDriver(MasterToDriver),
    ClientToMaster(ClientToMaster),
    MasterToClient(MasterToClient),
    ClientToWorker(ClientToWorker),
    WorkerToClient(WorkerToClient),
    ExecutorToDriver(ExecutorToDriver),
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
