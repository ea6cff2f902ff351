//! Counts what a Master's daemon does for one message, from its bytes to the bytes of the journal and of all answers.

use bytes::{Bytes, BytesMut};
use firesteel_master::{Config, Durability, Effect, Event, Inbound, Master, Outbound, Record};
use firesteel_protocol::Machine;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::{DriverToMaster, ExecutorReport, ExecutorState, WorkerToMaster};
use firesteel_protocol::wire::{self, MAX_FRAME};
use firesteel_testkit::master_events::{NOW, launches, registration, worker_registers};
use gungraun::{library_benchmark, library_benchmark_group};
use serde::Serialize;

use super::bound;

const DRIVER: PeerId = PeerId(1 << 32);

/// A Master with a journal and 1,000 Workers.
fn master() -> Master {
    let mut master = Master::new(Config { durability: Durability::Durable, ..Config::default() });
    for n in 0..1_000 {
        master.apply(NOW, worker_registers(n));
    }
    master
}

fn body(message: &impl Serialize) -> Bytes {
    wire::encode(message, MAX_FRAME).expect("it is short")
}

fn sixteen_asked() -> (Master, Bytes) {
    let Event::Received { message: Inbound::Driver(message), .. } = registration(DRIVER, 16, 1) else {
        unreachable!("a driver registers");
    };
    (master(), body(&message))
}

fn one_of_sixteen_ends() -> (Master, PeerId, Bytes) {
    let mut master = master();
    let running = launches(&master.apply(NOW, registration(DRIVER, 16, 1)));
    assert_eq!(running.len(), 16);
    let (peer, executor) = running[0].clone();
    let report = ExecutorReport::new(executor, ExecutorState::Killed(None));
    (master, peer, body(&WorkerToMaster::ExecutorStateChanged(report)))
}

/// Applies a message and encodes all that follows from it. The bytes of the journal get their checksum.
fn serve(master: &mut Master, peer: PeerId, message: Inbound) -> (BytesMut, u32) {
    let (mut written, mut checksum) = (BytesMut::new(), 0);
    for effect in master.apply(NOW, Event::Received { peer, arrived: NOW, message }) {
        match effect {
            Effect::Persist(records) => {
                let mut batch = BytesMut::new();
                Record::append_all(&records, &mut batch);
                checksum = crc32fast::hash(&batch);
                written.unsplit(batch);
            }
            Effect::Send { message: Outbound::Worker(message), .. } => append(&message, &mut written),
            Effect::Send { message: Outbound::Driver(message), .. } => append(&message, &mut written),
            Effect::Send { message: Outbound::Client(message), .. } => append(&message, &mut written),
            Effect::Close { .. } | Effect::Probe { .. } | Effect::ReadLog { .. } | Effect::Note(_) => {}
        }
    }
    (written, checksum)
}

fn append(message: &impl Serialize, written: &mut BytesMut) {
    wire::append(message, written, MAX_FRAME).expect("it is short");
}

#[library_benchmark(config = bound("serve_16"), setup = sixteen_asked)]
#[bench::on_1_000()]
fn serve_16((mut master, body): (Master, Bytes)) -> (Master, (BytesMut, u32)) {
    let message: DriverToMaster = wire::decode(&body).expect("it was encoded");
    let written = serve(&mut master, DRIVER, Inbound::Driver(message));
    (master, written)
}

#[library_benchmark(config = bound("serve_end"), setup = one_of_sixteen_ends)]
#[bench::of_16()]
fn serve_end((mut master, peer, body): (Master, PeerId, Bytes)) -> (Master, (BytesMut, u32)) {
    let message: WorkerToMaster = wire::decode(&body).expect("it was encoded");
    let written = serve(&mut master, peer, Inbound::Worker(message));
    (master, written)
}

library_benchmark_group!(name = served; benchmarks = serve_16, serve_end);
