//! Waits for other processes, with a time limit.

use std::thread;
use std::time::{Duration, Instant};

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(50);

/// Calls `look` until it returns a value; `None` after the time limit.
pub(crate) fn poll<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
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

/// Waits until `look` returns a value.
///
/// # Panics
/// It returns none within the limit.
pub(crate) fn wait<T>(what: &str, limit: Duration, look: impl FnMut() -> Option<T>) -> T {
    poll(limit, look).unwrap_or_else(|| panic!("waited {limit:?} in vain for {what}"))
}

/// Like `wait`, for an asynchronous `look`.
///
/// # Panics
/// It returns none within the limit.
pub(crate) async fn wait_async<T>(
    what: &str,
    limit: Duration,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() <= limit, "waited {limit:?} in vain for {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
