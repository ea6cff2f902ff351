//! The Worker registers with a Master and runs executors.
//!
//! The Worker decides when to connect to which Master, what to report, and when an executor's process is started, asked
//! to end, or killed. Executors survive the loss of the Master. The Worker lists them to the next Master, with all ends
//! that no Master has confirmed.
//!
//! The Worker also runs cluster drivers, and restarts supervised ones when they fail.
//!
//! A Worker does not compare launches with its own free cores and memory. Only the Master counts what is free, because
//! two counts would disagree while messages are on their way. Source: Spark Worker, 4.0.1.
//!
//! The files of this folder form three layers. All files use the lowest layer (`config`, `note`, `effect`, `event`,
//! `reason`). Then come the `tables`, which do not use the [`Worker`]. Above are the handlers of events, each in an
//! `impl Worker`. They use the tables and call each other as methods, so no files import each other in a circle.

mod application_directories;
mod config;
mod drivers;
mod effect;
mod event;
mod executor_directories;
mod executors;
mod files;
mod logs;
mod note;
mod obstacles;
mod reason;
mod registration;
mod shutdown;
mod tables;
#[cfg(test)]
mod tests;
mod usage;

use std::time::Duration;

use firesteel_placement::{Cores, MiB};

pub use config::{Cleanup, Config, Limits, bytes};
pub use effect::{DriverPlan, Effect, ExecutorPlan, Exit, Outbound};
pub use event::{
    EarlierDirectory, Event, Inbound, LastMeasurement, LogRead, MachineMeasurement, Measurement,
    ProcessMeasurement, StartTried,
};
pub use note::Note;
pub use reason::Reason;

use firesteel_protocol::ids::PeerId;
use firesteel_protocol::machine::{Effects, Machine, Violation, ensure};
use firesteel_protocol::messages::{ClientToWorker, MasterToWorker, WorkerToClient, WorkerViewOfItself};
use firesteel_protocol::time::Timestamp;
use tables::{
    DirectorySearch, Drivers, ExecutorDirectories, Executors, Files, Logs, Obstacles, Registration,
    ShutdownPhase, UsageTable,
};

#[derive(Debug)]
pub struct Worker {
    config: Config,
    registration: Registration,
    executors: Executors,
    drivers: Drivers,
    files: Files,
    directory_search: DirectorySearch,
    obstacles: Obstacles,
    usage: UsageTable,
    executor_directories: ExecutorDirectories,
    logs: Logs,
    shutdown: ShutdownPhase,
    effects: Effects<Effect>,
}

impl Worker {
    /// A Worker that waits for [`Event::Start`].
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            registration: Registration::new(&config),
            files: Files::default(),
            executors: Executors::remembering(config.retained_executors),
            drivers: Drivers::default(),
            directory_search: DirectorySearch::default(),
            obstacles: Obstacles::default(),
            usage: UsageTable::default(),
            executor_directories: ExecutorDirectories::default(),
            logs: Logs::default(),
            shutdown: ShutdownPhase::Serving,
            effects: Effects::default(),
            config,
        }
    }

    /// A copy of the tables for status pages.
    #[must_use]
    pub fn view(&self) -> WorkerViewOfItself {
        WorkerViewOfItself {
            id: self.config.description.id.clone(),
            master_url: self.registration.master_url().map(str::to_owned),
            cores: self.config.description.cores,
            memory: self.config.description.memory,
            executors: self.executors.view(),
            ended: self.executors.ended(),
            drivers: self.drivers.view(),
        }
    }

    /// The cores of all live executors and cluster drivers. The sum may exceed the Worker's own cores, because the
    /// Worker does not check this.
    #[must_use]
    pub fn cores_used(&self) -> Cores {
        self.executors.cores_used() + self.drivers.cores_used()
    }

    /// The memory of all live executors and cluster drivers. The sum may exceed the Worker's own memory, because the
    /// Worker does not check this.
    #[must_use]
    pub fn memory_used(&self) -> MiB {
        self.executors.memory_used() + self.drivers.memory_used()
    }

    fn on_deadline(&mut self, now: Timestamp) {
        self.send_due_heartbeat(now);
        self.go_on_seeking(now);
        self.kill_overdue(now);
        self.attend_drivers(now);
        self.clean_if_due(now);
        self.try_to_start_if_due(now);
        self.measure_if_due(now);
        self.give_up_if_overdue(now);
    }

    fn on_master_message(&mut self, now: Timestamp, peer: PeerId, message: MasterToWorker) {
        // Only the Master that the Worker is registered with gives orders. Other Masters may only answer.
        let orders = self.registration.takes_orders_of(peer);
        match message {
            MasterToWorker::RegisteredWorker {
                master_url,
                heartbeat_millis,
                duplicate,
                web_address,
                mark,
            } => {
                let urls = (master_url, web_address);
                self.on_registered_worker(now, peer, urls, heartbeat_millis, (duplicate, mark));
            }
            MasterToWorker::RegisterWorkerFailed(refusal) => {
                self.on_register_worker_failed(now, peer, refusal);
            }
            MasterToWorker::ReconnectWorker => self.on_reconnect_worker(now, peer),
            MasterToWorker::LaunchExecutor(launch) if orders => self.on_launch_executor(peer, launch),
            MasterToWorker::KillExecutor { executor } if orders => {
                self.on_kill_executor(now, &executor);
            }
            MasterToWorker::ApplicationFinished { app } if orders => {
                self.on_application_finished(app);
            }
            MasterToWorker::ExecutorEndNoted { executor } if orders => self.executors.confirm_end(&executor),
            MasterToWorker::DecommissionWorker { within_millis } if orders => {
                self.on_decommission_worker(now, within_millis.map(Duration::from_millis));
            }
            MasterToWorker::LaunchDriver(launch) if orders => self.on_launch_driver(*launch),
            MasterToWorker::KillDriver { driver } if orders => self.on_kill_driver(now, &driver),
            MasterToWorker::DriverEndNoted { driver } if orders => self.drivers.confirm_end(&driver),
            stray @ (MasterToWorker::LaunchExecutor(_)
            | MasterToWorker::KillExecutor { .. }
            | MasterToWorker::ApplicationFinished { .. }
            | MasterToWorker::ExecutorEndNoted { .. }
            | MasterToWorker::DecommissionWorker { .. }
            | MasterToWorker::LaunchDriver(_)
            | MasterToWorker::KillDriver { .. }
            | MasterToWorker::DriverEndNoted { .. }) => {
                self.effects.note(Note::NotMyMaster { peer, message: name_of(&stray) });
            }
        }
    }

    fn on_client_message(&mut self, peer: PeerId, message: ClientToWorker) {
        match message {
            ClientToWorker::RequestWorkerState => self.effects.push(Effect::Send {
                peer,
                message: Outbound::Client(WorkerToClient::WorkerStateResponse(self.view())),
            }),
            ClientToWorker::RequestLog(request) => self.on_request_log(peer, request.into()),
            ClientToWorker::RequestDriverLog(request) => self.on_request_log(peer, request.into()),
            ClientToWorker::RequestWorkerReport => {
                let report = Box::new(self.report_of_itself());
                let message = Outbound::Client(WorkerToClient::WorkerReportResponse(report));
                self.effects.push(Effect::Send { peer, message });
            }
        }
    }
}

impl Machine for Worker {
    type Event = Event;
    type Effect = Effect;
    type Reason = Reason;

    fn apply(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        if self.shutdown == ShutdownPhase::Over {
            return Vec::new();
        }
        match event {
            Event::Start => {
                self.seek_master(now);
                self.plan_directory_search(now);
                self.plan_try(now);
                self.plan_measurement(now);
            }
            Event::Connected { peer, master, leadership } => {
                self.on_connected(now, peer, master, leadership);
            }
            Event::ConnectFailed { master, error } => {
                self.on_connect_failed(now, master, error);
            }
            Event::Received { peer, message: Inbound::Master(message) } => {
                self.on_master_message(now, peer, message);
            }
            Event::Received { peer, message: Inbound::Client(message) } => {
                self.on_client_message(peer, message);
            }
            Event::Disconnected { peer } => {
                self.logs.forget(peer);
                self.on_disconnected(now, peer);
            }
            Event::FilesFetched { app, fetch } => self.on_files_fetched(app, fetch),
            Event::FilesFailed { app, fetch, error } => {
                self.on_files_failed(now, app, fetch, error);
            }
            Event::RunnerStarted { executor, pid } => {
                self.on_runner_started(now, executor, pid);
            }
            Event::RunnerFailed { executor, why } => self.on_runner_failed(now, executor, why),
            Event::ExecutorMeasured { executor, last } => self.on_executor_measured(executor, last),
            Event::DriverMeasured { driver, last } => self.on_driver_measured(driver, last),
            Event::RunnerExited { executor, status } => {
                self.on_runner_exited(executor, status);
            }
            Event::DriverStarted { driver, pid } => self.on_driver_started(now, driver, pid),
            Event::DriverFailed { driver, why } => self.on_driver_failed(now, driver, why),
            Event::DriverExited { driver, status } => self.on_driver_exited(now, driver, status),
            Event::StartTried(tried) => self.on_start_tried(now, tried),
            Event::Measured(measurement) => self.on_measured(now, measurement),
            Event::StaleFound { apps } => self.on_stale_found(now, apps),
            Event::DirectoryLeft { executor, bytes } => self.on_directory_left(executor, bytes),
            Event::EarlierFound { directories } => self.on_earlier_found(directories),
            Event::LogRead { peer, outcome } => self.on_log_read(peer, outcome),
            Event::Shutdown => self.on_shutdown(now),
            Event::Deadline => self.on_deadline(now),
        }
        self.exit_if_done();
        self.effects.take()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        let give_up = match self.shutdown {
            ShutdownPhase::Over => return None,
            ShutdownPhase::Serving => None,
            ShutdownPhase::Draining { until } => until.map(|until| (until, Reason::LeaveTimeout)),
            ShutdownPhase::Ending { give_up } | ShutdownPhase::Killing { give_up } => {
                Some((give_up, Reason::ShutdownTimeout))
            }
        };
        let (cleaning, obstacles) = (self.directory_search.next_deadline(), self.obstacles.next_deadline());
        let usage = self.usage.next_deadline();
        let (executors, drivers) = (self.executors.next_deadline(), self.drivers.next_deadline());
        [self.registration.next_deadline(), executors, drivers, cleaning, obstacles, usage, give_up]
            .into_iter()
            .flatten()
            .min()
    }

    fn check(&self) -> Result<(), Violation> {
        self.effects.check("worker")?;
        self.registration.check(&self.shutdown)?;
        self.executors.check(&self.shutdown)?;
        self.drivers.check(&self.shutdown)?;
        self.files.check(&self.executors)?;
        self.obstacles.check(&self.executors, &self.drivers)?;
        self.executor_directories.check()?;
        let in_use = self.executor_directories.executors().find(|executor| self.executors.lives(executor));
        ensure!(
            "worker",
            in_use.is_none(),
            "the directory of executor {in_use:?} is listed for removal, but the executor is alive"
        );
        Ok(())
    }
}

fn name_of(message: &MasterToWorker) -> &'static str {
    match message {
        MasterToWorker::RegisteredWorker { .. } => "RegisteredWorker",
        MasterToWorker::RegisterWorkerFailed(_) => "RegisterWorkerFailed",
        MasterToWorker::ReconnectWorker => "ReconnectWorker",
        MasterToWorker::LaunchExecutor(_) => "LaunchExecutor",
        MasterToWorker::KillExecutor { .. } => "KillExecutor",
        MasterToWorker::ApplicationFinished { .. } => "ApplicationFinished",
        MasterToWorker::ExecutorEndNoted { .. } => "ExecutorEndNoted",
        MasterToWorker::DecommissionWorker { .. } => "DecommissionWorker",
        MasterToWorker::LaunchDriver(_) => "LaunchDriver",
        MasterToWorker::KillDriver { .. } => "KillDriver",
        MasterToWorker::DriverEndNoted { .. } => "DriverEndNoted",
    }
}
