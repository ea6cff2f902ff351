//! Leases: how long a daemon may send messages.
//!
//! An elected Master leads as long as its lease lasts. When the lease ends, another Master may act. So the former
//! leader sends no more messages, and its connections are closed at once. The lease uses a clock that nobody can set,
//! and that goes on while the machine is suspended. The clock is checked before each write. So a process that was
//! stopped for a while sends nothing when it runs again.

use std::ops::Add;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use tokio_util::sync::CancellationToken;

/// A moment of the clock that counts from the start of the machine, and goes on while the machine is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// The present moment.
    ///
    /// # Panics
    /// The system does not have this clock, because it is not Linux.
    #[must_use]
    pub fn now() -> Self {
        Self(clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has this clock").into())
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

#[derive(Clone, Debug)]
pub struct Lease {
    /// The [`Moment`] when the lease ends, in nanoseconds.
    end: Arc<AtomicU64>,
    over: CancellationToken,
}

impl Default for Lease {
    /// A lease without an end.
    fn default() -> Self {
        Self { end: Arc::new(u64::MAX.into()), over: CancellationToken::new() }
    }
}

impl Lease {
    /// A lease that lasts until this moment, unless it is extended.
    #[must_use]
    pub fn until(end: Moment) -> Self {
        let lease = Self { end: Arc::default(), ..Self::default() };
        lease.extend(end);
        lease
    }

    /// Extends the lease until this moment. A lease that has ended cannot be extended.
    pub fn extend(&self, Moment(end): Moment) {
        self.end.fetch_max(u64::try_from(end.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Whether the lease ends unless it is extended.
    #[must_use]
    pub fn has_end(&self) -> bool {
        self.end.load(Ordering::Relaxed) != u64::MAX
    }

    pub fn end(&self) {
        self.over.cancel();
    }

    /// Whether the daemon may send messages now.
    #[must_use]
    pub fn holds(&self) -> bool {
        if self.left().is_some_and(|left| left.is_zero()) {
            self.over.cancel();
        }
        !self.over.is_cancelled()
    }

    /// The remaining time of the lease. `None`: the lease has no end.
    fn left(&self) -> Option<Duration> {
        let Moment(now) = self.has_end().then(Moment::now)?;
        Some(Duration::from_nanos(self.end.load(Ordering::Relaxed)).saturating_sub(now))
    }

    pub async fn over(&self) {
        while self.holds() {
            let until_end = async {
                match self.left() {
                    Some(left) => tokio::time::sleep(left).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = until_end => {}
                () = self.over.cancelled() => {}
            }
        }
    }

    /// A token that is cancelled when the lease ends.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn a_lease_ends_at_its_time_and_cannot_be_extended_afterwards() {
        let lease = Lease::until(Moment::now() + SHORT);
        assert!(lease.holds());
        lease.extend(Moment::now() + 3 * SHORT);
        tokio::time::sleep(SHORT).await;
        assert!(lease.holds(), "it was extended");
        lease.over().await;
        lease.extend(Moment::now() + 100 * SHORT);
        assert!(!lease.holds());
    }

    #[tokio::test]
    async fn one_without_an_end_ends_when_it_is_told() {
        let lease = Lease::default();
        assert!(lease.holds());
        let waiting = tokio::spawn({
            let lease = lease.clone();
            async move { lease.over().await }
        });
        lease.end();
        waiting.await.expect("it does not panic");
        assert!(!lease.holds());
    }
}
