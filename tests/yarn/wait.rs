//! Waits within a runtime.

use std::time::{Duration, Instant};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Waits until `look` finds something.
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
