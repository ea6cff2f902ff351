//! Reads a Master's state from its owner loop.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use firesteel_host::net::{Arrival, Introduction, VirtualPeers};
use firesteel_master::{Event, Inbound};
use firesteel_protocol::address::Address;
use firesteel_protocol::messages::{ApplicationAnswer, ClientToMaster, MasterToClient, is_web_address};
use tokio::time::timeout;

use super::super::inquiry::Inquiry;
use super::super::snapshot::{Snapshot, Unanswered};
use crate::master_client::{Carrier, MasterClient};

/// The number of applications whose details are cached for a second.
const KEPT: usize = 8;

/// How long a page waits for another Master to report the URL of its pages.
const FOR_A_LINK: Duration = Duration::from_secs(1);

pub(super) type OwnClient = MasterClient<Inquiry<Event>>;

pub(super) fn client(virtual_peers: &VirtualPeers<Event>) -> Result<OwnClient, Unanswered> {
    Ok(MasterClient::over(Inquiry::open(virtual_peers)?))
}

impl Carrier for Inquiry<Event> {
    type Error = Unanswered;

    async fn ask(&mut self, question: ClientToMaster) -> Result<MasterToClient, Unanswered> {
        let message = Inbound::Client(question);
        Self::ask(self, |Arrival { peer, at, .. }| Event::Received { peer, arrived: at, message }).await
    }

    fn other_answer(&self) -> Unanswered {
        Unanswered::Ended
    }

    fn broken_off(_: u64, error: Unanswered) -> Unanswered {
        error
    }
}

#[derive(Debug, Default)]
pub(super) struct Applications {
    kept: Mutex<VecDeque<(String, Arc<Snapshot<ApplicationAnswer>>)>>,
}

impl Applications {
    /// Returns an application with all of its executors. The answer may come from a copy that is at most one second
    /// old.
    pub(super) async fn get(
        &self,
        virtual_peers: &VirtualPeers<Event>,
        app: &str,
    ) -> Result<Arc<ApplicationAnswer>, Unanswered> {
        let snapshot = self.snapshot(app);
        let (virtual_peers, app) = (virtual_peers.clone(), app.to_owned());
        snapshot.get(|| async move { client(&virtual_peers)?.application(&app).await }).await
    }

    fn snapshot(&self, app: &str) -> Arc<Snapshot<ApplicationAnswer>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().position(|(name, _)| name == app).and_then(|at| kept.remove(at));
        let (name, snapshot) = found.unwrap_or_else(|| (app.to_owned(), Arc::default()));
        kept.push_back((name, Arc::clone(&snapshot)));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        snapshot
    }
}

/// The URL of another Master's pages. `None` if that Master does not report it soon.
pub(super) async fn pages_of(leader: &Address, ours: Introduction) -> Option<String> {
    let asked = async { MasterClient::open(leader, ours).await?.web_address().await };
    let address = timeout(FOR_A_LINK, asked).await.ok()?.ok().flatten();
    address.filter(|address| is_web_address(address))
}
