//! Events of a cluster that the cluster's Masters cannot report.

use firesteel_protocol::address::Address;
use firesteel_protocol::messages::ApplicationEnd;
use tokio::sync::mpsc;

use firesteel_host::inbox::Inbox;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterEvent {
    /// The Masters moved to these addresses.
    Moved(Vec<Address>),
    /// The application ended, and its Masters ended with it.
    Over(ApplicationEnd),
}

impl ClusterEvent {
    /// Passes events on to an owner until no more events can come, or until the owner has ended.
    pub fn pass_on<E: Send + 'static>(
        events: Option<mpsc::Receiver<Self>>,
        inbox: &Inbox<E>,
        convert: impl Fn(Self) -> E + Send + 'static,
    ) {
        let (Some(mut events), inbox) = (events, inbox.clone()) else { return };
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                if inbox.send(convert(event)).await.is_err() {
                    break;
                }
            }
        });
    }
}
