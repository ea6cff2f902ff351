//! Connections that speak Spark's RPC at a Master's port.
//!
//! - `drivers.rs`: the drivers on a connection
//! - `calls.rs`: connections to drivers that wait for a Master that was restarted
//! - `workers.rs`: the Workers of Spark's on it
//! - `clients.rs`: those on it who submit cluster drivers, or ask whether the Master works
//!
//! Several of them may share a connection. Each is a peer of the owner's, with an [`Envoy`](firesteel_host::net::Envoy) of its own.

mod calls;
mod clients;
mod drivers;
mod workers;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use firesteel_core::ids::{PeerId, WorkerId};
use firesteel_core::master::{Event, Inbound};
use firesteel_core::messages::ClientToMaster;
use firesteel_host::inbox::OwnerGone;
use firesteel_host::net::{Envoys, Guest, Letter, Letters};
use firesteel_host::seldom::Seldom;
use firesteel_spark::OrderForms;
use firesteel_spark::frame::Frame;
use firesteel_spark::session::{Heard, PeerNumber, Session};
use futures_util::FutureExt;
use futures_util::stream::{SelectAll, Stream, StreamExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

pub use self::calls::Calls;
use self::clients::{Asker, Owed};
use self::drivers::Driver;
use self::workers::SparkWorker;
use super::frames::{Broken, Frames};

/// How long a connection may be open before somebody on it registers.
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(60);

/// How long what was queued may take to be written after the Master has ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// Calls the drivers that wait for it, and serves all connections that come, until no more can.
pub async fn serve(mut guests: mpsc::Receiver<Guest>, calls: Calls, envoys: Envoys<Event>) {
    let common =
        Arc::new(Common { lines: Seldom::a_minute(10), forms: Mutex::default(), workers: Mutex::default() });
    calls.begin(&envoys, &common);
    while let Some(guest) = guests.recv().await {
        let (remote, common) = (guest.remote, Arc::clone(&common));
        let envoys = envoys.of_a_connection();
        envoys.clone().spawn(async move {
            let mut frames = Frames::of(guest, envoys.tenure());
            let mut connection = Connection::new(envoys, remote, common);
            let end = connection.run(&mut frames).await;
            connection.finish(frames, end).await;
        });
    }
}

/// What all connections share.
struct Common {
    /// Counts the lines of the log that anybody can cause who reaches the port.
    lines: Seldom,
    forms: Mutex<OrderForms>,
    /// The Workers that are registered, and the peer that each is to the Master.
    workers: Mutex<BTreeMap<WorkerId, PeerId>>,
}

impl Common {
    fn forms(&self) -> MutexGuard<'_, OrderForms> {
        self.forms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn workers(&self) -> MutexGuard<'_, BTreeMap<WorkerId, PeerId>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a connection ends.
enum End {
    ByPeer,
    /// The Master has ended it.
    Here,
    /// Nobody on it has registered in time.
    Mute,
}

/// One connection, and the peers on it.
struct Connection {
    session: Session,
    envoys: Envoys<Event>,
    remote: SocketAddr,
    /// The drivers whose applications have not ended.
    drivers: BTreeMap<PeerNumber, Driver>,
    workers: BTreeMap<PeerNumber, SparkWorker>,
    asker: Option<Asker>,
    letters: SelectAll<Addressed>,
    /// Whether somebody has registered.
    has_registered: bool,
    common: Arc<Common>,
}

/// What the Master sends to one of the peers.
struct Addressed {
    address: Addressee,
    letters: Letters,
}

/// Whom the Master sends something: the number on the connection, and the peer that it is to the Master. With its next
/// application a driver is another peer.
#[derive(Clone, Copy)]
enum Addressee {
    Driver(PeerNumber, PeerId),
    Worker(PeerNumber),
    Asker,
}

impl Stream for Addressed {
    type Item = (Addressee, Letter);

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let address = self.address;
        Pin::new(&mut self.letters).poll_next(context).map(|letter| letter.map(|letter| (address, letter)))
    }
}

impl Connection {
    fn new(envoys: Envoys<Event>, remote: SocketAddr, common: Arc<Common>) -> Self {
        Self {
            session: Session::default(),
            envoys,
            remote,
            drivers: BTreeMap::new(),
            workers: BTreeMap::new(),
            asker: None,
            letters: SelectAll::new(),
            has_registered: false,
            common,
        }
    }

    /// Says how the connection ended, and writes what is left if the Master has ended it.
    async fn finish(mut self, frames: Frames, end: Result<End, Broken>) {
        let remote = self.remote;
        self.workers.values_mut().for_each(|worker| drop(worker.leave(&self.common)));
        match end {
            Ok(End::ByPeer) => tracing::debug!(%remote, "connection of Spark's ended"),
            Ok(End::Here) => {
                let _ = timeout(FLUSH_TIMEOUT, frames.finish()).await;
            }
            Ok(End::Mute) => tracing::debug!(%remote, "nobody registered on a connection of Spark's"),
            Err(broken) => self.complain(&broken.to_string()),
        }
    }

    async fn run(&mut self, frames: &mut Frames) -> Result<End, Broken> {
        let envoys = self.envoys.clone();
        let mut mute = Box::pin(tokio::time::sleep(REGISTRATION_TIMEOUT));
        loop {
            let is_full = frames.is_full();
            tokio::select! {
                more = frames.exchange() => {
                    if !more? {
                        return Ok(End::ByPeer);
                    }
                    while let Some(frame) = frames.take()? {
                        let bytes = frame.body_length();
                        for heard in self.session.hear(frame) {
                            if self.take(heard, bytes, frames).await.is_err() {
                                return Ok(End::Here);
                            }
                        }
                    }
                }
                Some(first) = self.letters.next(), if !is_full => {
                    if self.deliver_all(first, frames).await.is_break() {
                        return Ok(End::Here);
                    }
                }
                () = envoys.ended(), if self.is_empty() => return Ok(End::Here),
                () = &mut mute, if !self.has_registered => return Ok(End::Mute),
            }
        }
    }

    /// Whether nobody on it is a peer of the Master's any more.
    fn is_empty(&self) -> bool {
        self.drivers.is_empty() && self.workers.values().all(|worker| !worker.is_here())
    }

    /// Does what comes of a frame of this length.
    async fn take(&mut self, heard: Heard, bytes: usize, frames: &mut Frames) -> Result<(), OwnerGone> {
        match heard {
            Heard::Reply(frame) => {
                if let Frame::Failure { reason, .. } = &frame {
                    self.complain(&format!("a request is refused: {reason}"));
                }
                frames.push(&frame);
            }
            Heard::Driver(number, message) => {
                if let Some(request) = self.request(number, message, frames)? {
                    self.driver_says(number, bytes, request).await?;
                }
            }
            Heard::Worker(number, message) => {
                for message in self.report(number, message, frames)? {
                    self.worker_says(number, bytes, message, frames).await?;
                }
            }
            Heard::Client(client, id, request) => {
                self.client_asks((client, id), request, bytes, frames).await?
            }
            Heard::Readyz(id) => self.ask(Owed::Readyz(id), bytes, ClientToMaster::RequestReadyz).await?,
            Heard::Strange(sentence) => self.complain(&sentence),
        }
        Ok(())
    }

    /// Has written what the Master sends, this first, and then all that is there: it leaves with one write. `Break` if the
    /// Master has ended the last peer.
    async fn deliver_all(&mut self, first: (Addressee, Letter), frames: &mut Frames) -> ControlFlow<()> {
        let mut next = Some(first);
        while let Some((address, letter)) = next {
            let is_over = self.deliver(address, letter, frames).await.is_break();
            if is_over && self.is_empty() {
                return ControlFlow::Break(());
            }
            next = if frames.is_full() { None } else { self.letters.next().now_or_never().flatten() };
        }
        ControlFlow::Continue(())
    }

    /// Has written what the Master sends to a peer. `Break` if the Master ends the peer's connection.
    async fn deliver(&mut self, address: Addressee, letter: Letter, frames: &mut Frames) -> ControlFlow<()> {
        match address {
            Addressee::Driver(number, peer) => self.deliver_to_driver((number, peer), letter, frames),
            Addressee::Worker(number) => self.deliver_to_worker(number, letter, frames).await,
            Addressee::Asker => self.deliver_to_asker(letter, frames),
        }
    }

    /// Gives the Master a message of a peer, which had this number of bytes.
    async fn tell(&self, peer: PeerId, bytes: usize, message: Inbound) -> Result<(), OwnerGone> {
        let arrived = self.envoys.now();
        self.envoys.say_for(peer, arrived, bytes, Event::Received { peer, arrived, message }).await
    }

    /// Says in the log that something is wrong with a peer.
    fn complain(&self, sentence: &str) {
        if let Some(left_out) = self.common.lines.next() {
            tracing::warn!(remote = %self.remote, "connection of Spark's: {sentence}{left_out}");
        }
    }
}
