//! A connection of Spark's: frames, envelopes, Java objects. What can be read is written, and read as the same again.

#![no_main]

use bytes::BytesMut;
use firesteel_spark::envelope::{Address, Envelope};
use firesteel_spark::frame::Frame;
use firesteel_spark::java::{self, Bounds, Node};
use firesteel_spark::messages::{self, FromDriver, Message, ToDriver};
use firesteel_spark::scala;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    object(bytes);
    let mut left = BytesMut::from(bytes);
    while let Ok(Some(frame)) = Frame::decode(&mut left, 1 << 20) {
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
});

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
