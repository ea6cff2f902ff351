//! The addresses that a Master connects to: those of peers that have connected from there, and those that the operator
//! allows.
//!
//! A Worker says in its registration at which host it can be reached, and so does a driver of Spark's. If a Master
//! connected to whatever they say, everybody who can register could let it search the network behind it.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Mutex, MutexGuard, PoisonError};

use firesteel_host::net::{Introduction, Keyring};
use firesteel_protocol::ids::WorkerId;
use firesteel_settings::allowed_peers::AllowedPeers;
use firesteel_settings::keys;
use tokio::net::lookup_host;

/// The maximum number of Workers whose addresses are remembered. The oldest are forgotten first.
const MOST_WORKERS: usize = 100_000;

#[derive(Debug, Default)]
pub(crate) struct Reach {
    allowed: AllowedPeers,
    keyring: Option<Keyring>,
    /// From where each registered Worker has connected.
    workers: Mutex<BTreeMap<WorkerId, IpAddr>>,
}

/// Why a Master does not connect to a host.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutOfReach {
    #[error("unknown host {host:?}: {error}")]
    UnknownHost { host: String, error: io::Error },
    #[error(
        "the Master does not connect to {host}, because {who}: if that is right, set {} to the host",
        keys::ALLOWED_PEERS,
        who = from.map_or_else(
            || "no registered peer has connected from there".to_owned(),
            |from| format!("the peer that names it has connected from {from}")
        )
    )]
    Elsewhere { host: String, from: Option<IpAddr> },
}

impl Reach {
    pub(crate) fn new(allowed: AllowedPeers, keyring: Option<Keyring>) -> Self {
        Self { allowed, keyring, workers: Mutex::default() }
    }

    /// The introduction of the Master to Workers and to other Masters, whose client it is.
    pub(crate) fn client(&self, name: &str) -> Introduction {
        Introduction::from(name).with_keys(self.keyring.clone())
    }

    /// Remembers from where a Worker has connected, also after it is lost: its logs may still be read there.
    pub(super) fn worker_is_from(&self, worker: WorkerId, from: IpAddr) {
        let mut workers = self.workers();
        workers.insert(worker, from);
        if workers.len() > MOST_WORKERS {
            // Ids begin with the time of the registration.
            workers.pop_first();
        }
    }

    fn workers(&self) -> MutexGuard<'_, BTreeMap<WorkerId, IpAddr>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The addresses at which the Master may connect to a Worker that says that it is at this host.
    ///
    /// # Errors
    /// The host is unknown, or the Master does not connect to it.
    pub(crate) async fn of_worker(
        &self,
        worker: &WorkerId,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, OutOfReach> {
        let from = self.workers().get(worker).copied();
        self.addresses(host, port, from).await
    }

    /// The addresses at which the Master may connect to a peer that has connected from `from`, and says that it is at
    /// this host.
    ///
    /// # Errors
    /// The host is unknown, or the Master does not connect to it.
    pub(crate) async fn addresses(
        &self,
        host: &str,
        port: u16,
        from: Option<IpAddr>,
    ) -> Result<Vec<SocketAddr>, OutOfReach> {
        let found = lookup_host((host, port)).await;
        let found = found.map_err(|error| OutOfReach::UnknownHost { host: host.to_owned(), error })?;
        let is_allowed = |address: &SocketAddr| {
            self.allowed.allow(host, address.ip())
                || from.is_some_and(|from| is_same(from, address.ip(), is_of_this_machine))
        };
        let reachable: Vec<SocketAddr> = found.filter(is_allowed).collect();
        match reachable.is_empty() {
            false => Ok(reachable),
            true => Err(OutOfReach::Elsewhere { host: host.to_owned(), from }),
        }
    }
}

/// Whether a peer that has connected from one address may be at the other one: it is the same, or both are addresses of
/// the Master's own machine.
fn is_same(from: IpAddr, named: IpAddr, is_here: impl Fn(IpAddr) -> bool) -> bool {
    let (from, named) = (from.to_canonical(), named.to_canonical());
    from == named || is_here(from) && is_here(named)
}

fn is_of_this_machine(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use firesteel_settings::Properties;

    use super::*;

    #[test]
    fn a_peer_is_where_it_has_connected_from() {
        let is_here = |address: IpAddr| address.is_loopback() || address == IpAddr::from([10, 0, 0, 1]);
        for (from, named, expected) in [
            ("10.0.0.7", "10.0.0.7", true),
            ("::ffff:10.0.0.7", "10.0.0.7", true),
            ("fd00::7", "fd00::7", true),
            // Another Worker's host, another program's, and the Master's own.
            ("10.0.0.7", "10.0.0.8", false),
            ("10.0.0.7", "169.254.169.254", false),
            ("10.0.0.7", "127.0.0.1", false),
            ("10.0.0.7", "10.0.0.1", false),
            ("10.0.0.7", "::ffff:127.0.0.1", false),
            // A peer on the Master's machine has all of its addresses.
            ("127.0.0.1", "::1", true),
            ("127.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "10.0.0.7", false),
        ] {
            let [from, named] = [from, named].map(|text| text.parse().expect("an address"));
            assert_eq!(is_same(from, named, is_here), expected, "{from} {named}");
        }
    }

    #[tokio::test]
    async fn a_worker_is_reached_only_where_it_has_connected_from_or_where_the_operator_allows() {
        let [worker, other] = ["worker-1", "worker-2"].map(WorkerId::new);
        let reach = Reach::default();
        assert!(reach.of_worker(&worker, "127.0.0.1", 22).await.is_err(), "nobody has registered");
        reach.worker_is_from(worker.clone(), [192, 0, 2, 7].into());
        reach.worker_is_from(other.clone(), [127, 0, 0, 1].into());
        for host in ["127.0.0.1", "localhost", "169.254.169.254", "192.0.2.8"] {
            let refused = reach.of_worker(&worker, host, 22).await.expect_err(host).to_string();
            assert!(refused.contains("has connected from 192.0.2.7: if that is right, set"), "{refused}");
        }
        let there = reach.of_worker(&worker, "192.0.2.7", 22).await.expect("it is there");
        assert_eq!(there, [SocketAddr::from(([192, 0, 2, 7], 22))]);
        assert!(reach.of_worker(&other, "localhost", 22).await.is_ok());
        let set = Properties::parse(["firesteel.master.allowedPeers=192.0.2.0/28"]).expect("a pair");
        let reach = Reach::new(AllowedPeers::of(&set).expect("a network"), None);
        assert!(reach.of_worker(&worker, "192.0.2.8", 22).await.is_ok());
        assert!(reach.of_worker(&worker, "192.0.2.16", 22).await.is_err());
    }
}
