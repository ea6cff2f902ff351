//! Connections to Spark's drivers and Workers that wait for a call from a Master that was restarted or takes over.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use firesteel_host::net::VirtualPeers;
use firesteel_host::net::dial::connect;
use firesteel_master::{Event, Master};
use firesteel_protocol::host;
use firesteel_spark::connection::{Called, Connection};
use firesteel_spark::envelope::Address;
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use super::{Common, Line};
use crate::master::reach::{OutOfReach, Reach};
use crate::spark::authentication::prove;
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
    reach: Arc<Reach>,
    /// One permit for each attempt to connect.
    attempts: Arc<Semaphore>,
}

/// The maximum number of simultaneous attempts to connect.
const ATTEMPTS: usize = 64;

impl Calls {
    /// The peers that wait for this Master's call. `here` is this Master's address if it was elected. In that case, the
    /// peers know another address, or none.
    #[must_use]
    pub(crate) fn of(
        master: &Master,
        here: Option<&firesteel_protocol::address::Address>,
        reach: &Arc<Reach>,
    ) -> Self {
        let drivers = master.to_call().into_iter().map(Called::Driver);
        let workers = master.workers_to_call().into_iter().map(Box::new).map(Called::Worker);
        let here = here.map(|here| Address { host: host::in_url(&here.host).into_owned(), port: here.port });
        Self {
            called: drivers.chain(workers).collect(),
            here,
            patience: master.config().recovery_timeout,
            reach: Arc::clone(reach),
            attempts: Arc::new(Semaphore::new(ATTEMPTS)),
        }
    }

    pub(super) fn begin(self, virtual_peers: &VirtualPeers<Event>, common: &Arc<Common>) {
        let until = Instant::now() + self.patience;
        for called in self.called {
            let (virtual_peers, common) = (virtual_peers.of_a_connection(), Arc::clone(common));
            let caller =
                Caller { until, reach: Arc::clone(&self.reach), attempts: Arc::clone(&self.attempts) };
            virtual_peers.clone().spawn(call(called, self.here.clone(), caller, virtual_peers, common));
        }
    }
}

/// Calls a peer, and serves the connection until it ends.
async fn call(
    called: Called,
    here: Option<Address>,
    caller: Caller,
    virtual_peers: VirtualPeers<Event>,
    common: Arc<Common>,
) {
    let (name, from, secret) = (called.name(), called.registered_from(), called.secret());
    let transition = common.authentication.transition().filter(|_| secret.is_none()).cloned();
    if secret.is_none() && transition.is_none() && common.authentication.is_asked() {
        return tracing::warn!("cannot call {name}: it registered without a secret");
    }
    let (connection, address) = match Connection::calling(called, here) {
        Ok(calling) => calling,
        Err(why) => return tracing::warn!("cannot call {name}: {why}"),
    };
    let dialled = tokio::select! {
        dialled = caller.dial(&address, from) => dialled,
        () = virtual_peers.ended() => return,
    };
    match dialled {
        Ok((stream, remote)) => {
            let mut frames = match common.authentication.tls() {
                None => Frames::of_stream(stream, virtual_peers.lease()),
                Some(tls) => match tls.dialled(stream, virtual_peers.lease()).await {
                    Ok(frames) => frames,
                    Err(why) => return tracing::warn!("cannot call {name} at {}: {why}", address.url()),
                },
            };
            if let Some(transition) = transition {
                frames.end_with(transition);
            }
            if let Some((mechanism, secret)) = secret
                && let Err(why) = prove(mechanism, secret, &mut frames).await
            {
                return tracing::warn!("cannot call {name} at {}: {why}", address.url());
            }
            Line::new(connection, virtual_peers, remote, common).serve(frames).await;
        }
        Err(error) => tracing::warn!("cannot reach {name} at {}: {error}", address.url()),
    }
}

/// Connects to waiting peers.
struct Caller {
    until: Instant,
    reach: Arc<Reach>,
    attempts: Arc<Semaphore>,
}

/// Why a peer cannot be reached.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error(transparent)]
    OutOfReach(#[from] OutOfReach),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Caller {
    /// Dials an address repeatedly until the connection is open, or until the time is over. `from`: the address from
    /// which the peer has registered. An earlier version did not store it; such a peer is called where it says.
    async fn dial(
        &self,
        address: &Address,
        from: Option<IpAddr>,
    ) -> Result<(TcpStream, SocketAddr), CallError> {
        let host = host::plain_or_as_given(&address.host);
        loop {
            let attempt = self.attempts.acquire().await.expect("nobody closes it");
            let dialling = async {
                let addresses = match from {
                    Some(_) => self.reach.addresses(&host, address.port, from).await?,
                    None => lookup_host((host.as_str(), address.port)).await?.collect(),
                };
                let stream = connect(&addresses[..]).await?;
                stream.set_nodelay(true)?;
                let remote = stream.peer_addr()?;
                Ok((stream, remote))
            };
            let dialled = match timeout(ANSWER, dialling).await {
                Ok(dialled) => dialled,
                Err(elapsed) => Err(io::Error::from(elapsed).into()),
            };
            drop(attempt);
            match dialled {
                Ok(dialled) => return Ok(dialled),
                Err(error @ CallError::OutOfReach(OutOfReach::Elsewhere { .. })) => return Err(error),
                Err(error) if Instant::now() + PAUSE > self.until => return Err(error),
                Err(_) => sleep(PAUSE).await,
            }
        }
    }
}
