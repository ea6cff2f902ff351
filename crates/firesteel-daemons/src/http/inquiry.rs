//! Requests to a daemon's owner loop, sent in the same way as a client's requests on a connection.

use std::net::{Ipv4Addr, SocketAddr};

use firesteel_host::net::{Arrival, OutgoingItem, OutgoingStream, VirtualPeer, VirtualPeers};
use firesteel_protocol::wire::{Message, Role};
use futures_util::StreamExt;

use super::snapshot::Unanswered;

const QUESTION: usize = 64;

pub(super) struct Inquiry<E> {
    virtual_peer: VirtualPeer<E>,
    outgoing: OutgoingStream,
}

impl<E: Send + 'static> Inquiry<E> {
    pub(super) fn open(virtual_peers: &VirtualPeers<E>) -> Result<Self, Unanswered> {
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let opened = virtual_peers.open(Role::Client, "HTTP".to_owned(), here);
        let (virtual_peer, outgoing) = opened.map_err(|_| Unanswered::Ended)?;
        Ok(Self { virtual_peer, outgoing })
    }

    /// Sends a request to the owner and waits for the answer. `event` turns the request into an event of the state
    /// machine.
    pub(super) async fn ask<A: Message>(
        &mut self,
        event: impl FnOnce(Arrival<'static>) -> E,
    ) -> Result<A, Unanswered> {
        let arrival = Arrival::unproven(self.virtual_peer.peer(), self.virtual_peer.now());
        let said = self.virtual_peer.say(arrival.at, QUESTION, event(arrival)).await;
        said.map_err(|_| Unanswered::Ended)?;
        match self.outgoing.next().await {
            Some(OutgoingItem::Message(boxed)) => Ok(boxed.open()),
            Some(OutgoingItem::End(_)) | None => Err(Unanswered::Ended),
        }
    }
}
