//! The connection to the driver, its end, and the executor's return.

use std::time::Duration;

use firesteel_protocol::exchange::Exchange;
use firesteel_protocol::executor_trouble::ExecutorTrouble;
use firesteel_protocol::messages::{ExecutorToDriver, HeartbeatRules};
use firesteel_protocol::time::Timestamp;

use super::heartbeats::Heartbeats;
use super::{Effect, Executor, Exit, Note, Phase, Reason};

/// How long an executor that was never accepted tries to reach its driver after its first dial or connection failed.
const UNACCEPTED: Duration = Duration::from_secs(30);

/// The first pause between two dials. It doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The executors of one driver spread their dials over this number of milliseconds, by their numbers.
const SPREAD: u32 = 61;

/// The states of the connection to the driver.
///
/// ```text
///  DIALLING --connected--> REGISTERING --accepted--> OPEN --driver silent--> CLOSING
///   ^    |                     |                      |                        |
///   |    | no answer           | connection ended     | connection ended       | connection ended
///   |    v                     v                      |                        |
///   `-- PAUSING <--------------'                      |                        |
///   `-------------------------------------------------+------------------------'
/// ```
///
/// From each state but OPEN, the time of the absence may end, or nothing listens at the driver's address. Then the
/// connection has ENDED, and so does the executor. Its first dial may fail and be repeated, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Dialling,
    Registering,
    Open,
    /// The executor closes the connection because the driver was silent for too long.
    Closing,
    /// The executor dials again at this time.
    Pausing(Timestamp),
    Ended,
}

/// The time since a dial failed or a connection to the driver ended, until the driver accepts the executor.
#[derive(Clone, Debug)]
pub(super) struct Absence {
    since: Timestamp,
    /// When the executor gives up.
    until: Timestamp,
    /// The next pause between two dials.
    pause: Duration,
    /// Why the latest dial failed, if nothing answered since.
    failure: Option<(ExecutorTrouble, String)>,
}

impl Absence {
    fn begin(now: Timestamp, away: Duration) -> Self {
        Self { since: now, until: now + away, pause: FIRST_PAUSE, failure: None }
    }
}

impl Executor {
    pub(super) fn on_connected(&mut self) {
        if self.link != Link::Dialling {
            return;
        }
        self.link = Link::Registering;
        if let Some(absence) = &mut self.absence {
            absence.failure = None;
        }
        let received = self.exchange.as_mut().map_or(0, Exchange::acknowledgement);
        let config = &self.config;
        self.effects.push(Effect::Send(ExecutorToDriver::RegisterExecutor {
            app: config.app.clone(),
            executor: config.executor,
            profile: config.profile,
            worker: config.worker.clone(),
            host: config.host.clone(),
            cores: config.cores,
            resources: config.resources.clone(),
            secret: config.secret.clone(),
            received: Some(received),
        }));
    }

    /// The driver could not be connected to. The executor tries again, unless nothing listens at the driver's address:
    /// then the driver has ended, or was never there.
    ///
    /// Source: Spark's executor, 4.0.1, which dials its driver three times before it gives up.
    pub(super) fn on_connect_failed(&mut self, now: Timestamp, trouble: ExecutorTrouble, error: String) {
        if self.link != Link::Dialling {
            return;
        }
        if self.absence.is_none() {
            if trouble.is_certain() || self.phase != Phase::Serving {
                return self.end(now, Exit::DriverUnreachable { trouble, error });
            }
            self.effects.note(Note::Unreachable { error: error.clone(), patience: UNACCEPTED });
        } else if matches!(trouble, ExecutorTrouble::NothingListens | ExecutorTrouble::NoDriver) {
            return self.give_up(now);
        }
        let absence = self.absence.get_or_insert_with(|| Absence::begin(now, UNACCEPTED));
        absence.failure = Some((trouble, error));
        self.pause(now);
    }

    /// The driver accepted the executor, for the first time or again. The messages that the driver has not received are
    /// sent again.
    pub(super) fn on_registered(&mut self, now: Timestamp, rules: HeartbeatRules, received: u64) {
        if self.link != Link::Registering {
            return;
        }
        self.away = Duration::from_millis(rules.away_millis);
        let was_accepted = self.was_accepted;
        if !was_accepted && !self.away.is_zero() {
            self.exchange = Some(Exchange::default());
        }
        let again = match self.exchange.as_mut().map(|exchange| exchange.resume(received)) {
            Some(Err(error)) => return self.end(now, Exit::Estranged(error)),
            Some(Ok(messages)) => messages,
            None => Vec::new(),
        };
        self.link = Link::Open;
        self.was_accepted = true;
        self.heartbeats = Some(Heartbeats::begin(now, rules));
        self.effects.note(match self.absence.take() {
            Some(absence) if was_accepted => {
                Note::Back { absent: now.since(absence.since), again: again.len() }
            }
            Some(_) | None => Note::Registered,
        });
        self.effects.extend(again.into_iter().map(Effect::Send));
    }

    /// The connection to the driver ended. The executor keeps its tasks and comes back, if the driver's rules allow it.
    pub(super) fn on_disconnected(&mut self, now: Timestamp) {
        self.heartbeats = None;
        let away = if self.was_accepted { self.away } else { UNACCEPTED };
        if self.phase != Phase::Serving || away.is_zero() || self.link == Link::Ended {
            return self.give_up(now);
        }
        match (&self.absence, self.link) {
            (Some(_), Link::Closing) => self.dial(),
            (Some(_), _) => self.pause(now),
            (None, _) => {
                self.begin_absence(now, away);
                self.dial();
            }
        }
    }

    /// Nothing arrived from the driver for some time. The executor hangs up and returns, if the driver's rules allow
    /// it. A driver that stands still has the rest of its time besides.
    ///
    /// Source: Spark's executor, 4.0.1 (`spark.executor.heartbeat.maxFailures`), which exits with code 56.
    pub(super) fn on_silence(&mut self, now: Timestamp, silence: Duration, rest: Duration) {
        if self.away.is_zero() {
            return self.end(now, Exit::DriverSilent { patience: silence });
        }
        if self.phase == Phase::Serving {
            self.heartbeats = None;
            self.link = Link::Closing;
            self.effects.note(Note::DriverSilent { silence });
            self.effects.push(Effect::HangUp);
            self.begin_absence(now, rest + self.away);
        }
    }

    fn begin_absence(&mut self, now: Timestamp, away: Duration) {
        self.absence = Some(Absence::begin(now, away));
        self.effects.note(Note::Away { patience: away });
    }

    /// The time for another dial has come, or the time for the return is over.
    pub(super) fn return_to_driver(&mut self, now: Timestamp) {
        if self.absence_deadline().is_some_and(|until| until <= now) {
            self.give_up(now);
        } else if let Link::Pausing(until) = self.link
            && until <= now
        {
            self.dial();
        }
    }

    /// When to call [`return_to_driver`](Self::return_to_driver).
    pub(super) fn next_return(&self) -> impl Iterator<Item = (Timestamp, Reason)> + use<> {
        let dial = match self.link {
            Link::Pausing(until) => Some((until, Reason::Dial)),
            Link::Dialling | Link::Registering | Link::Open | Link::Closing | Link::Ended => None,
        };
        let over = self.absence_deadline().map(|until| (until, Reason::AwayTooLong));
        dial.into_iter().chain(over)
    }

    fn absence_deadline(&self) -> Option<Timestamp> {
        let is_away = self.phase == Phase::Serving && self.link != Link::Ended;
        self.absence.as_ref().filter(|_| is_away).map(|absence| absence.until)
    }

    fn dial(&mut self) {
        self.link = Link::Dialling;
        self.effects.push(Effect::Connect);
    }

    fn pause(&mut self, now: Timestamp) {
        let Some(absence) = &mut self.absence else { return };
        let spread = Duration::from_millis(u64::from(self.config.executor.0 % SPREAD));
        self.link = Link::Pausing(now + absence.pause + spread);
        absence.pause = (absence.pause * 2).min(LONGEST_PAUSE);
    }

    fn give_up(&mut self, now: Timestamp) {
        self.link = Link::Ended;
        let failure = self.absence.as_mut().and_then(|absence| absence.failure.take());
        let exit = match failure {
            _ if self.was_accepted => Exit::DriverLost,
            Some((trouble, error)) => Exit::DriverUnreachable { trouble, error },
            None => Exit::DriverGone,
        };
        self.end(now, exit);
    }

    /// Sends a message that belongs to the exchange with the driver. While there is no connection, the message waits.
    pub(super) fn send(&mut self, message: ExecutorToDriver) {
        if self.link == Link::Ended {
            return;
        }
        if let Some(exchange) = &mut self.exchange {
            exchange.retain(&message);
        }
        // A driver may also send tasks before it says that it accepts the executor.
        if self.link == Link::Open || (self.link == Link::Registering && !self.was_accepted) {
            self.effects.push(Effect::Send(message));
        }
    }

    /// Tells the driver that the executor is alive, or that it ends, and how much it has received.
    pub(super) fn beat(&mut self, ends: bool) {
        if self.link == Link::Open {
            let received = self.exchange.as_mut().map_or(0, Exchange::acknowledgement);
            self.effects.push(Effect::Send(ExecutorToDriver::Heartbeat { received, ends }));
        }
    }

    /// Counts a message of the driver, and acknowledges if much was received.
    pub(super) fn count(&mut self, bytes: usize) {
        if self.exchange.as_mut().is_some_and(|exchange| exchange.receive(bytes)) {
            self.beat(false);
        }
    }
}
