//! Why applications wait, in one sentence per application. The reasons are computed in the background, so that no page
//! waits long for them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use firesteel_host::net::VirtualPeers;
use firesteel_master::Event;
use firesteel_protocol::ids::{AppId, ExecutorId};
use firesteel_protocol::messages::ApplicationAnswer;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::super::read;
use crate::wording::explanation;

/// How long a page waits for reasons that are still unknown.
const PATIENCE: Duration = Duration::from_millis(500);

/// The minimum time before the reason of an application is requested again.
const LEAST_PAUSE: Duration = Duration::from_secs(2);

/// The minimum time before a reason is requested again, in multiples of the duration of the last round of requests.
const SHARE: u32 = 50;

/// A reason that no page has shown for this long is dropped.
const FORGOTTEN: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(in super::super) struct Reasons {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    reasons: BTreeMap<AppId, Reason>,
    round: Option<watch::Receiver<bool>>,
    took: Duration,
}

#[derive(Debug)]
struct Reason {
    words: Option<Arc<str>>,
    asked: Instant,
}

impl Reasons {
    /// Requests the reasons of these applications that are unknown or old. Waits a short time if some reasons are
    /// unknown.
    pub(in super::super) async fn ready(
        self: &Arc<Self>,
        virtual_peers: &VirtualPeers<Event>,
        wanted: Vec<AppId>,
    ) {
        let (round, is_any_unknown) = {
            let mut known = self.known();
            let pause = LEAST_PAUSE.max(known.took * SHARE);
            let due: Vec<AppId> = wanted
                .iter()
                .filter(|app| known.reasons.get(*app).is_none_or(|reason| reason.asked.elapsed() >= pause))
                .cloned()
                .collect();
            let is_any_unknown = wanted.iter().any(|app| !known.reasons.contains_key(app));
            if known.round.is_none() && !due.is_empty() {
                let (done, round) = watch::channel(false);
                known.round = Some(round);
                tokio::spawn(Arc::clone(self).ask(virtual_peers.clone(), due, done));
            }
            (known.round.clone(), is_any_unknown)
        };
        if let (Some(mut round), true) = (round, is_any_unknown) {
            // Reasons that come too late are on the next page.
            let _ = timeout(PATIENCE, round.wait_for(|done| *done)).await;
        }
    }

    /// The reason why an application waits. `None` if it is unknown, or if the application does not wait.
    pub(in super::super) fn of(&self, app: &AppId) -> Option<Arc<str>> {
        self.known().reasons.get(app)?.words.clone()
    }

    async fn ask(
        self: Arc<Self>,
        virtual_peers: VirtualPeers<Event>,
        due: Vec<AppId>,
        done: watch::Sender<bool>,
    ) {
        let begun = Instant::now();
        if let Ok(mut client) = read::client(&virtual_peers) {
            for app in due {
                let words = match client.application_from(app.as_str(), ExecutorId(0)).await {
                    Ok(ApplicationAnswer::Known(detail)) => explanation::brief(&detail).map(Arc::from),
                    Ok(ApplicationAnswer::Unknown | ApplicationAnswer::Ambiguous { .. }) => None,
                    Err(_) => break,
                };
                self.known().reasons.insert(app, Reason { words, asked: Instant::now() });
            }
        }
        let mut known = self.known();
        known.reasons.retain(|_, reason| reason.asked.elapsed() < FORGOTTEN);
        (known.round, known.took) = (None, begun.elapsed());
        drop(known);
        done.send_replace(true);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
