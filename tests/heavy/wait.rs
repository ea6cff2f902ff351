//! Waits for what other processes do, up to a limit.

use std::thread;
use std::time::{Duration, Instant};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Looks again and again until `look` finds something; `None` after the limit.
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

/// Waits until `look` finds something.
///
/// # Panics
/// It finds nothing within the limit.
pub(crate) fn wait<T>(what: &str, limit: Duration, look: impl FnMut() -> Option<T>) -> T {
    poll(limit, look).unwrap_or_else(|| panic!("waited {limit:?} in vain for {what}"))
}

/// Does the same within the runtime.
///
/// # Panics
/// It finds nothing within the limit.
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
