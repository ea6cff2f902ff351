//! Waits for other processes, with a time limit.

use std::thread;
use std::time::{Duration, Instant};

/// The maximum time that tests wait for a command, a daemon, or an action of these.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(50);

/// Calls `look` until it returns a value. Returns `None` after the time limit.
pub fn poll<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if begun.elapsed() > limit {
            return None;
        }
        thread::park_timeout(PAUSE);
    }
}

/// Waits until `look` returns a value, for at most [`DEADLINE`]. Calls `look` more often than [`wait`] does.
///
/// # Panics
/// `look` returns no value within this time.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {DEADLINE:?} in vain for {what}");
        thread::park_timeout(Duration::from_millis(10));
    }
}

/// Waits until `look` returns a value.
///
/// # Panics
/// `look` returns no value within the limit.
pub fn wait<T>(what: &str, limit: Duration, look: impl FnMut() -> Option<T>) -> T {
    poll(limit, look).unwrap_or_else(|| panic!("waited {limit:?} in vain for {what}"))
}
