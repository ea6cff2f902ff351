//! The Master while it leads: its owner loop, from the election or the start until the lease or the daemon ends.

use std::sync::Arc;

use firesteel_host::journal::Writer;
use firesteel_host::lease::Lease;
use firesteel_host::net::{AcceptedRole, Arrival};
use firesteel_host::owner::{self, Context};
use firesteel_host::signals::EndRequests;
use firesteel_master::{Event, Inbound, Master};
use firesteel_protocol::messages::{ClientToMaster, DriverToMaster};
use firesteel_protocol::wire::{self, DecodeError, Hello, Role};

use super::shell::{End, MasterShell};
use super::{MasterError, ServerContext};
use crate::spark;

pub(super) struct Leader {
    pub(super) master: Master,
    /// The Master's journal. `None` if the Master keeps no state.
    pub(super) journal: Option<Writer>,
    /// The epoch of this leadership; 0 if the Master was not elected.
    pub(super) epoch: u64,
    pub(super) lease: Lease,
}

impl Leader {
    /// Serves until the Master is asked to end, can no longer keep its state, or its lease ends. Calls `announce` when
    /// peers can connect.
    pub(super) async fn serve(
        self,
        server_context: &ServerContext,
        announce: impl FnOnce(),
        requests: &mut EndRequests,
    ) -> Result<End, MasterError> {
        let Self { master, journal, epoch, lease } = self;
        if let Some(over) = master.over_budget() {
            tracing::warn!("{over}");
        }
        let (listener, arriving) = server_context.listener()?;
        let hello = Hello { epoch, ..Hello::new(Role::Master, server_context.reached.to_string()) };
        let clock = server_context.clock.not_before(master.time());
        let context = Context::with_lease(
            server_context.introduction(hello),
            server_context.queue_limits()?,
            clock,
            lease.clone(),
        );
        let here = (epoch != 0).then_some(&server_context.reached);
        let calls = spark::master::Calls::of(&master, here, &server_context.reach);
        let accepted_roles = vec![
            AcceptedRole { role: Role::Worker, decode: from_worker },
            AcceptedRole { role: Role::Driver, decode: from_driver },
            AcceptedRole { role: Role::Client, decode: from_client },
        ];
        server_context.site.leads(context.peers.virtual_peers(), journal.as_ref().map(Writer::meter));
        server_context.rest.leads(context.peers.virtual_peers());
        let authentication = server_context.spark_authentication()?;
        tokio::spawn(spark::master::serve(arriving, calls, authentication, context.peers.virtual_peers()));
        context.peers.serve_apart(listener, accepted_roles).map_err(MasterError::Acceptor)?;
        announce();
        tokio::select! {
            biased;
            () = lease.over() => Ok(End::Deposed),
            end = owner::run(master, MasterShell::new(journal, Arc::clone(&server_context.reach)), context, requests) => Ok(end),
        }
    }
}

fn from_worker(Arrival { peer, at, .. }: Arrival<'_>, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, arrived: at, message: Inbound::Worker(wire::decode(body)?) })
}

/// An application belongs to the user whom the secret of its driver proves. The name that the driver gives does not
/// count.
fn from_driver(Arrival { peer, user, at, .. }: Arrival<'_>, body: &[u8]) -> Result<Event, DecodeError> {
    let mut message: DriverToMaster = wire::decode(body)?;
    message.prove(user);
    Ok(Event::Received { peer, arrived: at, message: Inbound::Driver(message) })
}

/// A request is made by the user whom the client's secret proves, with the rights that it gives. The name that the
/// client gives does not count.
fn from_client(Arrival { peer, user, rights, at }: Arrival<'_>, body: &[u8]) -> Result<Event, DecodeError> {
    let mut message: ClientToMaster = wire::decode(body)?;
    message.prove(user, rights);
    Ok(Event::Received { peer, arrived: at, message: Inbound::Client(message) })
}
