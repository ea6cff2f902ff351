//! The clock of a daemon: wall-clock time that never goes back.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use firesteel_protocol::Timestamp;
use tokio::time::Instant;

/// A daemon's clock. It reads the wall clock once, at the daemon's start, and follows the monotonic clock from then on.
/// So the clock never goes back, even if somebody changes the machine's date.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Timestamp,
    started: Instant,
}

impl Clock {
    #[must_use]
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { wall: Timestamp::default() + since_epoch, started: Instant::now() }
    }

    /// A clock that shows at least this time: the same clock, or one that starts at this time. For a time that was
    /// written down earlier: somebody may have set the machine's date back since then.
    #[must_use]
    pub fn not_before(self, time: Timestamp) -> Self {
        if self.now() >= time { self } else { Self { wall: time, started: Instant::now() } }
    }

    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.wall + self.started.elapsed()
    }

    /// The instant of this time on the runtime's monotonic clock, for timers of the runtime. A time in the past gives
    /// the current instant.
    #[must_use]
    pub fn instant(&self, time: Timestamp) -> Instant {
        self.started + time.since(self.wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_clock_does_not_go_back_behind_what_was_written_down() {
        let clock = Clock::start();
        let later = clock.now() + Duration::from_secs(3600);
        assert_eq!(clock.not_before(later).now(), later);
        assert_eq!(clock.not_before(Timestamp::default()).now(), clock.now());
    }

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
