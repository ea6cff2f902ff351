//! The launcher's daemon, which runs the state machine [`Launcher`].

use std::ops::ControlFlow;
use std::time::Instant;

use firesteel_engine::launcher::{Config, Effect, Ending, Event, Launcher};
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::{ApplicationFiles, Work};
use firesteel_protocol::wire::{self, DecodeError, Role};
use tokio::sync::{mpsc, oneshot};

use super::Launch;
use super::event::LaunchEvent;
use crate::startup::StartError;
use firesteel_daemons::cluster_event::ClusterEvent;
use firesteel_daemons::driver_daemon::{open, seed};
use firesteel_daemons::files::OfferedFiles;
use firesteel_daemons::secret;
use firesteel_host::clock::Clock;
use firesteel_host::daemon;
use firesteel_host::inbox::Inbox;
use firesteel_host::net::route::local_host_for;
use firesteel_host::net::{Arrival, Introduction, Keyring, QueueLimits};
use firesteel_host::owner::{self, Context, Shell};
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_settings::description::describe;
use firesteel_settings::listen::Listen;

/// Maximum number of events in the print queue. Further events are dropped and logged.
const MOST_WAITING: usize = 65_536;

/// How the launcher's daemon ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchResult {
    /// The application has ended.
    Done { ending: Ending, asked: Option<EndRequest> },
    /// The request to end was repeated. The daemon stops immediately, without cleaning up.
    Abandoned(EndRequest),
}

/// The inbox of a launcher, and its final result.
#[derive(Debug)]
pub struct Handle {
    pub inbox: Inbox<Event>,
    /// Receives the final result, once.
    pub result: oneshot::Receiver<LaunchResult>,
}

pub async fn end(inbox: &Inbox<Event>) {
    // Sending fails only if the launcher has already ended.
    let _ = inbox.send(Event::End).await;
}

/// Passes the cluster's events to a launcher until the application ends. The cluster's Masters cannot report these
/// events.
pub fn follow(inbox: &Inbox<Event>, events: Option<mpsc::Receiver<ClusterEvent>>) {
    ClusterEvent::pass_on(events, inbox, |event| match event {
        ClusterEvent::Moved(masters) => Event::MastersMoved { masters },
        ClusterEvent::Over(end) => Event::Removed { end },
    });
}

/// Starts a launcher for these Masters. Without keys, connections are in the clear. The launcher runs until its
/// application has ended, or until a second request to end. It listens for connections only if Workers have to fetch
/// files from it.
///
/// # Errors
/// The launcher cannot listen.
pub async fn start(
    launch: Launch,
    (masters, keyring): (Vec<Address>, Option<Keyring>),
    files: OfferedFiles,
    mut requests: EndRequests,
) -> Result<(Handle, mpsc::Receiver<LaunchEvent>), StartError> {
    daemon::raise_open_files();
    let (sender, events) = mpsc::channel(MOST_WAITING);
    let (finished, result) = oneshot::channel();
    let secret = keyring.is_some().then(secret::draw);
    let introduction =
        Introduction::new(Role::Driver, "launcher").with_keys(keyring).with_application(secret.as_ref());
    let mut context = Context::introduced(introduction, QueueLimits::default(), Clock::start());
    let mut source = None;
    if !files.is_empty() {
        let (listener, reached) = open(&Listen::of(&launch.properties, || local_host_for(&masters))?).await?;
        context.peers.serve(files.serve_on(listener), Vec::new());
        source = files.description(&reached, secret);
    }
    let launcher = Launcher::new(config(launch, masters, source));
    context.raise(Event::Start);
    let inbox = context.inbox();
    let shell = LaunchShell { events: sender, asked: None };
    tokio::spawn(async move {
        let result = owner::run(launcher, shell, context, &mut requests).await;
        // The caller may have stopped waiting.
        let _ = finished.send(result);
    });
    Ok((Handle { inbox, result }, events))
}

fn config(launch: Launch, masters: Vec<Address>, files: Option<ApplicationFiles>) -> Config {
    let Launch { name, command, directory, until, cluster: _, settings, properties: _, announcement: _ } =
        launch;
    let description = describe(name, &settings, Work { command: command.into(), directory, files });
    Config {
        masters,
        description,
        until,
        registration_timeout: settings.registration_timeout,
        starvation_timeout: settings.starvation_timeout,
        seed: seed(),
    }
}

/// Performs a launcher's effects: connects to Masters, and passes events on.
struct LaunchShell {
    events: mpsc::Sender<LaunchEvent>,
    /// The first request to end, and the time of the request.
    asked: Option<(EndRequest, Instant)>,
}

impl LaunchShell {
    fn tell(&self, event: LaunchEvent) {
        match self.events.try_send(event) {
            // Nobody reads a closed queue: the process is about to end.
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => {}
            Err(mpsc::error::TrySendError::Full(_)) => {
                tracing::warn!("dropped an event: standard output is not read fast enough");
            }
        }
    }
}

impl Shell for LaunchShell {
    type Machine = Launcher;
    type End = LaunchResult;

    fn deadline(_: Timestamp) -> Event {
        Event::Deadline
    }

    fn disconnected(peer: PeerId) -> Event {
        Event::Disconnected { peer }
    }

    fn perform(&mut self, effect: Effect, context: &mut Context<Event>) -> ControlFlow<LaunchResult> {
        match effect {
            Effect::Connect { master } => {
                let dialled = master.clone();
                context.peers.dial(&dialled, Role::Master, from_master, |result| match result {
                    Ok((peer, leadership)) => Event::Connected { peer, master, leadership },
                    Err(error) => Event::ConnectFailed { master, error: error.into() },
                });
            }
            Effect::Send { peer, message } => context.peers.send(peer, message),
            Effect::Close { peer } => context.peers.close(peer),
            Effect::Note(note) => {
                // The receiver of the events prints the important ones.
                tracing::info!("{note}");
                self.tell(LaunchEvent::Noted { at: context.now(), note });
            }
            Effect::Done(ending) => {
                self.tell(LaunchEvent::Done { at: context.now(), ending: ending.clone() });
                return ControlFlow::Break(LaunchResult::Done {
                    ending,
                    asked: self.asked.map(|(request, _)| request),
                });
            }
        }
        ControlFlow::Continue(())
    }

    fn asked_to_end(&mut self, request: EndRequest) -> ControlFlow<LaunchResult, Event> {
        let now = Instant::now();
        let (first, since) = *self.asked.get_or_insert((request, now));
        if first.is_echoed_by(request, now - since) {
            return ControlFlow::Continue(Event::End);
        }
        ControlFlow::Break(LaunchResult::Abandoned(request))
    }
}

fn from_master(Arrival { peer, .. }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: wire::decode(body)? })
}
