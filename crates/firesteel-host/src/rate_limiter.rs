//! Limits log lines that any program on the network can cause, so that they do not fill the disk.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Limits the lines of one kind.
#[derive(Debug)]
pub struct RateLimiter {
    /// The maximum number of these lines per minute.
    most: u32,
    minute: Mutex<Option<Minute>>,
}

#[derive(Debug)]
struct Minute {
    began: Instant,
    lines: u32,
    left_out: u64,
}

/// The number of lines left out before the current line. Displays nothing if the number is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut(u64);

impl RateLimiter {
    /// Allows at most this number of lines per minute.
    pub fn per_minute(most: u32) -> Self {
        Self { most, minute: Mutex::default() }
    }

    /// Whether the next line may be written. If it may, returns how many lines were left out before it.
    pub fn next(&self) -> Option<LeftOut> {
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let current = minute.as_mut().filter(|minute| now - minute.began < Duration::from_secs(60));
        match current {
            Some(current) if current.lines < self.most => {
                current.lines += 1;
                Some(LeftOut(0))
            }
            Some(current) => {
                current.left_out += 1;
                None
            }
            None => {
                let left_out = minute.as_ref().map_or(0, |earlier| earlier.left_out);
                *minute = Some(Minute { began: now, lines: 1, left_out: 0 });
                Some(LeftOut(left_out))
            }
        }
    }
}

/// Written after a line: ` (and 41 more before it)`.
impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            left_out => write!(f, " (and {left_out} more before it)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ten_lines_a_minute_are_written_and_the_rest_is_counted() {
        let rate_limiter = RateLimiter::per_minute(10);
        let written =
            |rate_limiter: &RateLimiter| (0..51).filter_map(|_| rate_limiter.next()).collect::<Vec<_>>();
        assert_eq!(written(&rate_limiter), [LeftOut(0); 10]);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(written(&rate_limiter)[..2], [LeftOut(41), LeftOut(0)]);
        assert_eq!([LeftOut(41), LeftOut(0)].map(|left| left.to_string()), [" (and 41 more before it)", ""]);
    }
}
