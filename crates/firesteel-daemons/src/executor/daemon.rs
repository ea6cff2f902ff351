//! The daemon: the executor's machine with its connection and its runners.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use firesteel_core::address::Address;
use firesteel_core::executor::{Config, Effect, Event, Executor, Exit};
use firesteel_core::ids::{AppId, AttemptId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_core::messages::RefusedExecutor;
use firesteel_core::wire::{self, DecodeError, Role};
use firesteel_placement::words::counted;
use firesteel_placement::{Cores, Resources};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use super::task_runner::{Launch, Site, TaskRunner};
use firesteel_host::clock::Clock;
use firesteel_host::net::Limits;
use firesteel_host::owner::{self, Context, Shell};
use firesteel_host::signals::{EndRequest, EndRequests};

/// How long a task may take to end when asked. Shorter than a Worker's patience with its executors, 10 s, so that
/// an executor that is asked to end can see its tasks to their end.
pub const TASK_KILL_GRACE: Duration = Duration::from_secs(5);

/// What may wait for the driver. Output waits within the credit that the driver gave, so a driver that is slow
/// to take it slows the tasks down and must never count as a peer that is too slow.
const LIMITS: Limits = Limits { frames: 1 << 20, bytes: 4 << 30 };

/// How an executor is started: its command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where its driver listens.
    pub driver: Address,
    /// Its application.
    pub app: AppId,
    /// Its number there.
    pub executor: ExecutorId,
    /// Its resource profile there.
    pub profile: ProfileId,
    /// The Worker that starts it.
    pub worker: WorkerId,
    /// That Worker's host.
    pub host: String,
    /// Its cores.
    pub cores: Cores,
    /// The addresses of its custom resources.
    pub resources: Resources,
}

/// Why an executor could not start, or ended otherwise than asked.
#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    /// The operating system does not let it be tied to its Worker, or catch signals.
    #[error("cannot set up the executor: {error}")]
    SetUp {
        /// The operating system's words.
        error: io::Error,
    },
    /// The driver could not be reached.
    #[error("executor {executor} cannot reach its driver: {error}")]
    DriverUnreachable {
        /// Which executor.
        executor: ExecutorKey,
        /// Why.
        error: String,
    },
    /// The driver did not take it.
    #[error("the driver rejected executor {executor}: {reason}")]
    Refused {
        /// Which executor.
        executor: ExecutorKey,
        /// Why.
        reason: RefusedExecutor,
    },
}

/// Has the kernel ask this process to end when its Worker ends, so that an executor dies with its Worker even if
/// the Worker was killed. To be called at the very start, on the main thread.
///
/// # Errors
/// The kernel does not do it, or the Worker has ended already.
pub fn die_with_parent() -> Result<(), ExecutorError> {
    let parent = getppid();
    let failed = |error| ExecutorError::SetUp { error };
    prctl::set_pdeathsig(Signal::SIGTERM).map_err(|error| failed(error.into()))?;
    if getppid() != parent {
        return Err(failed(io::Error::other("its Worker has ended")));
    }
    Ok(())
}

/// Runs the driver's tasks until the driver is done or gone, or until it is asked to end. Its tasks have ended
/// when it returns. To be awaited within a runtime.
///
/// That the driver is gone is no error: an application that ends takes its executors with it in this way, too.
///
/// # Errors
/// The driver cannot be reached or does not take it.
pub async fn run(options: Options) -> Result<(), ExecutorError> {
    let Options { driver, app, executor, profile, worker, host, cores, resources } = options;
    let requests = EndRequests::install().map_err(|error| ExecutorError::SetUp { error })?;
    let key = ExecutorKey { app: app.clone(), executor };
    let size = counted(cores.0, "core");
    tracing::info!("executor {key} of {worker} with {size}; its driver is at {driver}");

    let site = Arc::new(Site { executor: key.clone(), worker: worker.clone(), host: host.clone() });
    let kill_grace = TASK_KILL_GRACE;
    let config = Config { app, executor, profile, worker, host, cores, resources, kill_grace };
    let mut context = Context::new(Role::Executor, &key.to_string(), LIMITS, Clock::start());
    context.raise(Event::Start);
    let shell =
        ExecutorShell { driver, peer: Arc::default(), runners: Runners { site, table: BTreeMap::new() } };
    match owner::run(Executor::new(config), shell, context, requests).await {
        Exit::Stopped => {
            tracing::info!("executor {key} ends: the driver stopped it");
            Ok(())
        }
        Exit::DriverLost => {
            tracing::warn!("executor {key} ends: lost the connection to the driver");
            Ok(())
        }
        Exit::Refused(RefusedExecutor::Stopping) => {
            tracing::info!("executor {key} ends: its application is ending");
            Ok(())
        }
        Exit::DriverUnreachable { error } => Err(ExecutorError::DriverUnreachable { executor: key, error }),
        Exit::Refused(reason) => Err(ExecutorError::Refused { executor: key, reason }),
    }
}

/// Performs what the machine decided.
struct ExecutorShell {
    driver: Address,
    /// The one connection, once it is open.
    peer: Arc<OnceLock<PeerId>>,
    runners: Runners,
}

impl Shell for ExecutorShell {
    type Machine = Executor;
    type End = Exit;

    fn deadline() -> Event {
        Event::Deadline
    }

    fn disconnected(_: PeerId) -> Event {
        Event::Disconnected
    }

    fn perform(&mut self, effect: Effect, context: &mut Context<Event>) -> ControlFlow<Exit> {
        match effect {
            Effect::Connect => {
                let known = Arc::clone(&self.peer);
                context.peers.dial(&self.driver, Role::Driver, from_driver, move |result| match result {
                    Ok(peer) => Event::Connected { peer: *known.get_or_init(|| peer) },
                    Err(error) => Event::ConnectFailed { error: error.to_string() },
                });
            }
            Effect::Send(message) => {
                if let Some(peer) = self.peer.get() {
                    context.peers.send(*peer, &message);
                }
            }
            Effect::StartTask { attempt, spec, resources, allowed } => {
                self.runners.start(Launch { attempt, spec, resources }, allowed, context);
            }
            Effect::AllowOutput { attempt, bytes } => {
                self.runners.tell(attempt, |runner| runner.allow(bytes))
            }
            Effect::DrainOutput { attempt } => self.runners.tell(attempt, TaskRunner::drain),
            Effect::SignalTask { attempt, signal } => {
                self.runners.tell(attempt, |runner| runner.signal(signal));
            }
            Effect::Exit(exit) => return ControlFlow::Break(exit),
            Effect::Note(note) => owner::note(note.level(), &note),
        }
        ControlFlow::Continue(())
    }

    /// A ctrl-c is meant for whoever has the terminal, and that is never the executor, whose process group is its
    /// own; then nothing has happened, and the machine looks at its clock.
    fn asked_to_end(&mut self, request: EndRequest) -> ControlFlow<Exit, Event> {
        ControlFlow::Continue(match request {
            EndRequest::Terminate | EndRequest::HangUp | EndRequest::StdinClosed => Event::Shutdown,
            EndRequest::Interrupt => Event::Deadline,
        })
    }
}

/// The runners of the tasks that run here.
struct Runners {
    site: Arc<Site>,
    table: BTreeMap<AttemptId, TaskRunner>,
}

impl Runners {
    fn start(&mut self, launch: Launch, allowed: u64, context: &Context<Event>) {
        self.table.retain(|_, runner| !runner.is_over());
        let attempt = launch.attempt;
        let runner = TaskRunner::start(launch, allowed, Arc::clone(&self.site), context.inbox());
        self.table.insert(attempt, runner);
    }

    fn tell(&self, attempt: AttemptId, order: impl FnOnce(&TaskRunner)) {
        if let Some(runner) = self.table.get(&attempt) {
            order(runner);
        }
    }
}

fn from_driver(_: PeerId, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { message: wire::decode(body)? })
}

#[cfg(test)]
mod tests;
