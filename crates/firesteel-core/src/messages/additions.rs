//! Which version of the protocol added which messages, and what messages share.
//!
//! A later version adds messages: variants at the end of the enum of a pair. Nothing inside an older message changes.

use super::{
    ClientToMaster, ClientToWorker, DriverToExecutor, DriverToMaster, DriverToWorker, ExecutorToDriver,
    MasterToClient, MasterToDriver, WorkerToClient, WorkerToDriver, WorkerToMaster,
};
use crate::wire::Message;

impl Message for ClientToMaster {}
impl Message for ClientToWorker {}
impl Message for DriverToExecutor {}
impl Message for DriverToMaster {}
impl Message for DriverToWorker {}
impl Message for ExecutorToDriver {}
impl Message for MasterToClient {}
impl Message for MasterToDriver {}
impl Message for WorkerToClient {}
impl Message for WorkerToDriver {}
impl Message for WorkerToMaster {}
