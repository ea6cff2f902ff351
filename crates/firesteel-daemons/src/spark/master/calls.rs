//! Connections to Spark's drivers and Workers that wait for a call from a Master that was restarted or takes over.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use firesteel_host::net::VirtualPeers;
use firesteel_master::{Event, Master};
use firesteel_protocol::host;
use firesteel_spark::connection::{Called, Connection};
use firesteel_spark::envelope::Address;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::{Common, Line};
use crate::spark::frames::Frames;

const PAUSE: Duration = Duration::from_secs(1);

/// How long it may take until a called peer accepts the connection.
const ANSWER: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Calls {
    called: Vec<Called>,
    /// The Master's address. `None`: the address that each peer has for the Master.
    here: Option<Address>,
    patience: Duration,
}

impl Calls {
    /// The peers that wait for this Master's call. `here` is this Master's address if it was elected. In that case, the
    /// peers know another address, or none.
    #[must_use]
    pub fn of(master: &Master, here: Option<&firesteel_protocol::address::Address>) -> Self {
        let drivers = master.to_call().into_iter().map(Called::Driver);
        let workers = master.workers_to_call().into_iter().map(Box::new).map(Called::Worker);
        let here = here.map(|here| Address { host: host::in_url(&here.host).into_owned(), port: here.port });
        Self { called: drivers.chain(workers).collect(), here, patience: master.config().recovery_timeout }
    }

    pub(super) fn begin(self, virtual_peers: &VirtualPeers<Event>, common: &Arc<Common>) {
        let until = Instant::now() + self.patience;
        for called in self.called {
            let (virtual_peers, common) = (virtual_peers.of_a_connection(), Arc::clone(common));
            virtual_peers.clone().spawn(call(called, self.here.clone(), until, virtual_peers, common));
        }
    }
}

/// Calls a peer, and serves the connection until it ends.
async fn call(
    called: Called,
    here: Option<Address>,
    until: Instant,
    virtual_peers: VirtualPeers<Event>,
    common: Arc<Common>,
) {
    let name = called.name();
    let (connection, address) = match Connection::calling(called, here) {
        Ok(calling) => calling,
        Err(why) => return tracing::warn!("cannot call {name}: {why}"),
    };
    let dialled = tokio::select! {
        dialled = dial(&address, until) => dialled,
        () = virtual_peers.ended() => return,
    };
    match dialled {
        Ok((stream, remote)) => {
            let frames = Frames::of_stream(stream, virtual_peers.lease());
            Line::new(connection, virtual_peers, remote, common).serve(frames).await;
        }
        Err(error) => tracing::warn!("cannot reach {name} at {}: {error}", address.url()),
    }
}

/// Dials an address repeatedly until the connection is open, or until this time.
async fn dial(address: &Address, until: Instant) -> std::io::Result<(TcpStream, SocketAddr)> {
    let host = host::plain_or_as_given(&address.host);
    loop {
        let dialling = TcpStream::connect((host.as_str(), address.port));
        let dialled = match timeout(ANSWER, dialling).await {
            Ok(dialled) => dialled.and_then(|stream| {
                stream.set_nodelay(true)?;
                let remote = stream.peer_addr()?;
                Ok((stream, remote))
            }),
            Err(elapsed) => Err(elapsed.into()),
        };
        match dialled {
            Ok(dialled) => return Ok(dialled),
            Err(error) if Instant::now() + PAUSE > until => return Err(error),
            Err(_) => sleep(PAUSE).await,
        }
    }
}
