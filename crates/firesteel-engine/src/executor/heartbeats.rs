//! Heartbeats to the driver, and the time limit for messages of the driver.

use std::time::Duration;

use firesteel_protocol::last_seen::{LATE, LastSeen};
use firesteel_protocol::messages::HeartbeatRules;
use firesteel_protocol::time::Timestamp;

use super::Reason;

/// The shortest interval between heartbeats. So a faulty driver cannot keep its executors busy with heartbeats.
const SHORTEST: Duration = Duration::from_millis(1);

/// An executor that may return hangs up after this many intervals without a message. With the defaults, this is before
/// the driver gives a silent executor up.
const MISSED: u32 = 6;

#[derive(Clone, Copy, Debug)]
pub(super) struct Heartbeats {
    interval: Duration,
    /// How long the driver may be silent on this connection.
    limit: Duration,
    /// How long the driver may be silent before an executor ends that may not return.
    patience: Duration,
    next: Timestamp,
    /// When the latest message of the driver arrived.
    heard: LastSeen,
}

impl Heartbeats {
    /// Starts the heartbeats, once the driver has accepted the executor.
    pub(super) fn begin(now: Timestamp, rules: HeartbeatRules) -> Self {
        let HeartbeatRules { interval_millis, patience_millis, away_millis } = rules;
        let interval = Duration::from_millis(interval_millis).max(SHORTEST);
        let patience = Duration::from_millis(patience_millis).max(interval);
        let limit = if away_millis == 0 { patience } else { patience.min(interval.saturating_mul(MISSED)) };
        Self { interval, limit, patience, next: now + interval, heard: LastSeen::at(now) }
    }

    /// Records a message of the driver as a sign of life.
    pub(super) fn hear(&mut self, now: Timestamp) {
        self.heard = LastSeen::at(now);
    }

    /// Whether a heartbeat is due. If so, schedules the next one.
    pub(super) fn is_due(&mut self, now: Timestamp) -> bool {
        let is_due = self.next <= now;
        if is_due {
            self.next = now + self.interval;
        }
        is_due
    }

    /// How long the driver has been silent, if this is too long, and how much longer an executor may wait for it. If
    /// the executor itself was late, the driver gets the full time again.
    pub(super) fn silence(&mut self, now: Timestamp) -> Option<(Duration, Duration)> {
        let until = self.silent_at();
        if until > now {
            return None;
        }
        if now.since(until) > LATE && self.heard.excuse(now) {
            return None;
        }
        Some((self.limit, self.patience - self.limit))
    }

    pub(super) fn next(&self) -> (Timestamp, Reason) {
        (self.next, Reason::Heartbeat)
    }

    /// When the driver counts as silent for too long, if no message arrives earlier.
    pub(super) fn silent_at(&self) -> Timestamp {
        self.heard.silent_at(self.limit)
    }
}
