//! A connection of Spark's: frames, envelopes, Java objects. What can be read is written, and read as the same again;
//! and all frames come to the state machine of a connection, whose invariants hold after each. They come to both sides
//! of a handshake, too, which nobody passes who does not know the secret.

#![no_main]

use std::net::Ipv4Addr;

use bytes::BytesMut;
use firesteel_master::{Inbound, Outbound};
use firesteel_placement::Cores;
use firesteel_protocol::ids::{AppId, ExecutorId};
use firesteel_protocol::messages::{MasterToDriver, MasterToWorker, WorkerToMaster};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::{Machine, Timestamp};
use firesteel_spark::authentication::encryption::{Cipher, Engine, Version};
use firesteel_spark::authentication::initiator::{self, Mechanism};
use firesteel_spark::authentication::responder::{self, Accepted};
use firesteel_spark::authentication::{Initiator, LONGEST_FRAME, Random, Responder};
use firesteel_spark::connection::{Connection, Effect, Event, Limits, PeerEnd};
use firesteel_spark::envelope::{Address, Envelope};
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{self, Bounds, Node};
use firesteel_spark::messages::{self, FromDriver, Message, ToDriver};
use firesteel_spark::scala;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    object(bytes);
    handshake(bytes);
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

/// Both sides of a handshake, told by somebody who does not know the secret.
fn handshake(bytes: &[u8]) {
    const RANDOM: Random =
        Random { nonce: [1; 30], private: [2; 32], salt: [3; 16], iv: [4; 12], seed: [5; 32] };
    let secret = Secret::new("0123456789abcdef");
    let mut responder = Responder::new(Accepted::All, RANDOM);
    let aes = Mechanism::Aes(Engine { version: Version::V1, cipher: Cipher::Gcm });
    let mut initiators =
        [Mechanism::Sasl, aes].map(|mechanism| Initiator::begin(mechanism, secret.clone(), RANDOM).0);
    let mut left = BytesMut::from(bytes);
    while let Ok(Some(frame)) = Frame::decode(&mut left, LONGEST_FRAME) {
        let answer = responder.receive(&frame, std::slice::from_ref(&secret));
        assert!(!matches!(answer, Ok(responder::Step::Proven(_))));
        for initiator in &mut initiators {
            assert!(!matches!(initiator.receive(&frame), Ok(initiator::Step::Proven(_))));
        }
    }
}

/// Tells a connection of an event, and performs its effects: the Master accepts everybody, and dismisses Workers that
/// report.
fn tell(connection: &mut Connection, event: Event) {
    let effects = connection.apply(Timestamp::from_millis(0), event);
    connection.check().expect("the invariants hold");
    for effect in effects {
        let event = match effect {
            Effect::Register { channel, .. } => {
                let (app, master_url) = (AppId::new("app-1"), String::new());
                let (max_cores, first_executor, mark) = (Cores(1), ExecutorId(0), None);
                let message = MasterToDriver::RegisteredApplication {
                    app,
                    master_url,
                    max_cores,
                    first_executor,
                    mark,
                };
                Event::Outgoing { channel, message: Outbound::Driver(message) }
            }
            Effect::Say {
                channel, message: Inbound::Worker(WorkerToMaster::RegisterWorker { .. }), ..
            } => {
                let (master_url, heartbeat_millis, duplicate) = (String::new(), 15_000, false);
                let message = MasterToWorker::RegisteredWorker {
                    master_url,
                    heartbeat_millis,
                    duplicate,
                    web_address: None,
                    mark: None,
                };
                Event::Outgoing { channel, message: Outbound::Worker(message) }
            }
            Effect::Say {
                channel,
                message: Inbound::Worker(WorkerToMaster::ExecutorStateChanged(_)),
                ..
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
