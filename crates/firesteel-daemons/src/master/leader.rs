use firesteel_host::journal::Writer;
use firesteel_host::net::{Arrival, QueueLimits, Welcome};
use firesteel_host::owner::{self, Context};
use firesteel_host::signals::EndRequests;
use firesteel_host::tenure::Tenure;
use firesteel_master::{Event, Inbound, Master};
use firesteel_protocol::wire::{self, DecodeError, Hello, Role};

use super::shell::{End, MasterShell};
use super::{MasterError, Seat};
use crate::spark;

pub(super) struct Leader {
    pub(super) master: Master,
    /// `None` if the Master keeps no state.
    pub(super) journal: Option<Writer>,
    /// Its epoch; 0 if it was not elected.
    pub(super) epoch: u64,
    pub(super) tenure: Tenure,
}

impl Leader {
    /// Serves until it is asked to end, cannot keep its state, or its lease is over. Calls `announce` when it can be
    /// reached.
    pub(super) async fn serve(
        self,
        seat: &Seat,
        announce: impl FnOnce(),
        requests: &mut EndRequests,
    ) -> Result<End, MasterError> {
        let Self { master, journal, epoch, tenure } = self;
        let (listener, arriving) = seat.listener()?;
        let hello = Hello { epoch, ..Hello::new(Role::Master, seat.reached.to_string()) };
        let clock = seat.clock.not_before(master.time());
        let context =
            Context::with_tenure(seat.introduction(hello), QueueLimits::default(), clock, tenure.clone());
        let here = (epoch != 0).then_some(&seat.reached);
        let calls = spark::master::Calls::of(&master, here);
        let welcome = vec![
            Welcome { role: Role::Worker, decode: from_worker },
            Welcome { role: Role::Driver, decode: from_driver },
            Welcome { role: Role::Client, decode: from_client },
        ];
        seat.site.leads(context.peers.envoys(), journal.as_ref().map(Writer::meter));
        seat.rest.leads(context.peers.envoys());
        tokio::spawn(spark::master::serve(arriving, calls, context.peers.envoys()));
        context.peers.serve_apart(listener, welcome).map_err(MasterError::Acceptor)?;
        announce();
        tokio::select! {
            biased;
            () = tenure.over() => Ok(End::Deposed),
            end = owner::run(master, MasterShell::new(journal), context, requests) => Ok(end),
        }
    }
}

fn from_worker(Arrival { peer, at }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, arrived: at, message: Inbound::Worker(wire::decode(body)?) })
}

fn from_driver(Arrival { peer, at }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, arrived: at, message: Inbound::Driver(wire::decode(body)?) })
}

fn from_client(Arrival { peer, at }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, arrived: at, message: Inbound::Client(wire::decode(body)?) })
}
