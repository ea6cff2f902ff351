//! A daemon's state for any number of requests. It is read from the owner at most once a second, or less often.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// How long a snapshot is reused, unless another time is given.
const FRESH: Duration = Duration::from_secs(1);

/// How long a request waits for the owner.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The latest state, and the task that reads a newer one.
#[derive(Debug)]
pub(super) struct Snapshot<V> {
    /// How long the state is reused.
    fresh: Duration,
    state: Mutex<State<V>>,
}

#[derive(Debug)]
struct State<V> {
    latest: Option<(Instant, Arc<V>)>,
    /// The reading in progress. The reading continues even if the request that waited for it has given up.
    under_way: Option<JoinHandle<Result<V, Unanswered>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unanswered {
    /// The owner does not answer.
    #[error("stuck: the daemon did not answer within {} s", PATIENCE.as_secs())]
    Late,
    /// The owner or its lease has ended.
    #[error("ended: the daemon ends, or another Master leads")]
    Ended,
}

impl<V> Default for Snapshot<V> {
    fn default() -> Self {
        Self::lasting(FRESH)
    }
}

impl<V> Snapshot<V> {
    /// A snapshot that is reused for this time.
    pub(super) fn lasting(fresh: Duration) -> Self {
        Self { fresh, state: Mutex::new(State { latest: None, under_way: None }) }
    }
}

impl<V: Send + Sync + 'static> Snapshot<V> {
    /// The state, at most as old as the limit allows. `read` reads a newer state from the owner.
    pub(super) async fn get<F>(&self, read: impl FnOnce() -> F) -> Result<Arc<V>, Unanswered>
    where
        F: Future<Output = Result<V, Unanswered>> + Send + 'static,
    {
        timeout(PATIENCE, self.latest(read)).await.unwrap_or(Err(Unanswered::Late))
    }

    async fn latest<F>(&self, read: impl FnOnce() -> F) -> Result<Arc<V>, Unanswered>
    where
        F: Future<Output = Result<V, Unanswered>> + Send + 'static,
    {
        let mut state = self.state.lock().await;
        if let Some((at, view)) = &state.latest
            && at.elapsed() < self.fresh
        {
            return Ok(Arc::clone(view));
        }
        let under_way = state.under_way.get_or_insert_with(|| tokio::spawn(read()));
        let result = under_way.await;
        state.under_way = None;
        let view = Arc::new(result.map_err(|_| Unanswered::Ended)??);
        state.latest = Some((Instant::now(), Arc::clone(&view)));
        Ok(view)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_who_ask_at_once_read_once_and_so_do_those_of_the_same_second() {
        let (snapshot, read) = (Snapshot::default(), Arc::new(AtomicU32::new(0)));
        let get = || {
            let read = Arc::clone(&read);
            snapshot.get(move || async move { Ok(read.fetch_add(1, Ordering::Relaxed)) })
        };
        let (one, other) = tokio::join!(get(), get());
        assert_eq!((one, other), (Ok(Arc::new(0)), Ok(Arc::new(0))));
        tokio::time::advance(FRESH).await;
        assert_eq!(get().await, Ok(Arc::new(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_gives_up_and_the_reading_goes_on() {
        let (snapshot, read) = (Snapshot::default(), Arc::new(AtomicU32::new(0)));
        let get = || {
            let read = Arc::clone(&read);
            snapshot.get(move || async move {
                tokio::time::sleep(PATIENCE * 3 / 2).await;
                Ok(read.fetch_add(1, Ordering::Relaxed))
            })
        };
        assert_eq!(get().await, Err(Unanswered::Late));
        assert_eq!(get().await, Ok(Arc::new(0)));
    }
}
