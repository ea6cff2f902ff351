//! What time it is.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use firesteel_core::Timestamp;
use tokio::time::Instant;

/// A daemon's clock: the wall's time when the daemon started, and from there on a monotonic clock. It never goes
/// back, whatever is done to the machine's date.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Timestamp,
    started: Instant,
}

impl Clock {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { wall: Timestamp::default() + since_epoch, started: Instant::now() }
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.wall + self.started.elapsed()
    }

    /// When it will be that time, for the runtime's timers: now, if it is in the past.
    #[must_use]
    pub fn instant(&self, time: Timestamp) -> Instant {
        self.started + time.since(self.wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_was_set_for_a_time_finds_it_come() {
        let clock = Clock::start();
        let time = clock.now() + Duration::from_millis(1500);
        tokio::time::sleep_until(clock.instant(time)).await;
        assert!(clock.now() >= time);
        assert!(clock.now().since(time) < Duration::from_millis(10));
        assert!(clock.instant(Timestamp::default()) <= Instant::now());
    }
}
