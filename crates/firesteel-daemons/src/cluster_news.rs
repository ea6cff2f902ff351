//! News of a cluster that its Masters cannot tell themselves.

use firesteel_core::address::Address;
use firesteel_core::messages::ApplicationEnd;
use tokio::sync::mpsc;

use firesteel_host::inbox::Inbox;

/// What a cluster's Masters cannot say themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterNews {
    /// They are elsewhere from now on.
    Moved(Vec<Address>),
    /// The application is over, and they with it.
    Over(ApplicationEnd),
}

impl ClusterNews {
    /// Has somebody hear news for as long as there are any, and somebody to hear them.
    pub fn pass_on<E: Send + 'static>(
        news: Option<mpsc::Receiver<Self>>,
        inbox: &Inbox<E>,
        event: impl Fn(Self) -> E + Send + 'static,
    ) {
        let (Some(mut news), inbox) = (news, inbox.clone()) else { return };
        tokio::spawn(async move {
            while let Some(news) = news.recv().await {
                if inbox.send(event(news)).await.is_err() {
                    break;
                }
            }
        });
    }
}
