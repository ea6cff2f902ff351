//! A connection of Spark's: frames, envelopes, Java objects. What can be read is written, and read as the same again;
//! and all frames come to the state machine of a connection, whose invariants hold after each.

#![no_main]

use std::net::Ipv4Addr;

use bytes::BytesMut;
use firesteel_protocol::ids::{AppId, ExecutorId};
use firesteel_master::{Inbound, Outbound};
use firesteel_protocol::messages::{MasterToDriver, MasterToWorker, WorkerToMaster};
use firesteel_protocol::{Machine, Timestamp};
use firesteel_placement::Cores;
use firesteel_spark::connection::{Connection, PeerEnd, Effect, Event, Limits};
use firesteel_spark::envelope::{Address, Envelope};
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{self, Bounds, Node};
use firesteel_spark::messages::{self, FromDriver, Message, ToDriver};
use firesteel_spark::scala;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    object(bytes);
    let limits = Limits { peers: 4, clients: 2, held: 2, pending: 4, executors: 8, questions: 16 };
    let mut connection = Connection::new(limits);
    tell(&mut connection, Event::Opened { remote: Ipv4Addr::LOCALHOST.into() });
    let mut left = BytesMut::from(bytes);
    while let Ok(Some(frame)) = Frame::decode(&mut left, 1 << 20) {
        tell(&mut connection, Event::Received(frame.clone()));
        match frame {
            Frame::Request { mut body, .. } | Frame::OneWay { mut body } => {
                if Envelope::decode(&mut body).is_ok() {
                    object(&body);
                }
            }
            Frame::Response { body, .. } => object(&body),
            Frame::Failure { .. } => {}
        }
    }
    tell(&mut connection, Event::Closed { error: None });
});

/// Tells a connection of an event, and performs its effects: the Master accepts everybody, and dismisses Workers that
/// report.
fn tell(connection: &mut Connection, event: Event) {
    let effects = connection.apply(Timestamp::from_millis(0), event);
    connection.check().expect("the invariants hold");
    for effect in effects {
        let event = match effect {
            Effect::Register { channel, .. } => {
                let (app, master_url) = (AppId::new("app-1"), String::new());
                let (max_cores, first_executor) = (Cores(1), ExecutorId(0));
                let message =
                    MasterToDriver::RegisteredApplication { app, master_url, max_cores, first_executor };
                Event::Outgoing { channel, message: Outbound::Driver(message) }
            }
            Effect::Say { channel, message: Inbound::Worker(WorkerToMaster::RegisterWorker { .. }), .. } => {
                let (master_url, heartbeat_millis, duplicate) = (String::new(), 15_000, false);
                let message = MasterToWorker::RegisteredWorker {
                    master_url,
                    heartbeat_millis,
                    duplicate,
                    web_address: None,
                };
                Event::Outgoing { channel, message: Outbound::Worker(message) }
            }
            Effect::Say {
                channel, message: Inbound::Worker(WorkerToMaster::ExecutorStateChanged(_)), ..
            } => Event::Dismissed { channel, dismissal: PeerEnd::InOrder },
            Effect::SayElsewhere { peer, .. } => Event::FoundNobody { peer },
            _ => continue,
        };
        tell(connection, event);
    }
}

fn object(bytes: &[u8]) {
    let Ok((graph, value)) = java::read(bytes, Bounds::default()) else { return };
    let written = java::write(&graph, value);
    let (again, root) = java::read(&written, Bounds::default()).expect("what was written can be read");
    assert_eq!(java::write(&again, root), written);
    let node = Node { graph: &graph, value };
    let _ = (scala::elements(node), scala::entries(node), scala::option(node), scala::enumeration_id(node));
    if let Ok(Message::Driver(FromDriver::RegisterApplication(registration))) = messages::read(bytes) {
        let master = Address { host: "master".to_owned(), port: 7077 };
        let answer = ToDriver::RegisteredApplication { app: "app-1".to_owned(), master };
        answer.write(&registration.dialect);
    }
}
