//! Requests to a daemon's owner loop, sent in the same way as by a client on a connection.

use std::net::{Ipv4Addr, SocketAddr};

use firesteel_host::net::{Arrival, Envoy, Envoys, Letter, Letters};
use firesteel_protocol::wire::{Message, Role};
use futures_util::StreamExt;

use super::snapshot::Unanswered;

const QUESTION: usize = 64;

pub(super) struct Inquiry<E> {
    envoy: Envoy<E>,
    letters: Letters,
}

impl<E: Send + 'static> Inquiry<E> {
    pub(super) fn open(envoys: &Envoys<E>) -> Result<Self, Unanswered> {
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let opened = envoys.open(Role::Client, "HTTP".to_owned(), here);
        let (envoy, letters) = opened.map_err(|_| Unanswered::Ended)?;
        Ok(Self { envoy, letters })
    }

    /// Sends a request and waits for its answer. `event` turns the request into an event of the machine.
    pub(super) async fn ask<A: Message>(
        &mut self,
        event: impl FnOnce(Arrival) -> E,
    ) -> Result<A, Unanswered> {
        let arrival = Arrival { peer: self.envoy.peer(), at: self.envoy.now() };
        let said = self.envoy.say(arrival.at, QUESTION, event(arrival)).await;
        said.map_err(|_| Unanswered::Ended)?;
        match self.letters.next().await {
            Some(Letter::Message(parcel)) => Ok(parcel.open()),
            Some(Letter::End(_)) | None => Err(Unanswered::Ended),
        }
    }
}
