//! A Master that stands by. It says who leads, handles no messages, and closes connections when that changes: drivers
//! first, a few peers at a time.

use firesteel_host::net::{QueueLimits, Welcome};
use firesteel_host::owner::Context;
use firesteel_host::tenure::Tenure;
use firesteel_protocol::address::Address;
use firesteel_protocol::wire::{Hello, Role};
use firesteel_spark::messages::MASTER;
use firesteel_spark::translate::clients::NotAlive;

use super::{MasterError, Seat};
use crate::spark;

/// Refuses all peers until it is dropped. Then it stops accepting, and closes the connections.
pub(super) struct Standby(Tenure);

impl Standby {
    pub(super) fn begin(seat: &Seat, leader: Option<Address>) -> Result<Self, MasterError> {
        seat.site.stands_by(leader.clone());
        seat.rest.stands(NotAlive::Standby);
        let tenure = Tenure::default();
        let (listener, arriving) = seat.listener()?;
        let hello = Hello { leader, ..Hello::new(Role::Standby, seat.reached.to_string()) };
        let context = Context::with_tenure(
            seat.introduction(hello),
            QueueLimits::default(),
            seat.clock,
            Tenure::default(),
        );
        // Spark's drivers and Workers ask whether there is a Master, and wait for one that calls them.
        let bystanders = spark::verifier::serve(arriving, MASTER, tenure.clone());
        let welcome = [Role::Worker, Role::Driver, Role::Client];
        let welcome = welcome.map(|role| Welcome { role, decode: |_, _| Ok(()) });
        context.peers.serve_apart(listener, welcome.into()).map_err(MasterError::Acceptor)?;
        tokio::spawn(bystanders);
        let over = tenure.clone();
        tokio::spawn(context.hear_nobody(|_| (), async move { over.over().await }));
        Ok(Self(tenure))
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        self.0.end();
    }
}
