//! Hostile peers: they send garbage, incomplete registrations, other peers' names, and answers to questions that were
//! never asked.

use bytes::Bytes;
use firesteel_sim::dice::Dice;
use firesteel_spark::frame::Frame;

use super::forge::{
    self, PeerIdentity, ReportTime, of_later_release, of_unknown_class, one_way, readyz, request, tells,
    to_endpoint, without_address,
};

/// A hostile peer, which has its own machine.
#[derive(Debug)]
pub(super) struct Stranger {
    identity: PeerIdentity,
    /// The hostile peer's connection. `None` if it has no connection.
    pub(super) line: Option<u64>,
    next_request: i64,
    /// The last application that the hostile peer registered.
    app: Option<String>,
    /// The last question that the hostile peer received: its number and its object.
    question: Option<(i64, Bytes)>,
    /// Whether the hostile peer never sends a frame.
    pub(super) is_mute: bool,
}

/// Names of honest peers that a hostile peer knows.
pub(super) struct Victims<'a> {
    pub(super) apps: &'a [String],
    pub(super) workers: &'a [(String, String)],
    pub(super) drivers: &'a [String],
}

impl Stranger {
    pub(super) fn new(number: u64, dice: &mut Dice) -> Self {
        let release = dice.index(forge::RELEASES + 1).expect("there are some");
        let identity = PeerIdentity { release, host: format!("10.9.9.{number}") };
        let next_request = -1_000_000 * i64::try_from(number + 1).expect("it is small");
        let is_mute = dice.one_in(5);
        Self { identity, line: None, next_request, app: None, question: None, is_mute }
    }

    pub(super) fn host(&self) -> String {
        self.identity.host.clone()
    }

    fn id(&mut self) -> i64 {
        self.next_request -= 1;
        self.next_request
    }

    pub(super) fn hear(&mut self, frame: &Frame) {
        let read = forge::read(frame);
        if read.class == "RegisteredApplication" {
            self.app = read.app;
        }
        if let (Frame::Request { id, .. }, Some((_, object))) = (frame, forge::opened(frame)) {
            self.question = Some((*id, object));
        }
    }

    /// The hostile peer's next frames, with a word for the trace.
    pub(super) fn act(&mut self, dice: &mut Dice, victims: &Victims<'_>) -> (&'static str, Vec<Frame>) {
        match dice.below(6) {
            0 => self.garble(dice),
            1 => self.half_register(dice),
            2 => self.register(dice),
            3 => self.speak_for_others(dice, victims),
            4 => self.answer_unasked(dice),
            _ => self.flood(dice, victims),
        }
    }

    fn garble(&mut self, dice: &mut Dice) -> (&'static str, Vec<Frame>) {
        let id = self.id();
        let noise: Vec<u8> =
            (0..dice.below(40)).map(|_| u8::try_from(dice.below(256)).expect("a byte")).collect();
        let beat = self.identity.beats("worker-nobody");
        let frame = match dice.below(7) {
            0 => Frame::Request { id, body: noise.into() },
            1 => Frame::OneWay { body: noise.into() },
            2 => of_unknown_class(&beat, "Heartbeat"),
            3 => request(&of_unknown_class(&beat, "Heartbeat"), id),
            4 => without_address(&beat),
            5 => to_endpoint(&beat, "HeartbeatReceiver"),
            _ => {
                let mut bytes = forge::body(&self.identity.registers("flipped")).to_vec();
                let at = dice.index(bytes.len()).expect("it is long");
                bytes[at] ^= 1 << dice.below(8);
                Frame::OneWay { body: bytes.into() }
            }
        };
        ("garble", vec![frame])
    }

    /// Registers as an unknown release, and may answer questions with nonsense.
    fn half_register(&mut self, dice: &mut Dice) -> (&'static str, Vec<Frame>) {
        let id = self.id();
        let frames = match (dice.below(6), self.question.take()) {
            (0 | 1, Some((id, _))) => vec![Frame::Response { id, body: Bytes::new() }],
            (2, Some((id, object))) => vec![tells(id, &object, 5)],
            (0..=2, _) => vec![of_later_release(&self.identity.registers("half"))],
            (3, _) => vec![of_later_release(&self.identity.submits(id))],
            (4, _) => vec![self.identity.registers_nonsense()],
            _ => {
                vec![
                    PeerIdentity { release: forge::RELEASES, ..self.identity.clone() }
                        .registers_worker("worker-half"),
                ]
            }
        };
        ("half register", frames)
    }

    /// Registers as two applications, or as several Workers.
    fn register(&mut self, dice: &mut Dice) -> (&'static str, Vec<Frame>) {
        let host = format!("{}{}", self.identity.host, dice.below(12));
        let other = PeerIdentity { host, ..self.identity.clone() };
        let frames = match dice.below(5) {
            0 => vec![self.identity.registers("one"), self.identity.registers("two")],
            1 => vec![self.identity.registers("one"), other.registers("two")],
            2 => (0..3).map(|number| self.identity.registers_worker(&format!("worker-x{number}"))).collect(),
            3 => vec![self.identity.registers_worker("worker-y"), other.registers_worker("worker-y")],
            _ => vec![other.registers("other"), other.registers_worker("worker-z")],
        };
        ("register", frames)
    }

    /// Sends messages under the names of honest peers.
    fn speak_for_others(&mut self, dice: &mut Dice, victims: &Victims<'_>) -> (&'static str, Vec<Frame>) {
        let id = self.id();
        let nobody = ("worker-nobody".to_owned(), "10.1.1.1".to_owned());
        let (worker, host) =
            if victims.workers.is_empty() { nobody } else { dice.pick(victims.workers).clone() };
        let app =
            if victims.apps.is_empty() { "app-none".to_owned() } else { dice.pick(victims.apps).clone() };
        let forged = PeerIdentity { host, ..self.identity.clone() };
        let frame = match dice.below(10) {
            0 => self.identity.says_goodbye(&app),
            1 => self.identity.asks_for_executors(&app, 0, id),
            2 => self.identity.ends_executors(&app, id),
            3 => self.identity.acknowledges(&app),
            4 => self.identity.beats(&worker),
            5 => self.identity.lists(ReportTime::Registered, &worker, &[(app, 0)], &[]),
            6 => forged.reports_ended(&app, 0, id),
            7 => self.identity.registers_worker(&worker),
            8 => forged.registers_worker(&worker),
            _ => request(&self.identity.says_goodbye(&app), id),
        };
        ("speak for others", vec![frame])
    }

    fn answer_unasked(&mut self, dice: &mut Dice) -> (&'static str, Vec<Frame>) {
        let id = dice.between(1, 12).cast_signed();
        let frame = match dice.below(3) {
            0 => Frame::Response { id, body: Bytes::new() },
            1 => Frame::Failure { id, reason: "Could not find it.".to_owned() },
            _ => self.identity.fails(id),
        };
        ("answer unasked", vec![frame])
    }

    /// Sends many questions from many addresses.
    fn flood(&mut self, dice: &mut Dice, victims: &Victims<'_>) -> (&'static str, Vec<Frame>) {
        let app = self.app.clone().unwrap_or_else(|| "app-none".to_owned());
        let driver = victims.drivers.first().map_or("driver-none", String::as_str);
        let kind = dice.below(9);
        let mut frames = Vec::new();
        for number in 0..dice.between(2, 9) {
            let id = self.id();
            let other = PeerIdentity { host: format!("10.8.8.{number}"), ..self.identity.clone() };
            frames.push(match kind {
                0 => readyz(id),
                1 => one_way(&readyz(id)),
                2 => self.identity.asks_for_executors(&app, 0, id),
                3 => self.identity.asks_for_nonsense(&app, id),
                4 => other.asks_for_state(driver, id),
                5 => self.identity.submits(id),
                6 => self.identity.submits_nonsense(id),
                7 => other.registers(&format!("flood-{number}")),
                _ => {
                    let executors: Vec<_> =
                        (0..20).map(|executor| (format!("app-{number}"), executor)).collect();
                    self.identity.lists(
                        ReportTime::Registered,
                        "worker-x2",
                        &executors,
                        &["driver-1", "driver-2"],
                    )
                }
            });
        }
        ("flood", frames)
    }
}
