//! A driver that speaks only to its Master: its executors run any command.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use firesteel_placement::{Cores, ExecutorLimit, MiB};
use firesteel_protocol::ids::{AppId, ExecutorId};
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToMaster, ExecutorState, MasterToDriver, Placing, ResourceProfile,
    Submitter, WantedExecutors, Work,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::wire::{self, Hello, MAX_FRAME, MAX_HELLO, PREAMBLE, Role};
use firesteel_testkit::DEADLINE;

use crate::peers::wire::frame;

#[derive(Debug)]
pub(crate) struct Driver {
    stream: TcpStream,
    /// The id that the Master gave it.
    pub(crate) app: AppId,
}

/// An application with executors of 1 core and 64 MiB that run a shell script.
pub(crate) fn script(script: &str, executors: u64) -> ApplicationDescription {
    ApplicationDescription::new(
        Submitter::new("a test", "tester"),
        WantedExecutors {
            profile: ResourceProfile {
                cores: Some(Cores(1)),
                memory: Some(MiB(64)),
                resources: Default::default(),
            },
            limit: ExecutorLimit::AtMost(executors),
            ..WantedExecutors::default()
        },
        Placing::default(),
        Work::of(Command {
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: [("TEST_PASSWORD", "hunter2"), ("TEST_COLOUR", "red")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        }),
    )
}

impl Driver {
    pub(crate) fn register(master: SocketAddr, application: ApplicationDescription) -> Self {
        let mut stream = TcpStream::connect(master).expect("a Master listens");
        introduce(&mut stream);

        let mut driver = Self { stream, app: AppId::new("") };
        driver.send(&DriverToMaster::RegisterApplication(Box::new(application)));
        match driver.next() {
            MasterToDriver::RegisteredApplication { app, .. } => driver.app = app,
            other => panic!("{other:?}"),
        }
        driver
    }

    pub(crate) fn send(&mut self, message: &DriverToMaster) {
        write_frame(&mut self.stream, &wire::encode(message, MAX_FRAME).expect("it is short"));
    }

    /// The Master's next message.
    pub(crate) fn next(&mut self) -> MasterToDriver {
        wire::decode(&read_frame(&mut self.stream)).expect("a message")
    }

    pub(crate) fn until(
        &mut self,
        mut wanted: impl FnMut(&ExecutorState) -> bool,
    ) -> (ExecutorId, ExecutorState) {
        loop {
            if let MasterToDriver::ExecutorUpdated { executor, state, .. } = self.next()
                && wanted(&state)
            {
                return (executor, state);
            }
        }
    }
}

/// Performs the handshake as a driver, on a connection of either direction.
pub(crate) fn introduce(stream: &mut TcpStream) {
    introduce_as(stream, Role::Driver, "test");
}

/// Performs the handshake with this role and name.
pub(crate) fn introduce_as(stream: &mut TcpStream, role: Role, name: &str) {
    stream.set_read_timeout(Some(DEADLINE)).expect("a socket has time-outs");
    let hello = Hello::new(role, name);
    stream.write_all(&PREAMBLE).expect("the preamble can be sent");
    write_frame(stream, &wire::encode(&hello, MAX_HELLO).expect("it is short"));
    let mut preamble = [0; PREAMBLE.len()];
    stream.read_exact(&mut preamble).expect("a preamble");
    assert_eq!(preamble, PREAMBLE);
    let _: Hello = wire::decode(&read_frame(stream)).expect("a hello");
}

pub(crate) fn write_frame(stream: &mut TcpStream, body: &[u8]) {
    stream.write_all(&frame(body)).expect("a frame can be sent");
}

pub(crate) fn read_frame(stream: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 12];
    stream.read_exact(&mut header).expect("a frame in time");
    let length = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).expect("the rest of the frame");
    assert_eq!(frame(&body)[..12], header, "the checksums are right");
    body
}
