//! News of a cluster that comes from outside its Masters.

use firesteel_core::address::Address;
use firesteel_core::messages::ApplicationEnd;
use tokio::sync::mpsc;

use firesteel_host::inbox::Inbox;

/// News of a cluster that its Masters cannot send themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterNews {
    /// The Masters moved to these addresses.
    Moved(Vec<Address>),
    /// The application ended, and its Masters with it.
    Over(ApplicationEnd),
}

impl ClusterNews {
    /// Passes news on to a consumer until there is no more news, or until the consumer is gone.
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
