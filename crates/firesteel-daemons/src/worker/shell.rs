//! The part of the Worker's daemon around the state machine: performs the machine's effects.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use firesteel_host::inbox::Inbox;
use firesteel_host::net::Arrival;
use firesteel_host::own_program::OwnProgram;
use firesteel_host::owner::{self, Context, Shell};
use firesteel_host::signals::EndRequest;
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{DriverId, ExecutorKey, PeerId};
use firesteel_protocol::messages::LogRange;
use firesteel_protocol::process::Signal;
use firesteel_protocol::wire::{self, DecodeError, Role};
use firesteel_worker::{
    DriverPlan, Effect, Event, ExecutorPlan, Exit, Inbound, Outbound, StartTried, Worker,
};

use super::cleanup::application_directories::DirectoryCleanup;
use super::cleanup::dead_workers::DeadWorkerSearch;
use super::cleanup::executor_directories;
use super::cleanup::scratch_directories::ScratchDirectories;
use super::directories::files::FileStore;
use super::directories::work_directory::{Found, WorkDirectory};
use super::driver_runner::start_driver;
use super::executor_runner::start_executor;
use super::log::LogReader;
use super::measure::{FilesOnDisk, measure};
use super::runner::{Runner, RunnerContext};
use crate::http::worker::WorkerSite;

pub(super) struct WorkerShell {
    directory_cleanup: DirectoryCleanup,
    dead_workers: DeadWorkerSearch,
    work: WorkDirectory,
    firesteel: OwnProgram,
    scratch: ScratchDirectories,
    logs: Arc<LogReader>,
    runners: Runners,
    pub(super) files: FileStore,
    site: Arc<WorkerSite>,
}

impl WorkerShell {
    pub(super) fn new(
        context: RunnerContext,
        dead_workers: DeadWorkerSearch,
        scratch: ScratchDirectories,
        site: Arc<WorkerSite>,
    ) -> Self {
        let (work, firesteel) = (context.work.clone(), context.reapers.firesteel().clone());
        let logs = LogReader::new(work.clone(), Arc::clone(&context.removed_bytes));
        let context = Arc::new(context);
        Self {
            directory_cleanup: DirectoryCleanup::new(work.clone()),
            dead_workers,
            work,
            firesteel,
            scratch,
            logs: Arc::new(logs),
            runners: Runners::new(Arc::clone(&context)),
            files: FileStore::new(context),
            site,
        }
    }
}

impl Shell for WorkerShell {
    type Machine = Worker;
    type End = Exit;

    fn deadline(_: Timestamp) -> Event {
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
                    Ok((peer, leadership)) => Event::Connected { peer, master, leadership },
                    Err(error) => Event::ConnectFailed { master, error: error.into() },
                });
            }
            Effect::Send { peer, message: Outbound::Master(message) } => context.peers.send(peer, message),
            Effect::Send { peer, message: Outbound::Client(message) } => context.peers.send(peer, message),
            Effect::Close { peer } => context.peers.close(peer),
            Effect::FetchFiles { fetch, app, files } => {
                self.files.fetch(fetch, app, files, context.inbox());
            }
            Effect::RemoveFiles { app } => self.files.remove(app),
            Effect::StartExecutor(plan) => {
                self.site.starts(&plan, self.runners.count());
                self.runners.start(plan, context.inbox());
            }
            Effect::SignalExecutor { executor, signal } => self.runners.signal(&executor, signal),
            Effect::StartDriver(plan) => {
                self.site.starts_driver(&plan.driver);
                self.runners.start_driver(plan, context.inbox());
            }
            Effect::SignalDriver { driver, signal } => self.runners.signal_driver(&driver, signal),
            // The output of its executors stays: users read it after the end.
            Effect::CleanApplication { app } => {
                tracing::info!("application {app} ended");
                self.dead_workers.look();
                let scratch = self.scratch.clone();
                tokio::task::spawn_blocking(move || scratch.remove(&app));
            }
            Effect::TryToStart { process } => self.try_to_start(process, context.inbox()),
            Effect::Measure { executors, drivers, disk } => {
                let (work, scratch) = (self.work.clone(), self.scratch.clone());
                let files = disk.then_some(FilesOnDisk { work, scratch });
                let measure = move || Event::Measured(measure(executors, drivers, files.as_ref()));
                raise_later(context.inbox(), measure);
            }
            Effect::FindStale { keep, unwritten_since } => {
                let directory_cleanup = self.directory_cleanup.clone();
                raise_later(context.inbox(), move || Event::StaleFound {
                    apps: directory_cleanup.find_stale(&keep, unwritten_since),
                });
            }
            Effect::RemoveDirectory { app } => self.directory_cleanup.remove_application(&app, context.now()),
            Effect::RemoveExecutorDirectories { executors } => {
                let work = self.work.clone();
                tokio::task::spawn_blocking(move || executor_directories::remove(&work, &executors));
            }
            Effect::ReadLog { peer, range } => self.read_log(peer, range, context.inbox()),
            Effect::Exit(exit) => return ControlFlow::Break(exit),
            Effect::Note(note) => {
                let mentions = note.mentions();
                let about = mentions.app.zip(mentions.executor);
                let span = about.map(|(app, id)| tracing::info_span!("executor", %app, %id));
                let _entered = span.map(tracing::Span::entered);
                owner::note(note.level(), mentions, &note);
            }
        }
        ControlFlow::Continue(())
    }

    fn asked_to_end(&mut self, _: EndRequest) -> ControlFlow<Exit, Event> {
        ControlFlow::Continue(Event::Shutdown)
    }
}

impl WorkerShell {
    /// Checks whether an executor could be started.
    fn try_to_start(&self, process: bool, inbox: Inbox<Event>) {
        let (work, dead_workers) = (self.work.clone(), self.dead_workers.clone());
        let firesteel = process.then(|| self.firesteel.clone());
        raise_later(inbox, move || {
            let written = work.try_to_write();
            let path = work.path().display();
            match &written {
                Ok(Found::InPlace) | Err(_) => {}
                Ok(Found::Remade) => {
                    tracing::warn!("the work directory was gone: made {path} again");
                    dead_workers.look();
                }
                Ok(Found::Replaced) => {
                    tracing::warn!(
                        "the work directory was replaced: new executors use the directory that is now at {path}; the logs of \
                         earlier ones are not found there"
                    );
                    dead_workers.look();
                }
            }
            let process = firesteel.and_then(|firesteel| firesteel.try_to_start().err());
            Event::StartTried(StartTried { directory: written.err(), process, space: work.space() })
        });
    }

    fn read_log(&self, peer: PeerId, range: LogRange, inbox: Inbox<Event>) {
        let logs = Arc::clone(&self.logs);
        raise_later(inbox, move || Event::LogRead { peer, outcome: logs.read(&range) });
    }
}

/// Makes an event on a separate thread, because a disk may be slow.
fn raise_later(inbox: Inbox<Event>, event: impl FnOnce() -> Event + Send + 'static) {
    tokio::task::spawn_blocking(move || {
        // The owner may have ended already.
        let _ = inbox.send_blocking(event());
    });
}

/// The runners of this Worker's executors and cluster drivers.
struct Runners {
    context: Arc<RunnerContext>,
    table: BTreeMap<ExecutorKey, Runner>,
    drivers: BTreeMap<DriverId, Runner>,
}

impl Runners {
    fn new(context: Arc<RunnerContext>) -> Self {
        Self { context, table: BTreeMap::new(), drivers: BTreeMap::new() }
    }

    fn start(&mut self, plan: ExecutorPlan, inbox: Inbox<Event>) {
        self.table.retain(|_, runner| !runner.is_over());
        let executor = plan.executor.clone();
        self.table.insert(executor, start_executor(plan, Arc::clone(&self.context), inbox));
    }

    /// The number of executors that were started and are still listed. Some of them may have ended.
    fn count(&self) -> usize {
        self.table.len()
    }

    fn signal(&self, executor: &ExecutorKey, signal: Signal) {
        if let Some(runner) = self.table.get(executor) {
            runner.signal(signal);
        }
    }

    fn start_driver(&mut self, plan: DriverPlan, inbox: Inbox<Event>) {
        self.drivers.retain(|_, runner| !runner.is_over());
        let driver = plan.driver.clone();
        self.drivers.insert(driver, start_driver(plan, Arc::clone(&self.context), inbox));
    }

    fn signal_driver(&self, driver: &DriverId, signal: Signal) {
        if let Some(runner) = self.drivers.get(driver) {
            runner.signal(signal);
        }
    }
}

fn from_master(Arrival { peer, .. }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: Inbound::Master(wire::decode(body)?) })
}
