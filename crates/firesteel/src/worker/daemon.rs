//! The daemon: the Worker's machine with its connections and its runners.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use firesteel_core::address::Address;
use firesteel_core::ids::{ExecutorKey, PeerId, WorkerId, is_sound};
use firesteel_core::messages::{RefusedRegistration, WorkerDescription};
use firesteel_core::process::Signal;
use firesteel_core::wire::{self, DecodeError, Role};
use firesteel_core::worker::{Config, Effect, Event, ExecutorPlan, Exit, Inbound, Outbound, Worker};
use firesteel_placement::{Cores, MiB, Resources};

use super::executor_runner::{ExecutorRunner, Site};
use super::reaper::{Reaper, ReaperError};
use super::work_directory::{UnusableDirectory, WorkDirectory};
use crate::clock::Clock;
use crate::inbox::Inbox;
use crate::net::{Limits, ListenError, Listener, Welcome};
use crate::owner::{self, Context, Shell};
use crate::signals::{EndRequest, EndRequests};

/// How a Worker is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens, and the name that others reach it by. Port 0 is any free port.
    pub listen: Address,
    /// The Masters to register with.
    pub masters: Vec<Address>,
    /// What it offers: see [`super::capacity`].
    pub cores: Cores,
    /// What it offers.
    pub memory: MiB,
    /// Addresses of its custom resources, by name.
    pub resources: Resources,
    /// Where executors have their directories. Made where there is none.
    pub work_directory: PathBuf,
    /// After so many failed rounds without ever having been registered, the Worker gives up.
    pub max_registration_retries: u32,
    /// How long an executor may take to end when asked, before it is killed.
    pub kill_grace: Duration,
}

/// Why a Worker could not start, or ended otherwise than asked.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The work directory.
    #[error(transparent)]
    WorkDirectory(#[from] UnusableDirectory),
    /// The port.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The host cannot be part of an id.
    #[error("the host {host:?} cannot be part of a Worker's id: letters, digits, '-', '_', '.' and ':' only")]
    UnsoundHost {
        /// The host.
        host: String,
    },
    /// Its own program cannot be found.
    #[error("cannot find the program that this is: {error}")]
    OwnProgram {
        /// The operating system's words.
        error: io::Error,
    },
    /// The reaper.
    #[error(transparent)]
    Reaper(#[from] ReaperError),
    /// No Master took it.
    #[error("no Master took this Worker in {attempts} attempts: {}", urls(.masters))]
    NoMaster {
        /// How many rounds.
        attempts: u32,
        /// Who was asked.
        masters: Vec<Address>,
    },
    /// A Master refused it.
    #[error("a Master does not take this Worker: {0}")]
    Refused(RefusedRegistration),
}

fn urls(masters: &[Address]) -> String {
    masters.iter().map(Address::url).collect::<Vec<_>>().join(", ")
}

/// A Worker that has its port and its work directory and has not registered yet.
#[derive(Debug)]
pub struct WorkerDaemon {
    listener: Listener,
    clock: Clock,
    config: Config,
    site: Arc<Site>,
}

impl WorkerDaemon {
    /// Takes the port, makes the id from it, and makes sure that the work directory can be used.
    ///
    /// # Errors
    /// The port, the host, or the work directory cannot be used.
    pub async fn open(options: Options) -> Result<Self, WorkerError> {
        let Options { listen, masters, cores, memory, resources, .. } = options;
        let listener = Listener::bind(&listen).await?;
        let clock = Clock::start();
        let Address { host, .. } = listen;
        let port = listener.local().port();
        let id = format!("worker-{}-{host}-{port}", clock.now().compact());
        if !is_sound(&id) {
            return Err(WorkerError::UnsoundHost { host });
        }
        let work = WorkDirectory::open(&options.work_directory)?;
        let firesteel = std::env::current_exe().map_err(|error| WorkerError::OwnProgram { error })?;

        let id = WorkerId::new(id);
        let description = WorkerDescription { id: id.clone(), host, port, cores, memory, resources };
        let config = Config {
            description,
            masters,
            max_registration_retries: options.max_registration_retries,
            kill_grace: options.kill_grace,
            // The standard library's randomness: no two Workers have the same.
            seed: RandomState::new().hash_one(id.as_str()),
        };
        Ok(Self { listener, clock, config, site: Arc::new(Site { worker: id, work, firesteel }) })
    }

    /// Who it is and what it offers.
    #[must_use]
    pub fn description(&self) -> &WorkerDescription {
        &self.config.description
    }

    /// Registers, and runs executors until it is asked to end. To be awaited within a runtime of several
    /// threads.
    ///
    /// # Errors
    /// No Master took it, or the reaper could not be started.
    pub async fn run(self, requests: EndRequests) -> Result<(), WorkerError> {
        let Self { listener, clock, config, site } = self;
        let WorkerDescription { id, cores, memory, .. } = &config.description;
        let address = config.description.address().url();
        let work = site.work.path().display();
        tracing::info!("{id} listens at {address} and offers {cores} and {memory}; work directory {work}");

        // There is no executor before there is a reaper.
        let reaper = Reaper::start(&site.firesteel, id).await?;
        let mut context = Context::new(Role::Worker, id.as_str(), Limits::default(), clock);
        context.peers.serve(listener, vec![Welcome { role: Role::Client, decode: from_client }]);
        context.raise(Event::Start);
        let masters = config.masters.clone();
        let shell = WorkerShell { runners: Runners::new(site) };
        let exit = owner::run(Worker::new(config), shell, context, requests).await;
        reaper.let_go().await;
        match exit {
            Exit::Shutdown => Ok(()),
            Exit::NoMaster { attempts } => Err(WorkerError::NoMaster { attempts, masters }),
            Exit::Refused(refusal) => Err(WorkerError::Refused(refusal)),
        }
    }
}

/// Performs what the machine decided.
struct WorkerShell {
    runners: Runners,
}

impl Shell for WorkerShell {
    type Machine = Worker;
    type End = Exit;

    fn deadline() -> Event {
        Event::Deadline
    }

    fn disconnected(peer: PeerId) -> Event {
        Event::Disconnected { peer }
    }

    fn perform(&mut self, effect: Effect, context: &mut Context<Event>) -> ControlFlow<Exit> {
        match effect {
            Effect::Connect { master } => {
                let address = master.clone();
                context.peers.dial(&address, Role::Master, from_master, |result| match result {
                    Ok(peer) => Event::Connected { peer, master },
                    Err(error) => Event::ConnectFailed { master, error: error.to_string() },
                });
            }
            Effect::Send { peer, message: Outbound::Master(message) } => context.peers.send(peer, &message),
            Effect::Send { peer, message: Outbound::Client(message) } => context.peers.send(peer, &message),
            Effect::Close { peer } => context.peers.close(peer),
            Effect::StartExecutor(plan) => self.runners.start(plan, context.inbox()),
            Effect::SignalExecutor { executor, signal } => self.runners.signal(&executor, signal),
            // What its executors wrote stays: people read it after the end.
            Effect::CleanApplication { app } => tracing::info!("application {app} ended"),
            Effect::Exit(exit) => return ControlFlow::Break(exit),
            Effect::Note(note) => owner::note(note.level(), &note),
        }
        ControlFlow::Continue(())
    }

    fn asked_to_end(&mut self, _: EndRequest) -> ControlFlow<Exit, Event> {
        ControlFlow::Continue(Event::Shutdown)
    }
}

/// The runners of the executors that live here.
struct Runners {
    site: Arc<Site>,
    table: BTreeMap<ExecutorKey, ExecutorRunner>,
}

impl Runners {
    fn new(site: Arc<Site>) -> Self {
        Self { site, table: BTreeMap::new() }
    }

    fn start(&mut self, plan: ExecutorPlan, inbox: Inbox<Event>) {
        self.table.retain(|_, runner| !runner.is_over());
        let executor = plan.executor.clone();
        self.table.insert(executor, ExecutorRunner::start(plan, Arc::clone(&self.site), inbox));
    }

    fn signal(&self, executor: &ExecutorKey, signal: Signal) {
        if let Some(runner) = self.table.get(executor) {
            runner.signal(signal);
        }
    }
}

fn from_master(peer: PeerId, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: Inbound::Master(wire::decode(body)?) })
}

fn from_client(peer: PeerId, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: Inbound::Client(wire::decode(body)?) })
}
