//! A connection between two parts of the cluster, which can delay, change and lose bytes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use firesteel_testkit::proxy::{self, Direction};

/// A proxy with faults.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) address: SocketAddr,
    troubles: Arc<Troubles>,
}

#[derive(Debug, Default)]
struct Troubles {
    /// Whether bytes to the listening side are held up.
    stalled_there: AtomicBool,
    /// Whether bytes from the listening side are held up.
    stalled_back: AtomicBool,
    /// The number of cuts so far. Connections that began before the last cut end.
    cuts: AtomicU64,
    flips: AtomicU64,
}

impl Route {
    /// A route from a free port of this address to the address that `target` returns.
    pub(crate) fn start(host: &str, target: impl Fn(SocketAddr) -> SocketAddr + Send + 'static) -> Self {
        let troubles: Arc<Troubles> = Arc::default();
        let shared = Arc::clone(&troubles);
        let address = proxy::start(host, target, move |direction| {
            let troubles = Arc::clone(&shared);
            let begun = troubles.cuts.load(Ordering::Relaxed);
            move |bytes: &mut [u8]| troubles.meddle(direction, begun, bytes)
        });
        Self { address, troubles }
    }

    /// Holds up all bytes in both directions, until [`go_on`](Self::go_on).
    pub(crate) fn stall(&self) {
        self.troubles.stalled_there.store(true, Ordering::Relaxed);
        self.deafen();
    }

    /// Holds up bytes to the connecting side, until [`go_on`](Self::go_on).
    pub(crate) fn deafen(&self) {
        self.troubles.stalled_back.store(true, Ordering::Relaxed);
    }

    /// Lets bytes pass again.
    pub(crate) fn go_on(&self) {
        self.troubles.stalled_there.store(false, Ordering::Relaxed);
        self.troubles.stalled_back.store(false, Ordering::Relaxed);
    }

    /// Ends all connections, at the next byte that passes.
    pub(crate) fn cut(&self) {
        self.troubles.cuts.fetch_add(1, Ordering::Relaxed);
    }

    /// Changes one bit of the next bytes.
    pub(crate) fn flip(&self) {
        self.troubles.flips.fetch_add(1, Ordering::Relaxed);
    }
}

impl Troubles {
    /// Handles bytes of a connection that began after `begun` cuts. Returns whether the connection continues.
    fn meddle(&self, direction: Direction, begun: u64, bytes: &mut [u8]) -> bool {
        let stalled = match direction {
            Direction::There => &self.stalled_there,
            Direction::Back => &self.stalled_back,
        };
        while stalled.load(Ordering::Relaxed) {
            thread::park_timeout(Duration::from_millis(5));
        }
        let take = |left: u64| left.checked_sub(1);
        if let Ok(left) = self.flips.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1 << (left % 8);
        }
        self.cuts.load(Ordering::Relaxed) == begun
    }
}
