//! The executor's daemon: its state machine, its connection to the driver and its task runners.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use firesteel_engine::executor::{Config, Effect, Event, Executor, Exit};
use firesteel_placement::advanced::words::counted;
use firesteel_placement::{Cores, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::executor_trouble::ExecutorTrouble;
use firesteel_protocol::ids::{AppId, AttemptId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::RefusedExecutor;
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::{self, DecodeError, Role};
use firesteel_protocol::{Mentions, Timestamp};
use futures_util::future::BoxFuture;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use super::task_runner::{Launch, RunnerContext, TaskRunner};
use firesteel_host::clock::Clock;
use firesteel_host::net::{Arrival, DialError, HandshakeError, Introduction, QueueLimits};
use firesteel_host::owner::{self, Context, Shell};
use firesteel_host::signals::{EndRequest, EndRequests};

/// How long a task may take to end after it was asked to end. This is shorter than the 10 s that a Worker gives its
/// executors, so an executor that is asked to end can see all its tasks end.
pub const TASK_KILL_GRACE: Duration = Duration::from_secs(5);

/// The queue limit for the driver. Output stays within the credit that the driver gave. So a driver that reads slowly
/// only slows the tasks down. The limit is so high that the driver is never disconnected as too slow.
const LIMITS: QueueLimits = QueueLimits { of_peer: 4 << 30, in_all: 64 << 30, partial: 4 << 30 };

/// The command line of an executor, and its secret.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address at which the executor's driver listens.
    pub driver: Address,
    pub app: AppId,
    pub executor: ExecutorId,
    /// The executor's resource profile in the application.
    pub profile: ProfileId,
    pub worker: WorkerId,
    pub host: String,
    pub cores: Cores,
    pub resources: Resources,
    pub secret: Secret,
    /// Whether the connection to the driver is encrypted, with the application's secret.
    pub is_encrypted: bool,
}

/// Why an executor could not start, or ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    /// The executor cannot be made to end with its Worker, or the system does not let it catch signals.
    #[error("cannot set up the executor: {error}")]
    SetUp {
        #[source]
        error: io::Error,
    },
    #[error("executor {executor} cannot reach its driver: {error}")]
    DriverUnreachable { executor: ExecutorKey, trouble: ExecutorTrouble, error: String },
    #[error("the driver rejected executor {executor}: {reason}")]
    Refused { executor: ExecutorKey, trouble: ExecutorTrouble, reason: RefusedExecutor },
    /// The driver's connection ended before the driver accepted the executor.
    #[error("the driver closed the connection before it accepted executor {executor}")]
    DriverGone { executor: ExecutorKey },
}

impl ExecutorError {
    /// The kind of trouble that the executor's exit code reports.
    #[must_use]
    pub fn trouble(&self) -> ExecutorTrouble {
        match self {
            Self::SetUp { .. } => ExecutorTrouble::SetUp,
            Self::DriverUnreachable { trouble, .. } | Self::Refused { trouble, .. } => *trouble,
            Self::DriverGone { .. } => ExecutorTrouble::DriverGone,
        }
    }
}

/// Asks the kernel to signal this process when its Worker ends. So an executor ends with its Worker even if the Worker
/// was killed. Call this at the very start, on the main thread.
///
/// # Errors
/// The kernel refuses, or the Worker has already ended.
pub fn die_with_parent() -> Result<(), ExecutorError> {
    let parent = getppid();
    let failed = |error| ExecutorError::SetUp { error };
    prctl::set_pdeathsig(Signal::SIGTERM).map_err(|error| failed(error.into()))?;
    if getppid() != parent {
        return Err(failed(io::Error::other("its Worker has ended")));
    }
    Ok(())
}

/// Runs the driver's tasks until the driver is done or gone, or until the executor is asked to end. When it returns,
/// all tasks have ended. Await the future within a runtime.
///
/// It is no error if the driver is gone or silent, since applications also end their executors in this way.
///
/// # Errors
/// The driver cannot be reached or refuses the executor.
pub fn run(options: Options) -> BoxFuture<'static, Result<(), ExecutorError>> {
    // Boxed, so that this crate compiles the future, instead of each crate that awaits it.
    Box::pin(serve(options))
}

async fn serve(options: Options) -> Result<(), ExecutorError> {
    let Options { driver, app, executor, profile, worker, host, cores, resources, secret, is_encrypted } =
        options;
    let mut requests = EndRequests::install().map_err(|error| ExecutorError::SetUp { error })?;
    let key = ExecutorKey { app: app.clone(), executor };
    let size = counted(cores.0, "core");
    tracing::info!("executor {key} started on {worker} with {size}; its driver is at {driver}");

    let runner_context =
        Arc::new(RunnerContext { executor: key.clone(), worker: worker.clone(), host: host.clone() });
    let kill_grace = TASK_KILL_GRACE;
    let introduction =
        Introduction::new(Role::Executor, key.to_string()).with_application(is_encrypted.then_some(&secret));
    let config = Config { app, executor, profile, worker, host, cores, resources, secret, kill_grace };
    let mut context = Context::introduced(introduction, LIMITS, Clock::start());
    context.raise(Event::Start);
    let shell = ExecutorShell {
        key: key.clone(),
        driver,
        peer: Arc::default(),
        runners: Runners { context: runner_context, table: BTreeMap::new() },
    };
    let exit = owner::run(Executor::new(config), shell, context, &mut requests).await;
    let trouble = exit.trouble();
    match exit {
        Exit::Stopped => {
            tracing::info!("executor {key} ends: the driver stopped it");
            Ok(())
        }
        Exit::DriverLost => {
            tracing::warn!("executor {key} ends: lost the connection to the driver");
            Ok(())
        }
        Exit::GivenUp(reason) => {
            tracing::warn!("executor {key} ends: it came back, and the driver rejected it: {reason}");
            Ok(())
        }
        Exit::Estranged(error) => {
            tracing::warn!("executor {key} ends: it came back, and cannot go on with this driver: {error}");
            Ok(())
        }
        Exit::DriverSilent { patience } => {
            let patience = patience.as_secs_f64();
            tracing::warn!("executor {key} ends: nothing arrived from the driver for {patience} s");
            Ok(())
        }
        Exit::DriverUnreachable { trouble, error } => {
            Err(ExecutorError::DriverUnreachable { executor: key, trouble, error })
        }
        Exit::DriverGone => Err(ExecutorError::DriverGone { executor: key }),
        Exit::Refused(reason) => match trouble {
            Some(trouble) => Err(ExecutorError::Refused { executor: key, trouble, reason }),
            None => {
                tracing::info!("executor {key} ends: {reason}");
                Ok(())
            }
        },
    }
}

struct ExecutorShell {
    key: ExecutorKey,
    driver: Address,
    /// The latest connection to the driver.
    peer: Arc<Mutex<Option<PeerId>>>,
    runners: Runners,
}

impl ExecutorShell {
    fn peer(&self) -> Option<PeerId> {
        *self.peer.lock().expect("no thread panics with the lock")
    }
}

impl Shell for ExecutorShell {
    type Machine = Executor;
    type End = Exit;

    fn deadline(_: Timestamp) -> Event {
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
                    Ok((peer, _)) => {
                        *known.lock().expect("no thread panics with the lock") = Some(peer);
                        Event::Connected { peer }
                    }
                    Err(error) => {
                        Event::ConnectFailed { trouble: trouble_of(&error), error: error.to_string() }
                    }
                });
            }
            Effect::HangUp => {
                if let Some(peer) = self.peer() {
                    context.peers.close(peer);
                }
            }
            Effect::Send(message) => {
                if let Some(peer) = self.peer() {
                    context.peers.send(peer, message);
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
            Effect::Note(note) => owner::note(note.level(), Mentions::from(&self.key), &note),
        }
        ControlFlow::Continue(())
    }

    /// Ignores SIGINT. A ctrl-c is meant for the process that has the terminal, and an executor never has it, because
    /// it leads its own process group. The state machine gets a deadline event instead, which changes nothing.
    fn asked_to_end(&mut self, request: EndRequest) -> ControlFlow<Exit, Event> {
        ControlFlow::Continue(match request {
            EndRequest::Terminate | EndRequest::HangUp | EndRequest::StdinClosed => Event::Shutdown,
            EndRequest::Interrupt => Event::Deadline,
        })
    }
}

struct Runners {
    context: Arc<RunnerContext>,
    table: BTreeMap<AttemptId, TaskRunner>,
}

impl Runners {
    fn start(&mut self, launch: Launch, allowed: u64, context: &Context<Event>) {
        self.table.retain(|_, runner| !runner.is_over());
        let attempt = launch.attempt;
        let runner = TaskRunner::start(launch, allowed, Arc::clone(&self.context), context.inbox());
        self.table.insert(attempt, runner);
    }

    fn tell(&self, attempt: AttemptId, order: impl FnOnce(&TaskRunner)) {
        if let Some(runner) = self.table.get(&attempt) {
            order(runner);
        }
    }
}

/// The kind of trouble that a failed connection to the driver shows.
fn trouble_of(error: &DialError) -> ExecutorTrouble {
    match error {
        DialError::UnknownHost { .. } => ExecutorTrouble::UnknownHost,
        DialError::TimedOut { .. } => ExecutorTrouble::TimedOut,
        DialError::Connect { error, .. } if error.kind() == io::ErrorKind::ConnectionRefused => {
            ExecutorTrouble::NothingListens
        }
        DialError::Connect { error, .. } if error.kind() == io::ErrorKind::TimedOut => {
            ExecutorTrouble::TimedOut
        }
        DialError::Connect { .. } => ExecutorTrouble::NoRoute,
        DialError::Handshake { error, .. } => match error {
            HandshakeError::Mute
            | HandshakeError::TimedOut
            | HandshakeError::CrowdedOut
            | HandshakeError::Silent
            | HandshakeError::Closed
            | HandshakeError::Io(_) => ExecutorTrouble::Mute,
            HandshakeError::Preamble(_)
            | HandshakeError::Frame(_)
            | HandshakeError::Hello(_)
            | HandshakeError::NotAdmitted(_)
            | HandshakeError::WrongRole { .. } => ExecutorTrouble::NoDriver,
        },
    }
}

fn from_driver(_: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { message: wire::decode(body)? })
}

#[cfg(test)]
mod tests;
