//! The Master's daemon: its options, its errors and its shell.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use firesteel_core::Timestamp;
use firesteel_core::address::Address;
use firesteel_core::ids::PeerId;
use firesteel_core::master::{Config, Durability, Effect, Event, Inbound, Master, Outbound, Record};
use firesteel_core::wire::{self, DecodeError, Role};

use firesteel_host::clock::Clock;
use firesteel_host::daemon::{self, Announcement, Lifetime};
use firesteel_host::journal::{Batch, JournalError, Writer};
use firesteel_host::net::{Arrival, ListenError, Listener, QueueLimits, Welcome};
use firesteel_host::owner::{self, Commit, Context, Shell};
use firesteel_host::signals::EndRequest;
use firesteel_settings::{Properties, SettingError};
use futures_util::future::BoxFuture;

use crate::master_journal::{self, StateError};
use crate::spark;

/// The options of a Master's daemon.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on. Port 0 means any free port.
    pub address: Address,
    /// The settings of the Master.
    pub properties: Properties,
    /// How it announces that it is ready.
    pub announcement: Announcement,
    /// What ends the daemon.
    pub lifetime: Lifetime,
}

/// Why a Master could not start.
#[derive(Debug, thiserror::Error)]
pub enum MasterError {
    /// A setting cannot be used.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The Master cannot listen on its address.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The Master's state cannot be read or kept.
    #[error(transparent)]
    State(#[from] StateError),
    /// The Master can no longer keep its state. Nothing that was decided since was told to anybody.
    #[error(
        "{0}. Executors keep running. Nobody was told of what could not be written: when the cause is removed, start the \
         Master again"
    )]
    NotDurable(JournalError),
    /// The Master cannot start the thread that accepts connections.
    #[error("cannot start the thread that accepts connections: {0}")]
    Acceptor(io::Error),
    /// The Master cannot catch signals.
    #[error("cannot catch signals: {0}")]
    Signals(io::Error),
}

/// Runs a Master until it is asked to end.
///
/// # Errors
/// The Master could not start.
pub fn run(options: Options) -> BoxFuture<'static, Result<(), MasterError>> {
    // In a box, so that this crate compiles the future, and not each one that awaits it.
    Box::pin(serve(options))
}

async fn serve(options: Options) -> Result<(), MasterError> {
    let Options { address, properties, announcement, lifetime } = options;
    // Settings are checked before anything else is done.
    firesteel_settings::master::config(&properties, String::new())?;
    daemon::raise_open_files();
    let requests = lifetime.end_requests().map_err(MasterError::Signals)?;
    let (listener, arriving) = spark::also_at(Listener::bind(&address).await?);
    let reached = daemon::reachable(&address.host, listener.local().port());
    let clock = Clock::start();
    let config = Config {
        first_application: first_application(clock.now()),
        ..firesteel_settings::master::config(&properties, reached.url())?
    };

    let directory = directory(config.durability, &properties, address.port);
    let (master, journal) = recovered(config, directory, clock.now())?;
    let clock = clock.not_before(master.time());
    let calls = spark::master::Calls::new(master.to_call(), master.config().recovery_timeout);
    let context = Context::new(Role::Master, &reached.to_string(), QueueLimits::default(), clock);
    let welcome = vec![
        Welcome { role: Role::Worker, decode: from_worker },
        Welcome { role: Role::Driver, decode: from_driver },
        Welcome { role: Role::Client, decode: from_client },
    ];
    tokio::spawn(spark::master::serve(arriving, calls, context.peers.envoys()));
    context.peers.serve_apart(listener, welcome).map_err(MasterError::Acceptor)?;
    tracing::info!("listening on {}", reached.url());
    announcement.ready(&reached);
    match owner::run(master, MasterShell::new(journal), context, requests).await {
        End::Asked(request) => {
            tracing::info!("ended: {request}");
            Ok(())
        }
        End::NotDurable(error) => Err(MasterError::NotDurable(error)),
    }
}

/// The directory of the Master's journal, if it keeps one. Nobody could return to a Master on a port that happened to be
/// free, so it keeps none unless a directory is set.
fn directory(durability: Durability, properties: &Properties, port: u16) -> Option<PathBuf> {
    match durability {
        Durability::Volatile => None,
        Durability::Durable => firesteel_settings::master::recovery_directory(properties)
            .or_else(|| (port != 0).then(|| PathBuf::from(format!("recovery-{port}")))),
    }
}

/// The Master with what its journal has, and the journal. Without a journal it is a new one.
fn recovered(
    config: Config,
    directory: Option<PathBuf>,
    now: Timestamp,
) -> Result<(Master, Option<Writer>), MasterError> {
    match directory {
        None => Ok((Master::new(Config { durability: Durability::Volatile, ..config }), None)),
        Some(directory) => {
            let (master, journal) = master_journal::open(&directory, config, now)?;
            Ok((master, Some(journal)))
        }
    }
}

/// The first number of an application: ten for each millisecond of the second in which the Master started.
/// So a Master that replaces another one within that second does not reuse an id.
fn first_application(started: Timestamp) -> u64 {
    started.millis() % 1000 * 10
}

/// Performs a Master's effects: it keeps records, sends messages and writes the log.
struct MasterShell {
    /// `None` if the Master is to forget. A commit under way has it locked.
    journal: Option<Arc<Mutex<Writer>>>,
    /// What the next commit makes durable.
    batch: Batch,
    /// Whether that has something that must be durable before anybody hears of it.
    is_due: bool,
}

/// How a Master ends.
enum End {
    Asked(EndRequest),
    NotDurable(JournalError),
}

impl MasterShell {
    fn new(journal: Option<Writer>) -> Self {
        let journal = journal.map(|journal| Arc::new(Mutex::new(journal)));
        Self { journal, batch: Batch::default(), is_due: false }
    }
}

impl Shell for MasterShell {
    type Machine = Master;
    type End = End;

    fn deadline(heard_until: Timestamp) -> Event {
        Event::Deadline { heard_until }
    }

    fn disconnected(peer: PeerId) -> Event {
        Event::Disconnected { peer }
    }

    fn perform(&mut self, effect: Effect, context: &mut Context<Event>) -> ControlFlow<End> {
        match effect {
            Effect::Persist(records) => {
                if self.journal.is_some() {
                    Record::append_all(&records, self.batch.end());
                    self.is_due |= !Record::may_wait(&records);
                }
            }
            Effect::Send { peer, message: Outbound::Worker(message) } => context.peers.send(peer, message),
            Effect::Send { peer, message: Outbound::Driver(message) } => context.peers.send(peer, message),
            Effect::Send { peer, message: Outbound::Client(message) } => context.peers.send(peer, message),
            Effect::Close { peer } => context.peers.close(peer),
            Effect::Note(note) => owner::note(note.level(), &note),
        }
        ControlFlow::Continue(())
    }

    /// Writes on a thread that may wait for the disk.
    fn commit(&mut self, master: &Master) -> Option<Commit<End>> {
        let is_due = std::mem::take(&mut self.is_due) || self.batch.is_full();
        let journal = Arc::clone(self.journal.as_ref().filter(|_| is_due)?);
        let batch = std::mem::take(&mut self.batch);
        let image = locked(&journal).wants_image().then(|| master_journal::image(master));
        let writing = tokio::task::spawn_blocking(move || {
            let mut journal = locked(&journal);
            journal.commit(batch)?;
            image.map_or(Ok(()), |image| journal.replace(&image))
        });
        Some(Box::pin(async {
            match writing.await.expect("a writer does not panic") {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(End::NotDurable(error)),
            }
        }))
    }

    fn asked_to_end(&mut self, request: EndRequest) -> ControlFlow<End, Event> {
        // What may wait for a next commit is in the last one.
        self.is_due |= !self.batch.is_empty();
        ControlFlow::Break(End::Asked(request))
    }
}

fn locked(journal: &Mutex<Writer>) -> MutexGuard<'_, Writer> {
    journal.lock().expect("a writer does not panic")
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
