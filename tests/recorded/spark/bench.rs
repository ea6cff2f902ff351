//! A test bench for one connection: events go in, and effects come out.

use std::net::Ipv4Addr;

use firesteel_master::{Inbound, Outbound};
use firesteel_placement::Cores;
use firesteel_protocol::ids::AppId;
use firesteel_protocol::messages::{ClientToMaster, DriverToMaster, MasterToDriver, WorkerToMaster};
use firesteel_protocol::{Machine, Timestamp};
use firesteel_spark::OrderForms;
use firesteel_spark::connection::{Channel, Connection, Effect, Event, Limits, Note};
use firesteel_spark::frame::Frame;
use firesteel_spark::messages::answer;

/// The channel that is opened first.
pub(crate) const FIRST: Channel = Channel(0);

/// An accepted connection, with the forms of orders.
pub(crate) struct Bench {
    pub(crate) connection: Connection,
    pub(crate) now: Timestamp,
    forms: OrderForms,
}

impl Default for Bench {
    fn default() -> Self {
        Self::of(Connection::default())
    }
}

impl Bench {
    pub(crate) fn within(limits: Limits) -> Self {
        Self::of(Connection::new(limits))
    }

    /// Wraps a connection and opens it.
    pub(crate) fn of(connection: Connection) -> Self {
        let now = Timestamp::from_millis(1_000_000);
        let mut bench = Self { connection, now, forms: OrderForms::default() };
        assert_eq!(bench.apply(Event::Opened { remote: Ipv4Addr::LOCALHOST.into() }), []);
        bench
    }

    /// Applies an event, and the events of written orders. Returns the other effects.
    pub(crate) fn apply(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        for effect in self.connection.apply(self.now, event) {
            self.connection.check().unwrap_or_else(|violation| panic!("{violation}"));
            match effect {
                Effect::WriteOrder(request) => {
                    let written = request.write(&mut self.forms);
                    effects.extend(self.apply(written));
                }
                effect => effects.push(effect),
            }
        }
        effects
    }

    pub(crate) fn hear(&mut self, frame: Frame) -> Vec<Effect> {
        self.apply(Event::Received(frame))
    }

    pub(crate) fn tell(&mut self, channel: Channel, message: Outbound) -> Vec<Effect> {
        self.apply(Event::Outgoing { channel, message })
    }

    /// The Master registers a driver's application. Returns the message to the driver.
    pub(crate) fn register(&mut self, channel: Channel, app: &str) -> Frame {
        only_frame(self.tell(channel, Outbound::Driver(registered(app))))
    }
}

/// The Master's message that an application is registered.
pub(crate) fn registered(app: &str) -> MasterToDriver {
    MasterToDriver::RegisteredApplication {
        app: AppId::new(app),
        master_url: String::new(),
        max_cores: Cores(1),
        first_executor: Default::default(),
        mark: None,
    }
}

pub(crate) fn only_frame(effects: Vec<Effect>) -> Frame {
    match <[Effect; 1]>::try_from(effects) {
        Ok([Effect::Send(frame)]) => frame,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn yes(id: i64) -> Effect {
    Effect::Send(Frame::Response { id, body: answer(true).into() })
}

pub(crate) fn no(id: i64) -> Effect {
    Effect::Send(Frame::Response { id, body: answer(false).into() })
}

pub(crate) fn id_of(frame: &Frame) -> i64 {
    match frame {
        Frame::Request { id, .. } | Frame::Response { id, .. } | Frame::Failure { id, .. } => *id,
        Frame::OneWay { .. } => panic!("a message has no number"),
    }
}

/// The messages to the Master. A registration has no token yet.
pub(crate) fn said(effects: &[Effect]) -> Vec<(Channel, Inbound)> {
    let said = |effect: &Effect| match effect {
        Effect::Say { channel, message, .. } => Some((*channel, message.clone())),
        Effect::Register { channel, description, .. } => {
            let message = DriverToMaster::RegisterApplication(description.clone());
            Some((*channel, Inbound::Driver(message)))
        }
        _ => None,
    };
    effects.iter().filter_map(said).collect()
}

/// The only message to the Master, which must be a driver's.
pub(crate) fn driver_said(effects: &[Effect]) -> (Channel, DriverToMaster) {
    match &said(effects)[..] {
        [(channel, Inbound::Driver(message))] => (*channel, message.clone()),
        _ => panic!("{effects:?}"),
    }
}

/// The only message to the Master, which must be a Worker's.
pub(crate) fn worker_said(effects: &[Effect]) -> (Channel, WorkerToMaster) {
    match &said(effects)[..] {
        [(channel, Inbound::Worker(message))] => (*channel, message.clone()),
        _ => panic!("{effects:?}"),
    }
}

/// The questions of clients to the Master.
pub(crate) fn asked(effects: &[Effect]) -> Vec<ClientToMaster> {
    let question = |(_, message)| match message {
        Inbound::Client(question) => question,
        other => panic!("{other:?}"),
    };
    said(effects).into_iter().map(question).collect()
}

pub(crate) fn notes(effects: &[Effect]) -> Vec<Note> {
    let note = |effect: &Effect| match effect {
        Effect::Note(note) => Some(note.clone()),
        _ => None,
    };
    effects.iter().filter_map(note).collect()
}
