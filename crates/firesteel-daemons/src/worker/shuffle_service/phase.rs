//! The phases of the external shuffle service, and the reactions to events. Does no I/O.

use std::time::Duration;

use firesteel_protocol::Timestamp;

/// How long a process may take until it listens.
pub const STARTING: Duration = Duration::from_secs(60);

/// The pause after the first end in a row. The pause doubles with each further end.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);

pub const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A process that has listened for this long resets the count of ends.
pub const PROVEN: Duration = Duration::from_secs(60);

/// The phases of the service.
///
/// ```text
///              Listening              Ended
///  Starting --------------> Running --------> Paused --+
///   ^  |  \                                     ^      |
///   |  |   `-- Deadline --> Stuck -- Ended -----+      |
///   |  `------------------ Ended ---------------+      |
///   `------------------- Deadline ---------------------+
///
///  any, Stop --> Ending -- Deadline --> Killed -- Ended --> Over
/// ```
///
/// If no process has ever listened, `Ended` leads to `Over`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A process runs, and must listen until this time.
    Starting {
        /// The time at which the process is killed.
        until: Timestamp,
    },
    /// A process did not listen in time, and was killed.
    Stuck,
    /// A process listens.
    Running {
        /// The time since which the process listens.
        since: Timestamp,
    },
    Paused {
        /// The time at which the next process is started.
        until: Timestamp,
    },
    /// A process was asked to end.
    Ending {
        /// The time at which the process is killed.
        until: Timestamp,
    },
    /// The process was asked to end, did not end in time, and was killed.
    Killed,
    /// No process runs, and none will be started.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The process accepts connections.
    Listening,
    /// The process ended, or could not be started.
    Ended,
    /// The time of [`Supervision::deadline`] has come.
    Deadline,
    /// The Worker ends.
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Start,
    Terminate,
    Kill,
    SayListening,
    /// Log that the process ended, and that the next one starts after this pause.
    SayPause(Duration),
    /// Report that the service could not be started, so that the Worker does not start.
    Refuse,
}

/// Decides when a process of the service is started, and when to give up.
#[derive(Clone, Debug)]
pub struct Supervision {
    phase: Phase,
    has_listened: bool,
    /// The number of ends in a row. A process that listened long enough resets it.
    ends: u32,
    /// The time between the request to end and the kill.
    grace: Duration,
}

impl Supervision {
    /// The supervision of a service whose first process is being started.
    #[must_use]
    pub fn new(now: Timestamp, grace: Duration) -> Self {
        Self { phase: Phase::Starting { until: now + STARTING }, has_listened: false, ends: 0, grace }
    }

    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The time at which [`Event::Deadline`] is due, if no other event comes first.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Starting { until } | Phase::Paused { until } | Phase::Ending { until } => Some(until),
            Phase::Stuck | Phase::Running { .. } | Phase::Killed | Phase::Over => None,
        }
    }

    /// Handles an event. `None`: there is nothing to do. An event that does not fit the phase changes nothing.
    #[must_use]
    pub fn apply(&mut self, now: Timestamp, event: Event) -> Option<Effect> {
        match event {
            Event::Listening => self.on_listening(now),
            Event::Ended => self.on_end(now),
            Event::Deadline => self.on_deadline(now),
            Event::Stop => self.on_stop(now),
        }
    }

    fn on_listening(&mut self, now: Timestamp) -> Option<Effect> {
        let Phase::Starting { .. } = self.phase else { return None };
        self.phase = Phase::Running { since: now };
        self.has_listened = true;
        Some(Effect::SayListening)
    }

    fn on_end(&mut self, now: Timestamp) -> Option<Effect> {
        let listened = match self.phase {
            Phase::Starting { .. } | Phase::Stuck => Duration::ZERO,
            Phase::Running { since } => now.since(since),
            Phase::Ending { .. } | Phase::Killed => {
                self.phase = Phase::Over;
                return None;
            }
            Phase::Paused { .. } | Phase::Over => return None,
        };
        if !self.has_listened {
            self.phase = Phase::Over;
            return Some(Effect::Refuse);
        }
        if listened >= PROVEN {
            self.ends = 0;
        }
        let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(self.ends)).min(LONGEST_PAUSE);
        self.ends = self.ends.saturating_add(1);
        self.phase = Phase::Paused { until: now + pause };
        Some(Effect::SayPause(pause))
    }

    fn on_deadline(&mut self, now: Timestamp) -> Option<Effect> {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return None;
        }
        match self.phase {
            Phase::Starting { .. } => {
                self.phase = Phase::Stuck;
                Some(Effect::Kill)
            }
            Phase::Paused { .. } => {
                self.phase = Phase::Starting { until: now + STARTING };
                Some(Effect::Start)
            }
            Phase::Ending { .. } => {
                self.phase = Phase::Killed;
                Some(Effect::Kill)
            }
            Phase::Stuck | Phase::Running { .. } | Phase::Killed | Phase::Over => None,
        }
    }

    fn on_stop(&mut self, now: Timestamp) -> Option<Effect> {
        match self.phase {
            Phase::Starting { .. } | Phase::Running { .. } => {
                self.phase = Phase::Ending { until: now + self.grace };
                Some(Effect::Terminate)
            }
            Phase::Stuck => {
                self.phase = Phase::Killed;
                None
            }
            Phase::Paused { .. } => {
                self.phase = Phase::Over;
                None
            }
            Phase::Ending { .. } | Phase::Killed | Phase::Over => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(10);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn started() -> Supervision {
        Supervision::new(at(0), GRACE)
    }

    fn running() -> Supervision {
        let mut service = started();
        assert_eq!(service.apply(at(2), Event::Listening), Some(Effect::SayListening));
        service
    }

    #[test]
    fn a_service_that_never_listened_refuses_the_worker() {
        let mut service = started();
        assert_eq!(service.apply(at(1), Event::Ended), Some(Effect::Refuse));
        assert_eq!(service.phase(), Phase::Over);

        let mut slow = started();
        assert_eq!(slow.apply(at(59), Event::Deadline), None);
        assert_eq!(slow.apply(at(60), Event::Deadline), Some(Effect::Kill));
        assert_eq!(slow.apply(at(61), Event::Listening), None, "it is too late");
        assert_eq!(slow.apply(at(61), Event::Ended), Some(Effect::Refuse));
    }

    #[test]
    fn a_service_that_ends_later_is_started_again_after_a_growing_pause() {
        let mut service = running();
        let mut now = 3;
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let Some(Effect::SayPause(pause)) = service.apply(at(now), Event::Ended) else {
                panic!("it is started again: {service:?}")
            };
            pauses.push(pause.as_secs());
            now += pause.as_secs();
            assert_eq!(service.deadline(), Some(at(now)));
            assert_eq!(service.apply(at(now), Event::Deadline), Some(Effect::Start));
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(service.apply(at(now), Event::Listening), Some(Effect::SayListening));
        now += PROVEN.as_secs();
        assert_eq!(
            service.apply(at(now), Event::Ended),
            Some(Effect::SayPause(FIRST_PAUSE)),
            "it was proven"
        );
    }

    #[test]
    fn a_later_service_that_does_not_listen_in_time_is_killed_and_started_again() {
        let mut service = running();
        assert_eq!(service.apply(at(3), Event::Ended), Some(Effect::SayPause(FIRST_PAUSE)));
        assert_eq!(service.apply(at(4), Event::Deadline), Some(Effect::Start));
        assert_eq!(service.apply(at(64), Event::Deadline), Some(Effect::Kill));
        assert_eq!(service.apply(at(64), Event::Ended), Some(Effect::SayPause(2 * FIRST_PAUSE)));
    }

    #[test]
    fn a_service_that_is_stopped_is_asked_to_end_and_then_killed() {
        for mut service in [started(), running()] {
            assert_eq!(service.apply(at(5), Event::Stop), Some(Effect::Terminate));
            assert_eq!(service.apply(at(6), Event::Stop), None);
            assert_eq!(service.deadline(), Some(at(15)));
            assert_eq!(service.apply(at(15), Event::Deadline), Some(Effect::Kill));
            assert_eq!(service.apply(at(16), Event::Ended), None);
            assert_eq!(service.phase(), Phase::Over);
        }
        let mut paused = running();
        assert_eq!(paused.apply(at(5), Event::Ended), Some(Effect::SayPause(FIRST_PAUSE)));
        assert_eq!(paused.apply(at(5), Event::Stop), None);
        assert_eq!(paused.phase(), Phase::Over);
        let mut stuck = started();
        assert_eq!(stuck.apply(at(60), Event::Deadline), Some(Effect::Kill));
        assert_eq!(stuck.apply(at(60), Event::Stop), None);
        assert_eq!(stuck.apply(at(60), Event::Ended), None, "nobody waits for it any more");
        assert_eq!(stuck.phase(), Phase::Over);
    }
}
