//! The places for connections: how many a daemon may have open, and for whom some are kept free.
//!
//! Each connection is an open file, and the system limits those. If connections took them all, the daemon could open no file
//! and nobody could ask it what is wrong. So there are places of three kinds, and a stranger who never says who he is, or a
//! cluster that is too large for the limit, leaves the others free.

use std::sync::Arc;
use std::time::Duration;

use firesteel_core::wire::Role;
use nix::sys::resource::{Resource, getrlimit};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

/// How long a peer may say nothing at all while others wait for its place.
const CROWDED: Duration = Duration::from_millis(250);

/// How the limit of open files of a process is raised.
pub(super) const HOW_TO_RAISE: &str = "(ulimit -n, or LimitNOFILE= of its service)";

/// How many connections a daemon may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    /// Connections in their handshake.
    half_open: usize,
    /// Clients, for whom a person waits.
    clients: usize,
    /// All others.
    others: usize,
}

impl Numbers {
    /// A quarter of the open files, but no more than 1,024, is left to the daemon itself.
    fn within(open_files: u64) -> Self {
        let open_files = usize::try_from(open_files).unwrap_or(usize::MAX);
        let own = (open_files / 4).min(1024);
        let (half_open, clients) = ((open_files / 8).min(512), (open_files / 8).min(1024));
        let others = (open_files - own - half_open - clients).min(1 << 16);
        Self { half_open, clients, others }
    }
}

/// The places of one daemon.
#[derive(Clone, Debug)]
pub(super) struct Places {
    half_open: Arc<Semaphore>,
    clients: Arc<Semaphore>,
    others: Arc<Semaphore>,
    numbers: Numbers,
    /// Tells those in their handshake that another one waits for a place.
    crowd: Arc<Notify>,
}

/// A place that a connection has. It is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
}

/// All places of a kind are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{taken} connections are open, and this process may have no more: raise its limit of open files {}",
    HOW_TO_RAISE
)]
pub(super) struct Full {
    taken: usize,
}

impl Places {
    /// As many as this process may have, by its limit of open files.
    pub(super) fn of_this_process() -> Self {
        let open_files = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
        let numbers = Numbers::within(open_files);
        let places = |number| Arc::new(Semaphore::new(number));
        let Numbers { half_open, clients, others } = numbers;
        Self {
            half_open: places(half_open),
            clients: places(clients),
            others: places(others),
            numbers,
            crowd: Arc::default(),
        }
    }

    /// Waits for a place for a handshake. Until there is one, those who say nothing have to leave.
    pub(super) async fn half_open(&self) -> Place {
        loop {
            let place = timeout(CROWDED / 4, Arc::clone(&self.half_open).acquire_owned()).await;
            if let Ok(permit) = place {
                return Place { _permit: permit.expect("it is never closed") };
            }
            self.crowd.notify_waiters();
        }
    }

    /// Returns when a peer that connects now, and says nothing, has to leave, because another one waits for its place.
    pub(super) async fn crowded_out(&self) {
        sleep(CROWDED).await;
        self.crowd.notified().await;
    }

    /// A place for a peer of this role.
    pub(super) fn take(&self, role: Role) -> Result<Place, Full> {
        let (of, taken) = match role {
            Role::Client => (&self.clients, self.numbers.clients),
            Role::Master | Role::Worker | Role::Driver | Role::Executor => {
                (&self.others, self.numbers.others)
            }
        };
        let permit = Arc::clone(of).try_acquire_owned().map_err(|_| Full { taken })?;
        Ok(Place { _permit: permit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_open_files_are_left_whatever_the_limit() {
        for open_files in [0, 8, 20, 256, 1024, 4096, 1 << 20, u64::MAX] {
            let Numbers { half_open, clients, others } = Numbers::within(open_files);
            let taken = (half_open + clients + others) as u64;
            assert!(taken <= open_files - open_files / 4 || taken <= 70_000, "{open_files}: {taken}");
        }
        assert_eq!(Numbers::within(1024), Numbers { half_open: 128, clients: 128, others: 512 });
        assert_eq!(Numbers::within(1 << 20), Numbers { half_open: 512, clients: 1024, others: 1 << 16 });
    }
}
