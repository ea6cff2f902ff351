//! A Master that is a standby. It informs peers who the leader is, and handles no messages. When the leader changes, it
//! closes the connections: drivers first, a few peers at a time.

use firesteel_host::lease::Lease;
use firesteel_host::net::{AcceptedRole, QueueLimits};
use firesteel_host::owner::Context;
use firesteel_protocol::address::Address;
use firesteel_protocol::wire::{Hello, Role};
use firesteel_spark::messages::MASTER;
use firesteel_spark::translate::clients::NotAlive;

use super::{MasterError, ServerContext};
use crate::spark;

/// Refuses all peers until this value is dropped. Then the standby stops accepting, and closes the connections.
pub(super) struct Standby(Lease);

impl Standby {
    pub(super) fn begin(
        server_context: &ServerContext,
        leader: Option<Address>,
    ) -> Result<Self, MasterError> {
        server_context.site.stands_by(leader.clone());
        server_context.rest.stands(NotAlive::Standby);
        let lease = Lease::default();
        let (listener, arriving) = server_context.listener()?;
        let hello = Hello { leader, ..Hello::new(Role::Standby, server_context.reached.to_string()) };
        let context = Context::with_lease(
            server_context.introduction(hello),
            QueueLimits::default(),
            server_context.clock,
            Lease::default(),
        );
        // Spark's drivers and Workers ask whether there is a Master, and wait for one that calls them.
        let authentication = server_context.spark_authentication()?;
        let bystanders = spark::verifier::serve(arriving, MASTER, authentication, lease.clone());
        let accepted_roles = [Role::Worker, Role::Driver, Role::Client];
        let accepted_roles = accepted_roles.map(|role| AcceptedRole { role, decode: |_, _| Ok(()) });
        context.peers.serve_apart(listener, accepted_roles.into()).map_err(MasterError::Acceptor)?;
        tokio::spawn(bystanders);
        let over = lease.clone();
        tokio::spawn(context.hear_nobody(|_| (), async move { over.over().await }));
        Ok(Self(lease))
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        self.0.end();
    }
}
