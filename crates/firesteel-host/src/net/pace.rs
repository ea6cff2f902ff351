//! The pace of a peer whose messages are heard one by one.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

/// How many messages of a peer are heard in a second. Honest drivers send some in a minute.
const IN_A_SECOND: u32 = 100;

const SECOND: Duration = Duration::from_secs(1);

/// When a peer is heard again.
#[derive(Debug)]
pub struct Pace {
    second_ends: Instant,
    heard: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { second_ends: Instant::now() + SECOND, heard: 0 }
    }
}

impl Pace {
    /// Waits after a message that was handled, and for this pause if the owner asks for one.
    pub(crate) async fn wait(&mut self, pause: Option<Duration>) {
        if let Some(pause) = pause {
            sleep(pause).await;
        }
        self.heard += 1;
        if self.heard >= IN_A_SECOND {
            sleep_until(self.second_ends).await;
        }
        if Instant::now() >= self.second_ends {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_sends_without_pause_is_heard_a_hundred_times_a_second() {
        let (mut pace, begun) = (Pace::default(), Instant::now());
        for heard in 1..=1000_u32 {
            pace.wait(None).await;
            assert_eq!(begun.elapsed(), SECOND * (heard / IN_A_SECOND), "after {heard}");
        }
        pace.wait(Some(Duration::from_secs(3))).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(13));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_sends_seldom_does_not_wait() {
        let (mut pace, begun) = (Pace::default(), Instant::now());
        for _ in 0..1000 {
            sleep(SECOND / 50).await;
            pace.wait(None).await;
        }
        assert_eq!(begun.elapsed(), 20 * SECOND);
    }
}
