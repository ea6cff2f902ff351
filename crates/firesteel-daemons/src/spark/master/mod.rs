//! Drivers of Spark's at a Master's port.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use firesteel_core::ids::{AppId, PeerId};
use firesteel_core::master::{Event, Inbound};
use firesteel_core::messages::{DriverToMaster, MasterToDriver, ResourceProfile};
use firesteel_core::wire::{self, Role};
use firesteel_host::inbox::OwnerGone;
use firesteel_host::net::{Envoy, Envoys, Guest, Letter, Letters};
use firesteel_host::seldom::Seldom;
use firesteel_spark::frame::Frame;
use firesteel_spark::messages::{FromDriver, FromWorker, Registration, ToDriver, ToWorker};
use firesteel_spark::session::{Heard, PeerNumber, Session};
use firesteel_spark::translate::{self, Told, Unfit};
use futures_util::stream::{SelectAll, Stream, StreamExt};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::frames::{Broken, Frames};

/// How long a connection may be open before somebody on it registers.
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(60);

/// How long what was queued may take to be written after the Master has ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// Serves all connections that come, until no more can.
pub async fn serve(mut guests: mpsc::Receiver<Guest>, envoys: Envoys<Event>) {
    let lines = Arc::new(Seldom::a_minute(10));
    while let Some(guest) = guests.recv().await {
        let (remote, envoys, lines) = (guest.remote, envoys.clone(), Arc::clone(&lines));
        envoys.clone().spawn(async move {
            let mut connection = Connection::new(envoys, remote, lines);
            let mut frames = Frames::of(guest);
            match connection.run(&mut frames).await {
                Ok(End::ByPeer) => tracing::debug!(%remote, "connection of Spark's ended"),
                Ok(End::Here) => {
                    let _ = timeout(FLUSH_TIMEOUT, frames.finish()).await;
                }
                Ok(End::Mute) => tracing::debug!(%remote, "nobody registered on a connection of Spark's"),
                Err(broken) => connection.complain(&broken.to_string()),
            }
        });
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

/// One connection, and the drivers on it.
struct Connection {
    session: Session,
    envoys: Envoys<Event>,
    remote: SocketAddr,
    /// The drivers whose applications have not ended.
    drivers: BTreeMap<PeerNumber, Driver>,
    letters: SelectAll<Addressed>,
    /// Whether there was a driver.
    has_registered: bool,
    /// Counts the lines of the log that anybody can cause who reaches the port.
    lines: Arc<Seldom>,
}

/// A driver that has registered.
struct Driver {
    envoy: Envoy<Event>,
    /// The profile that its application came with.
    default: ResourceProfile,
}

/// What the Master sends to one of the drivers.
struct Addressed {
    address: Addressee,
    letters: Letters,
}

/// A driver: its number on the connection, and the peer that it is to the Master. With its next application it is another
/// peer.
#[derive(Clone, Copy)]
struct Addressee {
    number: PeerNumber,
    peer: PeerId,
}

impl Stream for Addressed {
    type Item = (Addressee, Letter);

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let address = self.address;
        Pin::new(&mut self.letters).poll_next(context).map(|letter| letter.map(|letter| (address, letter)))
    }
}

impl Connection {
    fn new(envoys: Envoys<Event>, remote: SocketAddr, lines: Arc<Seldom>) -> Self {
        Self {
            session: Session::default(),
            envoys,
            remote,
            drivers: BTreeMap::new(),
            letters: SelectAll::new(),
            has_registered: false,
            lines,
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
                Some((address, letter)) = self.letters.next(), if !is_full => {
                    let is_over = self.deliver(address, letter, frames).is_break();
                    if is_over && self.drivers.is_empty() {
                        return Ok(End::Here);
                    }
                }
                () = envoys.ended(), if self.drivers.is_empty() => return Ok(End::Here),
                () = &mut mute, if !self.has_registered => return Ok(End::Mute),
            }
        }
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
                    self.say(number, bytes, request).await?;
                }
            }
            Heard::Worker(number, message) => {
                if let FromWorker::RegisterWorker(_) = message {
                    let message =
                        "this Master takes no Workers of Spark's yet: start `firesteel worker` there";
                    let refusal = ToWorker::RegisterWorkerFailed { message: message.to_owned() };
                    frames.push(&self.session.tell_worker(number, &refusal));
                }
            }
            Heard::Strange(sentence) => self.complain(&sentence),
        }
        Ok(())
    }

    /// What the Master is told of a driver's message, if anything.
    fn request(
        &mut self,
        number: PeerNumber,
        message: FromDriver,
        frames: &mut Frames,
    ) -> Result<Option<DriverToMaster>, OwnerGone> {
        let is_first = matches!(message, FromDriver::RegisterApplication(_));
        if !is_first && !self.drivers.contains_key(&number) {
            // Its application has ended.
            self.answer(number, false, frames);
            return Ok(None);
        }
        let request = match message {
            FromDriver::RegisterApplication(registration) => {
                return self.register(number, *registration, frames);
            }
            FromDriver::RequestExecutors { app, wanted } => {
                let targets = translate::targets(&wanted, &self.drivers[&number].default);
                targets.map(|targets| DriverToMaster::RequestExecutors { app: AppId::new(app), targets })
            }
            FromDriver::KillExecutors { app, executors } => {
                let executors = translate::executors(&executors);
                Ok(DriverToMaster::KillExecutors { app: AppId::new(app), executors })
            }
            FromDriver::UnregisterApplication { app: Some(app) } => {
                Ok(DriverToMaster::UnregisterApplication { app: AppId::new(app), outcome: None })
            }
            // A Master that comes back sends no driver a message that this would answer.
            FromDriver::UnregisterApplication { app: None } | FromDriver::MasterChangeAcknowledged { .. } => {
                return Ok(None);
            }
        };
        match request {
            Ok(request) => Ok(Some(request)),
            Err(unfit) => {
                self.complain(&format!("a driver's request is refused: {unfit}"));
                self.answer(number, false, frames);
                Ok(None)
            }
        }
    }

    /// A driver registers an application: with it the driver becomes a peer of the Master's.
    fn register(
        &mut self,
        number: PeerNumber,
        registration: Registration,
        frames: &mut Frames,
    ) -> Result<Option<DriverToMaster>, OwnerGone> {
        let name = registration.application.name.clone();
        let description = match translate::application(registration.application) {
            Ok(description) => description,
            Err(unfit) => {
                self.refuse(number, &name, &unfit, frames);
                return Ok(None);
            }
        };
        if !self.drivers.contains_key(&number) {
            let (envoy, letters) = self.envoys.open(Role::Driver, name, self.remote)?;
            let address = Addressee { number, peer: envoy.peer() };
            self.letters.push(Addressed { address, letters });
            self.has_registered = true;
            self.drivers.insert(number, Driver { envoy, default: description.profile.clone() });
        }
        Ok(Some(DriverToMaster::RegisterApplication(Box::new(description))))
    }

    /// Tells a driver why its application cannot be taken, in the only words that its protocol has for it.
    fn refuse(&mut self, number: PeerNumber, name: &str, unfit: &Unfit, frames: &mut Frames) {
        self.complain(&format!("application {name:?} is refused: {unfit}"));
        let message = ToDriver::ApplicationRemoved { message: format!("FAILED: refused: {unfit}") };
        frames.push(&self.session.tell_driver(number, &message));
    }

    /// Answers a driver's oldest request, if it waits for an answer. Whether it does.
    fn answer(&mut self, number: PeerNumber, yes: bool, frames: &mut Frames) -> bool {
        let answer = self.session.answer(number, yes);
        answer.iter().for_each(|frame| frames.push(frame));
        answer.is_some()
    }

    /// Gives the Master a driver's message, which had this number of bytes.
    async fn say(&self, number: PeerNumber, bytes: usize, message: DriverToMaster) -> Result<(), OwnerGone> {
        let Some(Driver { envoy, .. }) = self.drivers.get(&number) else { return Ok(()) };
        let (peer, arrived) = (envoy.peer(), envoy.now());
        let event = Event::Received { peer, arrived, message: Inbound::Driver(message) };
        envoy.say(arrived, bytes, event).await
    }

    /// Has written what the Master sends to a driver. Of an application that has ended no more is told. `Break` if the Master
    /// ends the driver's connection.
    fn deliver(&mut self, address: Addressee, letter: Letter, frames: &mut Frames) -> ControlFlow<()> {
        let Addressee { number, peer } = address;
        if self.drivers.get(&number).is_none_or(|driver| driver.envoy.peer() != peer) {
            return ControlFlow::Continue(());
        }
        let body = match letter {
            Letter::Message(body) => body,
            Letter::End(why) => {
                if let Some(driver) = self.drivers.remove(&number) {
                    driver.envoy.end(why);
                }
                return ControlFlow::Break(());
            }
        };
        let message: MasterToDriver = wire::decode(&body).expect("the Master encodes what it sends");
        match translate::to_driver(&message, self.session.master(number)) {
            Told::Message(message) => {
                frames.push(&self.session.tell_driver(number, &message));
                if let ToDriver::ApplicationRemoved { .. } = message {
                    self.drivers.remove(&number);
                    // The Master answers nothing any more.
                    while self.answer(number, false, frames) {}
                }
            }
            Told::Answer(yes) => {
                self.answer(number, yes, frames);
            }
            Told::Nothing => {}
        }
        ControlFlow::Continue(())
    }

    /// Says in the log that something is wrong with a peer.
    fn complain(&self, sentence: &str) {
        if let Some(left_out) = self.lines.next() {
            tracing::warn!(remote = %self.remote, "connection of Spark's: {sentence}{left_out}");
        }
    }
}
