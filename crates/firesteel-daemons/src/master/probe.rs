//! Finds out whether the process of a Worker has ended whose connection ended: then nothing listens at its address.
//!
//! Without this, a killed Worker would be missed only after it was away for too long. The Master asks only where it may
//! [connect](super::reach).

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use firesteel_host::inbox::Inbox;
use firesteel_host::net::dial::connect;
use firesteel_master::Event;
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::WorkerId;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use super::reach::Reach;

/// The time between two questions, and the time for one answer.
const PAUSE: Duration = Duration::from_secs(1);

/// The maximum number of questions at the same time. A whole rack may be away.
const AT_ONCE: usize = 64;

/// Asks after Workers that are away.
#[derive(Debug)]
pub(super) struct Probes {
    reach: Arc<Reach>,
    permits: Arc<Semaphore>,
    /// The task that asks after each Worker, until the Worker has returned or is lost.
    asking: BTreeMap<WorkerId, AbortHandle>,
}

/// A Worker that is away, and where it was.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) worker: WorkerId,
    /// The address that the Worker registered.
    pub(super) address: Address,
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
}

impl Probes {
    pub(super) fn new(reach: Arc<Reach>) -> Self {
        Self { reach, permits: Arc::new(Semaphore::new(AT_ONCE)), asking: BTreeMap::new() }
    }

    /// Asks until nothing listens there, the time is over, or this [ends](Self::end).
    pub(super) fn begin(&mut self, probe: Probe, inbox: Inbox<Event>) {
        let (reach, permits) = (Arc::clone(&self.reach), Arc::clone(&self.permits));
        let worker = probe.worker.clone();
        let asking = tokio::spawn(async move {
            let Probe { worker, address, since, until } = probe;
            let end = Instant::now() + until.since(since);
            while Instant::now() < end {
                let Ok(permit) = permits.acquire().await else { return };
                let is_refused = refuses(&reach, &worker, &address).await;
                drop(permit);
                if is_refused {
                    // If the owner is gone, nobody needs the answer.
                    let _ = inbox.send(Event::WorkerGone { worker, since }).await;
                    return;
                }
                sleep(PAUSE).await;
            }
        });
        self.asking.insert(worker, asking.abort_handle());
    }

    /// Asks no more after a Worker that has returned or is lost.
    pub(super) fn end(&mut self, worker: &WorkerId) {
        self.asking.remove(worker).iter().for_each(AbortHandle::abort);
    }
}

/// Whether the Worker's machine says that nothing listens at this address.
async fn refuses(reach: &Reach, worker: &WorkerId, address: &Address) -> bool {
    let asked = async {
        let Ok(found) = reach.of_worker(worker, &address.host, address.port).await else { return false };
        for there in found {
            match connect(there).await {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Ok(_) | Err(_) => return false,
            }
        }
        true
    };
    timeout(PAUSE, asked).await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn only_a_refusal_of_the_worker_s_own_machine_counts() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address =
            Address::new("127.0.0.1".to_owned(), listener.local_addr().expect("it is bound").port());
        let (reach, worker) = (Reach::new(Default::default(), None), WorkerId::new("w1"));
        reach.worker_is_from(worker.clone(), [127, 0, 0, 1].into());
        assert!(!refuses(&reach, &worker, &address).await, "it listens");
        drop(listener);
        assert!(refuses(&reach, &worker, &address).await);
        assert!(!refuses(&reach, &WorkerId::new("w2"), &address).await, "it has connected from nowhere");
        reach.worker_is_from(worker.clone(), [192, 0, 2, 1].into());
        assert!(!refuses(&reach, &worker, &address).await, "it was somewhere else");
    }
}
