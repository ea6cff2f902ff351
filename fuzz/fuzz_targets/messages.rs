//! Frames and the journal: any bytes are a message or a record of each kind. What is read can be written, and read
//! again.
#![no_main]

use std::fmt::Debug;

use firesteel_master::Record;
use firesteel_protocol::messages::{
    ClientToMaster, ClientToWorker, DriverToExecutor, DriverToMaster, DriverToWorker, ExecutorToDriver,
    MasterToClient, MasterToDriver, MasterToWorker, WorkerToClient, WorkerToDriver, WorkerToMaster,
};
use firesteel_protocol::wire::{self, Hello};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|data: &[u8]| {
    again::<Hello>(data);
    again::<WorkerToMaster>(data);
    again::<MasterToWorker>(data);
    again::<DriverToMaster>(data);
    again::<MasterToDriver>(data);
    again::<ExecutorToDriver>(data);
    again::<DriverToExecutor>(data);
    again::<WorkerToDriver>(data);
    again::<DriverToWorker>(data);
    again::<ClientToMaster>(data);
    again::<MasterToClient>(data);
    again::<ClientToWorker>(data);
    again::<WorkerToClient>(data);
    again::<Record>(data);
});

fn again<M: Serialize + DeserializeOwned + PartialEq + Debug>(data: &[u8]) {
    let Ok(message) = wire::decode::<M>(data) else { return };
    let bytes = wire::encode(&message, usize::MAX).expect("there is no limit");
    assert_eq!(wire::length(&message), bytes.len());
    assert_eq!(wire::decode::<M>(&bytes).as_ref(), Ok(&message));
    // A later version has more fields in each struct.
    assert_eq!(
        wire::decode::<M>(&wire::encode_with_later_fields(&message, b"\x05later")).as_ref(),
        Ok(&message)
    );
}
