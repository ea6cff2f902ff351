//! The permits for connections: how many a daemon may have open, and which are reserved.
//!
//! Each connection is an open file, and the operating system limits those. If connections used all of them, the daemon
//! could open no file, and no client could connect to find out what is wrong. So there are three kinds of permits. A
//! stranger that never identifies itself, or a cluster that is too large for the limit, uses up only one kind. After
//! its handshake, any other machine gets at most half of a kind.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use firesteel_protocol::wire::Role;
use nix::sys::resource::{Resource, getrlimit};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

/// How long a silent peer stays connected while others wait for its permit.
const CROWDED: Duration = Duration::from_millis(250);

/// Advice that says how to raise the limit of open files of a process.
pub(super) const HOW_TO_RAISE: &str = "(ulimit -n, or LimitNOFILE= of its service)";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    /// Connections that are still in their handshake.
    half_open: usize,
    /// Connections of clients, on which a person waits for an answer.
    clients: usize,
    others: usize,
}

impl Numbers {
    /// Leaves a quarter of the open files, but no more than 1,024, to the daemon itself.
    fn within(open_files: u64) -> Self {
        let open_files = usize::try_from(open_files).unwrap_or(usize::MAX);
        let own = (open_files / 4).min(1024);
        let (half_open, clients) = ((open_files / 8).min(512), (open_files / 8).min(1024));
        let others = (open_files - own - half_open - clients).min(1 << 16);
        Self { half_open, clients, others }
    }
}

#[derive(Clone, Debug)]
pub(in crate::net) struct ConnectionLimits {
    half_open: Arc<Semaphore>,
    clients: Arc<Pool>,
    others: Arc<Pool>,
    /// Notifies silent peers in their handshake that another peer waits for a permit.
    crowd: Arc<Notify>,
}

#[derive(Debug)]
struct Pool {
    number: usize,
    free: Arc<Semaphore>,
    /// The number of permits that each other machine uses.
    by_machine: Mutex<HashMap<IpAddr, usize>>,
}

/// The machine at the other end of a connection. `None` is this machine, which may use all permits.
pub(super) type Machine = Option<IpAddr>;

/// The permit of a connection. Dropping it frees the permit.
#[derive(Debug)]
pub struct ConnectionPermit {
    _permit: OwnedSemaphorePermit,
    _share: Option<Share>,
}

/// One of the permits that another machine uses.
#[derive(Debug)]
struct Share {
    machine: IpAddr,
    pool: Arc<Pool>,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut by_machine = self.pool.by_machine();
        if let Some(taken) = by_machine.get_mut(&self.machine) {
            *taken -= 1;
            if *taken == 0 {
                by_machine.remove(&self.machine);
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LimitReached {
    #[error(
        "{taken} connections are open, and this process may have no more: raise its limit of open files {}",
        HOW_TO_RAISE
    )]
    All { taken: usize },
    /// One machine uses half of the permits.
    #[error(
        "{taken} connections from {machine} are open, half of what this process may have, and one machine gets no \
         more: raise its limit of open files {}",
        HOW_TO_RAISE
    )]
    OfMachine { taken: usize, machine: IpAddr },
}

impl Pool {
    fn new(number: usize) -> Arc<Self> {
        Arc::new(Self { number, free: Arc::new(Semaphore::new(number)), by_machine: Mutex::default() })
    }

    fn by_machine(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.by_machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A permit for a peer on this machine, if one is free.
    fn take(self: &Arc<Self>, machine: Machine) -> Result<ConnectionPermit, LimitReached> {
        let free = Arc::clone(&self.free).try_acquire_owned();
        let permit = free.map_err(|_| LimitReached::All { taken: self.number })?;
        Ok(ConnectionPermit {
            _permit: permit,
            _share: machine.map(|machine| self.share(machine)).transpose()?,
        })
    }

    fn share(self: &Arc<Self>, machine: IpAddr) -> Result<Share, LimitReached> {
        let mut by_machine = self.by_machine();
        let taken = by_machine.get(&machine).copied().unwrap_or(0);
        if taken >= self.number.div_ceil(2) {
            return Err(LimitReached::OfMachine { taken, machine });
        }
        by_machine.insert(machine, taken + 1);
        drop(by_machine);
        Ok(Share { machine, pool: Arc::clone(self) })
    }
}

impl ConnectionLimits {
    /// The permits that fit this process's limit of open files.
    pub(super) fn of_this_process() -> Self {
        let open_files = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
        let Numbers { half_open, clients, others } = Numbers::within(open_files);
        Self {
            half_open: Arc::new(Semaphore::new(half_open)),
            clients: Pool::new(clients),
            others: Pool::new(others),
            crowd: Arc::default(),
        }
    }

    /// Waits for a permit for a handshake. If no permit is free, silent connections are closed.
    pub(super) async fn half_open(&self) -> ConnectionPermit {
        loop {
            let permit = timeout(CROWDED / 4, Arc::clone(&self.half_open).acquire_owned()).await;
            if let Ok(permit) = permit {
                return ConnectionPermit { _permit: permit.expect("it is never closed"), _share: None };
            }
            self.crowd.notify_waiters();
        }
    }

    /// Waits until a silent peer that connects now must be disconnected, because another peer needs its permit.
    pub(super) async fn crowded_out(&self) {
        sleep(CROWDED).await;
        self.crowd.notified().await;
    }

    pub(super) fn take(&self, role: Role, machine: Machine) -> Result<ConnectionPermit, LimitReached> {
        match role {
            Role::Client => self.clients.take(machine),
            Role::Master | Role::Standby | Role::Worker | Role::Driver | Role::Executor => {
                self.others.take(machine)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_gets_half_and_this_one_all() {
        let pool = Pool::new(5);
        let [one, other] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let mut permits: Vec<ConnectionPermit> =
            (0..3).map(|_| pool.take(Some(one)).expect("its half")).collect();
        assert_eq!(
            pool.take(Some(one)).expect_err("no more"),
            LimitReached::OfMachine { taken: 3, machine: one }
        );
        let others = pool.take(Some(other)).expect("another machine's half");
        permits.pop();
        permits.push(pool.take(Some(one)).expect("one has left"));
        assert_eq!(pool.by_machine().len(), 2);
        drop((permits, others));
        assert_eq!(pool.by_machine().len(), 0, "who has none is forgotten");
        let _own = [(); 5].map(|()| pool.take(None).expect("this machine"));
        assert_eq!(pool.take(Some(one)).expect_err("no more"), LimitReached::All { taken: 5 });
    }

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
