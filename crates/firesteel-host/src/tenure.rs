//! How long a daemon may speak.
//!
//! A Master that was elected leads for as long as it is sure of it. When its tenure is over, another Master may act: nothing
//! more leaves this one, and its connections are closed at once. The time is that of the monotonic clock, and it is looked at
//! before each write. So a process that was stopped for a while says nothing when it runs again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// How long a daemon may speak.
#[derive(Clone, Debug)]
pub struct Tenure {
    began: Instant,
    /// The time after `began`, in nanoseconds.
    length: Arc<AtomicU64>,
    over: CancellationToken,
}

impl Default for Tenure {
    /// One without an end.
    fn default() -> Self {
        Self { began: Instant::now(), length: Arc::new(u64::MAX.into()), over: CancellationToken::new() }
    }
}

impl Tenure {
    /// One that lasts until this moment, unless it is extended.
    #[must_use]
    pub fn until(end: Instant) -> Self {
        let tenure = Self { length: Arc::default(), ..Self::default() };
        tenure.extend(end);
        tenure
    }

    /// Extends it until this moment. One that is over stays over.
    pub fn extend(&self, end: Instant) {
        let length = end.saturating_duration_since(self.began).as_nanos();
        self.length.fetch_max(u64::try_from(length).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Whether it ends unless it is extended.
    #[must_use]
    pub fn has_end(&self) -> bool {
        self.length.load(Ordering::Relaxed) != u64::MAX
    }

    /// Ends it now.
    pub fn end(&self) {
        self.over.cancel();
    }

    /// Whether the daemon may speak now.
    #[must_use]
    pub fn holds(&self) -> bool {
        let length = Duration::from_nanos(self.length.load(Ordering::Relaxed));
        if self.has_end() && self.began.elapsed() >= length {
            self.over.cancel();
        }
        !self.over.is_cancelled()
    }

    /// Returns when it is over.
    pub async fn over(&self) {
        while self.holds() {
            let left = Duration::from_nanos(self.length.load(Ordering::Relaxed));
            let end = self.began.checked_add(left).map(tokio::time::Instant::from_std);
            let until_end = async {
                match end {
                    Some(end) => tokio::time::sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = until_end => {}
                () = self.over.cancelled() => {}
            }
        }
    }

    /// A token that is cancelled when it is over.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn a_tenure_ends_at_its_time_and_cannot_be_extended_afterwards() {
        let tenure = Tenure::until(Instant::now() + SHORT);
        assert!(tenure.holds());
        tenure.extend(Instant::now() + 3 * SHORT);
        tokio::time::sleep(SHORT).await;
        assert!(tenure.holds(), "it was extended");
        tenure.over().await;
        tenure.extend(Instant::now() + 100 * SHORT);
        assert!(!tenure.holds());
    }

    #[tokio::test]
    async fn one_without_an_end_ends_when_it_is_told() {
        let tenure = Tenure::default();
        assert!(tenure.holds());
        let waiting = tokio::spawn({
            let tenure = tenure.clone();
            async move { tenure.over().await }
        });
        tenure.end();
        waiting.await.expect("it does not panic");
        assert!(!tenure.holds());
    }
}
