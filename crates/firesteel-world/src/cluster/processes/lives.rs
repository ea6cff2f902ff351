//! How processes start and end: Masters, Workers, drivers, executors and tasks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use firesteel_core::address::Address;
use firesteel_core::driver::{self, Driver};
use firesteel_core::executor::{self, Executor};
use firesteel_core::ids::{ExecutorId, ExecutorKey, TaskId, WorkerId};
use firesteel_core::master::{self, Durability, Foreign, Master};
use firesteel_core::messages::{Offered, PageSize, WorkerDescription};
use firesteel_core::process::{ExitStatus, Signal, StartFailure, StartStep};
use firesteel_core::secret::{EXECUTOR_SECRET, Secret};
use firesteel_core::worker::{self, ExecutorPlan, Worker};

use super::node::{Body, DriverBody, ExecutorBody, NodeEvent, WorkerBody};
use super::programs::{ExecutorFate, ExecutorProcess, ProcessPhase};
use super::task_lives::FATAL;
use super::users::outcome_of;
use crate::cluster::faults::Fault;
use crate::cluster::faults::busy_master::MasterInbox;
use crate::cluster::faults::disks::no_space;
use crate::cluster::faults::election::seat_address;
use crate::cluster::faults::shortages::no_processes;
use crate::cluster::happening::{Doom, Happening};
use crate::cluster::laws::entrance::{PLAUSIBLE, secret_of, token_of};
use crate::cluster::laws::headcount::Headcount;
use crate::cluster::laws::ledger::Ledger;
use crate::cluster::network::ProcessEnd;
use crate::cluster::sabotage::Sabotage;
use crate::cluster::scenario::AppKind;
use crate::cluster::world::{DriverPhase, NodeIndex, World};

/// How long machines give a process to end when asked.
const KILL_GRACE: Duration = Duration::from_secs(10);
/// How long after its Worker's death an executor's process may live, in milliseconds. It has its grace
/// period, and then the Worker's reaper kills it.
const ORPHAN_LIMIT: u64 = 15_000;

/// Tasks that a shell hands over before some have ended: more than all cores of a small cluster.
const MOST_OPEN: u64 = 200;

impl World {
    /// A Master begins to lead at this seat, unless one leads.
    pub(crate) fn start_master(&mut self, seat: usize) {
        if self.master.is_some() {
            return;
        }
        self.take_seat(seat);
        let preemption = match &self.saboteur {
            Some(saboteur) => saboteur.preemption(self.scenario.preemption),
            None => self.scenario.preemption,
        };
        let gang_preemption = self.scenario.gang_preemption;
        let gang_preemption =
            self.saboteur.as_ref().map_or(gang_preemption, |it| it.gang_preemption(gang_preemption));
        let exclusion = master::Config::default().exclusion;
        let exclusion = self.saboteur.as_ref().map_or(exclusion, |saboteur| saboteur.exclusion(exclusion));
        let config = master::Config {
            preemption,
            gang_preemption,
            reservations: self.scenario.reservations,
            exclusion,
            url: seat_address(seat).url(),
            strategy: self.scenario.strategy,
            worker_order: self.scenario.order,
            rule: self.scenario.rule.clone(),
            queues: self.scenario.queues.clone(),
            backfill: self.scenario.backfill,
            order: self.scenario.serving,
            driver_strategy: self.scenario.driver_strategy,
            max_drivers: self.scenario.max_drivers,
            // The same value as in the daemon: a Master may replace another one within the same second.
            first_application: self.timestamp().millis() % 1000 * 10,
            page: self.page(),
            limits: master::Limits { cores: PLAUSIBLE, ..master::Limits::default() },
            resource_shares: master::ResourceShares::Allowed,
            web_address: self.scenario.is_measured().then(|| "http://master:8080/".to_owned()),
            ..master::Config::default()
        };
        self.master_inbox = MasterInbox::default();
        self.unheard.clear();
        let master = match self.scenario.is_durable {
            true => self.recovered_master(master::Config { durability: Durability::Durable, ..config }),
            false => {
                self.ledger = Ledger::default();
                Some(self.new_master(config))
            }
        };
        let Some(master) = master else { return };
        let node = self.add_node(Body::Master(Box::new(master)));
        self.begin_reign(seat, node);
        self.write_late();
        self.compare_tables();
        self.set_alarm(node);
    }

    /// A Master with new state. In half of the clusters it leaves alone for a while what it does not know.
    fn new_master(&mut self, config: master::Config) -> Master {
        let holds = self.scenario.holds_foreign && !self.is_sabotaged_by(Sabotage::EndForeign);
        let foreign = if holds { Foreign::Held } else { Foreign::Ended };
        let config = master::Config { foreign, ..config };
        self.master_began = self.timestamp();
        Master::recover(config, self.timestamp(), []).expect("no record contradicts another one")
    }

    /// Pages of the Master's state are often much shorter than a real Master's.
    fn page(&self) -> PageSize {
        let rows = [2, 5, PageSize::default().rows];
        let chosen = usize::try_from(self.timestamp().millis() % 3).expect("it is small");
        PageSize { rows: rows[chosen], ..PageSize::default() }
    }

    pub(crate) fn crash_master(&mut self) {
        let Some(node) = self.master.take() else { return };
        match self.scenario.is_durable {
            true => self.lose_held(),
            false => self.ledger = Ledger::default(),
        }
        self.end_process(node, ProcessEnd::Abruptly);
        let (pause, seat) = self.succession();
        self.after(pause, Happening::StartMaster { seat });
        self.leave_seat(node);
    }

    pub(crate) fn start_worker(&mut self, plan: usize) {
        if self.workers[plan].is_some() {
            return;
        }
        let host = format!("host{plan}");
        let id = WorkerId::new(format!("worker-{}-{host}-7078", self.timestamp().compact()));
        let machine = &self.scenario.workers[plan];
        let measures = self.scenario.is_measured() && plan == 5;
        let config = worker::Config {
            description: WorkerDescription::new(
                id.clone(),
                Address::new(host, 7078),
                Offered {
                    cores: machine.cores,
                    memory: machine.memory,
                    resources: machine.resources.clone(),
                },
                format!("/work{plan}"),
            )
            .with_token(token_of(&id)),
            masters: self.master_addresses(),
            max_registration_retries: u32::try_from(self.dice.between(2, 16)).expect("it is small"),
            kill_grace: KILL_GRACE,
            driver_kill_grace: KILL_GRACE,
            // Most Workers are not woken for this again and again.
            try_pause: self.scenario.may_start_nothing().then_some(Duration::from_secs(20)),
            max_disk_percent: 95,
            // One Worker measures, in few clusters: what it reports decides nothing.
            usage_pause: measures.then_some(Duration::from_secs(20)),
            web_address: measures.then(|| format!("http://host{plan}:8081/")),
            cleanup: Some(worker::Cleanup {
                interval: Duration::from_millis(self.dice.between(1_000, 60_000)),
                keep: Duration::from_secs(60),
                max_executors: 3,
                max_bytes: 1_000,
            }),
            retained_executors: 1_000,
            seed: self.dice.number(),
        };
        let body =
            WorkerBody { machine: Worker::new(config), id, plan, readings: BTreeMap::new(), gone_by: None };
        let node = self.add_node(Body::Worker(Box::new(body)));
        self.workers[plan] = Some(node);
        self.tell(node, NodeEvent::Worker(worker::Event::Start));
        self.tell(node, NodeEvent::Worker(World::earlier_directories()));
    }

    /// Ends a Worker, orderly or not. Its executors must end too, and this is checked. A while later the
    /// Worker starts again.
    pub(crate) fn end_worker(&mut self, node: NodeIndex, end: ProcessEnd) {
        let Body::Worker(body) = &self.node(node).body else { return };
        let plan = body.plan;
        self.workers[plan] = None;
        self.fetches.forget(node);
        self.end_process(node, end);
        self.end_cluster_drivers(node);
        let orphans: Vec<NodeIndex> = self.living_processes().into_iter().collect();
        for process in orphans {
            if self.process(process).is_none_or(|process| process.worker != node) {
                continue;
            }
            let at_once = self.dice.one_in(2);
            let delay = self.dice.between(1, 400);
            if !at_once {
                let happening = match self.node(process).body {
                    Body::Command(_) => {
                        Happening::ExecutorEnd { node: process, status: ExitStatus::Signal(15) }
                    }
                    _ => Happening::Tell {
                        node: process,
                        event: NodeEvent::Executor(executor::Event::Shutdown),
                    },
                };
                self.after(delay, happening);
            }
            let killed = if at_once { delay } else { ORPHAN_LIMIT - 1_000 };
            self.after(killed, Happening::ExecutorEnd { node: process, status: ExitStatus::Signal(9) });
            self.after(ORPHAN_LIMIT, Happening::DoomCheck { node: process, doom: Doom::Orphaned });
        }
        let pause = self.dice.between(1_001, 15_000);
        self.after(pause, Happening::StartWorker { plan });
    }

    pub(crate) fn start_driver(&mut self, app: usize) {
        let plan = &self.scenario.apps[app];
        if let AppKind::Launcher(until) = plan.kind {
            return self.start_launcher(app, until);
        }
        let config = driver::Config {
            masters: self.master_addresses(),
            description: plan.description.clone(),
            secret: secret_of(app as u64),
            max_task_failures: plan.max_task_failures,
            fatal_exit_codes: driver::ExitCodes::from_iter([FATAL]),
            allocation: plan.allocation,
            output_credit: plan.output_credit,
            registration_timeout: Duration::from_secs(60),
            starvation_timeout: Duration::from_secs(15),
            loss_delay: Duration::from_secs(5),
            executor_timeout: Duration::from_secs(30),
            heartbeats: driver::Heartbeats {
                interval: Duration::from_secs(10),
                timeout: Duration::from_secs(40),
                max_failures: 4,
            },
            topology: plan.locality.topology.clone(),
            exclusion: plan.locality.exclusion,
            locality_wait: self
                .saboteur
                .as_ref()
                .map_or(plan.locality.wait(), |saboteur| saboteur.locality_wait(plan.locality.wait())),
            seed: self.dice.number(),
        };
        let machine = Driver::new(config);
        let body = DriverBody {
            machine,
            app,
            tasks: Default::default(),
            questions: Default::default(),
            waiting: Default::default(),
            registration: None,
            headcount: Headcount::default(),
            newcomers: Default::default(),
            entrance: Default::default(),
        };
        let node = self.add_node(Body::Driver(Box::new(body)));
        self.drivers[app] = DriverPhase::Lives(node);
        self.tell(node, NodeEvent::Driver(driver::Event::Start));
        for (profile, needs) in self.scenario.apps[app].profiles.clone() {
            let total = self.dice.below(3);
            self.tell(node, NodeEvent::Driver(driver::Event::AddProfile { profile, needs, total }));
        }
        self.at(self.now, Happening::Submit { node, task: 0 });
    }

    /// The shell hands over tasks while few of them are open.
    pub(crate) fn submit(&mut self, node: NodeIndex, task: usize) {
        let Some(body) = self.driver_mut(node) else { return };
        let (app, open) = (body.app, body.tasks.open());
        let plan = &self.scenario.apps[app];
        if task >= plan.tasks.len() {
            let outcome = outcome_of(app);
            return self.tell(node, NodeEvent::Driver(driver::Event::Finish { outcome }));
        }
        let pause = if self.dice.one_in(20) { self.dice.between(1, 5_000) } else { self.dice.below(3) };
        if open >= MOST_OPEN {
            return self.after(pause + 50, Happening::Submit { node, task });
        }
        let request = self.scenario.apps[app].tasks[task].request(app, task);
        let (now, id) = (self.now, task as u64);
        let locality = Arc::clone(&self.scenario.apps[app].locality);
        if let Some(body) = self.driver_mut(node) {
            body.tasks.submit();
            body.waiting.add(&locality, request.profile, id, now);
        }
        let request = driver::TaskRequest { preferred_hosts: locality.hosts_of(id), ..request };
        let id = TaskId(id);
        let event = driver::Event::Submit { task: id, request };
        self.tell(node, NodeEvent::Driver(event));
        if let Some(millis) = self.scenario.apps[app].tasks[task].given_up_after {
            self.tell_driver(millis, node, driver::Event::CancelTask { task: id });
        }
        if self.dice.one_in(50) {
            let question = *self.dice.pick(&[driver::Question::Look, driver::Question::Explain]);
            self.ask(node, question);
        }
        self.after(pause, Happening::Submit { node, task: task + 1 });
    }

    pub(crate) fn end_driver(&mut self, node: NodeIndex, end: ProcessEnd) {
        let Some(body) = self.driver_mut(node) else { return };
        let app = body.app;
        self.drivers[app] = DriverPhase::Over { at: self.now };
        self.end_process(node, end);
    }

    /// A Worker starts an executor's process.
    pub(crate) fn start_executor(&mut self, worker: NodeIndex, plan: ExecutorPlan) {
        let result = self.executors.start(&plan.executor, worker);
        self.hold(result);
        if plan.command.program().is_none_or(|command| command.program.is_empty()) {
            // A stranger's application: its program does not exist.
            let failure = no_such_file();
            let event = worker::Event::RunnerFailed { executor: plan.executor, why: failure.into() };
            return self.tell_worker(1, worker, event);
        }
        if self.is_full(worker) {
            self.fault(Fault::DiskFull);
            let event = worker::Event::RunnerFailed { executor: plan.executor, why: no_space().into() };
            return self.tell_worker(1, worker, event);
        }
        if self.starts_nothing(worker) {
            self.fault(Fault::WorkerMeetsShortage);
            let event = worker::Event::RunnerFailed { executor: plan.executor, why: no_processes() };
            return self.tell_worker(1, worker, event);
        }
        let Some((app, config)) = self.read_command(worker, &plan) else { return };
        self.check_files(worker, app, &plan.executor, &plan.files);
        let mut fate = ExecutorFate::Serves;
        let mut millis = self.dice.between(5, 300);
        let kind = self.scenario.apps[app].kind;
        if let AppKind::Launcher(until) = kind {
            fate = self.command_fate(until);
        } else if self.is_rough() && self.dice.one_in(self.scenario.faults.executor) {
            if self.dice.one_in(7) {
                self.fault(Fault::ExecutorStartsLate);
                millis = self.dice.between(2_000, 40_000);
            } else {
                let (faulty, fault) = ExecutorFate::faulty(&mut self.dice);
                fate = faulty;
                self.fault(fault);
            }
        }
        if self.is_bad(worker) {
            self.fault(Fault::WorkerCannotStart);
            fate = ExecutorFate::CannotStart;
        }
        let process = ExecutorProcess {
            key: plan.executor.clone(),
            worker,
            app,
            cores: plan.cores,
            resources: plan.resources.clone(),
            fate,
            phase: ProcessPhase::Starting,
            tasks: Default::default(),
            profile: plan.profile,
            idle_since: None,
            asked_at: None,
        };
        let node = self.add_node(match kind {
            AppKind::Driver => {
                Body::Executor(Box::new(ExecutorBody { machine: Executor::new(config), process }))
            }
            AppKind::Launcher(_) => Body::Command(Box::new(process)),
        });
        self.processes.insert(plan.executor, node);
        self.after(millis, Happening::ExecutorUp { node });
    }

    /// Whether a Worker cannot start executors now.
    fn is_bad(&self, worker: NodeIndex) -> bool {
        let Body::Worker(body) = &self.node(worker).body else { return false };
        self.is_rough() && self.scenario.bad_worker == Some(body.plan)
    }

    /// Reads the command line as an executor's program does. Every placeholder must have been filled in.
    fn read_command(&mut self, worker: NodeIndex, plan: &ExecutorPlan) -> Option<(usize, executor::Config)> {
        let command = plan.command.program().expect("anything else has not started");
        let words = &command.arguments;
        let Body::Worker(body) = &self.node(worker).body else { return None };
        let host = format!("host{}", body.plan);
        let expected = [
            plan.executor.app.to_string(),
            plan.executor.executor.to_string(),
            plan.cores.0.to_string(),
            host.clone(),
            body.id.to_string(),
            plan.memory.0.to_string(),
            plan.profile.to_string(),
            plan.resources.to_string(),
            format!("spark://{host}:7078"),
        ];
        let app = words.first().and_then(|word| word.parse::<usize>().ok());
        let Some(app) = app.filter(|app| *app < self.scenario.apps.len()) else {
            self.violate(format!("executor {} is started with {words:?}", plan.executor));
            return None;
        };
        if words[1..] != expected {
            self.violate(format!("executor {} is started with {words:?}, not {expected:?}", plan.executor));
            return None;
        }
        let secret = command.environment.get(EXECUTOR_SECRET).cloned().unwrap_or_default();
        let config = executor::Config {
            app: plan.executor.app.clone(),
            executor: ExecutorId(plan.executor.executor.0),
            profile: plan.profile,
            worker: body.id.clone(),
            host,
            cores: plan.cores,
            resources: plan.resources.clone(),
            secret: Secret::new(secret),
            kill_grace: KILL_GRACE,
        };
        Some((app, config))
    }

    pub(crate) fn executor_up(&mut self, node: NodeIndex) {
        let now = self.now;
        let Some(process) = self.process_mut(node) else { return };
        process.phase = ProcessPhase::Running { since: now };
        let (fate, worker, executor) = (process.fate, process.worker, process.key.clone());
        if fate == ExecutorFate::CannotStart {
            self.forget_process(node);
            let failure = no_such_file();
            return self.tell(
                worker,
                NodeEvent::Worker(worker::Event::RunnerFailed { executor, why: failure.into() }),
            );
        }
        let pid = u32::try_from(node.0).unwrap_or(u32::MAX);
        self.tell(worker, NodeEvent::Worker(worker::Event::RunnerStarted { executor, pid }));
        match fate {
            ExecutorFate::Serves | ExecutorFate::IgnoresTerminate => self.begin_serving(node),
            ExecutorFate::DiesAfter { millis, status } => {
                self.begin_serving(node);
                self.after(millis, Happening::ExecutorEnd { node, status });
            }
            ExecutorFate::Works { millis, status } => {
                self.after(millis, Happening::ExecutorEnd { node, status });
            }
            ExecutorFate::EndsAtOnce { status } => {
                let millis = self.dice.between(1, 200);
                self.after(millis, Happening::ExecutorEnd { node, status });
            }
            ExecutorFate::Hangs => {
                let millis = self.dice.between(5_000, 600_000);
                let status = ExitStatus::Code(124);
                self.after(millis, Happening::ExecutorEnd { node, status });
            }
            ExecutorFate::CannotStart => {}
        }
    }

    fn begin_serving(&mut self, node: NodeIndex) {
        let millis = self.dice.between(1, 20);
        self.after(millis, Happening::Tell { node, event: NodeEvent::Executor(executor::Event::Start) });
    }

    /// Ends an executor's process with everything that it started; its Worker is told.
    pub(crate) fn executor_end(&mut self, node: NodeIndex, status: ExitStatus) {
        let Some(process) = self.process(node) else { return };
        let (worker, executor) = (process.worker, process.key.clone());
        let end = match status {
            ExitStatus::Code(_) => ProcessEnd::Orderly,
            ExitStatus::Signal(_) => ProcessEnd::Abruptly,
        };
        self.forget_process(node);
        self.end_process(node, end);
        let millis = self.dice.below(20);
        let (key, cpu_millis) = (executor.clone(), self.now % 10_000);
        self.tell_worker(millis, worker, worker::Event::ExecutorMeasured { executor: key, cpu_millis });
        self.tell_worker(millis, worker, worker::Event::RunnerExited { executor: executor.clone(), status });
        // Measuring takes a moment more.
        let bytes = u64::from(executor.executor.0 % 7) * 100;
        self.tell_worker(millis + 1, worker, worker::Event::DirectoryLeft { executor, bytes });
    }

    fn forget_process(&mut self, node: NodeIndex) {
        if let Some(process) = self.process(node) {
            let key = process.key.clone();
            self.processes.remove(&key);
        }
        if matches!(self.node(node).body, Body::Executor(_) | Body::Command(_))
            && self.node(node).connections.is_empty()
        {
            self.node_mut(node).body = Body::Gone;
        }
    }

    pub(crate) fn signal_executor(&mut self, worker: NodeIndex, key: &ExecutorKey, signal: Signal) {
        let Some(&node) = self.processes.get(key) else { return };
        let Some(process) = self.process(node) else { return };
        if process.worker != worker || !process.is_running() {
            return;
        }
        let fate = process.fate;
        let stands_still = self.node(node).waiting.is_some();
        if signal == Signal::Kill && process.should_have_ended(self.now) && !stands_still {
            return self.violate(format!("executor {key} did not end when it was asked to"));
        }
        let now = self.now;
        if let Some(process) = self.process_mut(node) {
            process.asked_at.get_or_insert(now);
        }
        let millis = self.dice.below(10);
        match (signal, fate) {
            (Signal::Kill, _) => {
                self.after(millis, Happening::ExecutorEnd { node, status: ExitStatus::Signal(9) });
            }
            (Signal::Terminate, ExecutorFate::IgnoresTerminate) => {}
            (Signal::Terminate, ExecutorFate::Serves | ExecutorFate::DiesAfter { .. }) => {
                let event = NodeEvent::Executor(executor::Event::Shutdown);
                self.after(millis, Happening::Tell { node, event });
            }
            (
                Signal::Terminate,
                ExecutorFate::EndsAtOnce { .. }
                | ExecutorFate::Works { .. }
                | ExecutorFate::Hangs
                | ExecutorFate::CannotStart,
            ) => {
                self.after(millis, Happening::ExecutorEnd { node, status: ExitStatus::Signal(15) });
            }
        }
    }

    pub(crate) fn process(&self, node: NodeIndex) -> Option<&ExecutorProcess> {
        match &self.node(node).body {
            Body::Executor(body) => Some(&body.process),
            Body::Command(process) => Some(process),
            Body::Master(_)
            | Body::Worker(_)
            | Body::Driver(_)
            | Body::Launcher(_)
            | Body::Stranger
            | Body::Standby { .. }
            | Body::Gone => None,
        }
    }

    pub(crate) fn process_mut(&mut self, node: NodeIndex) -> Option<&mut ExecutorProcess> {
        match &mut self.node_mut(node).body {
            Body::Executor(body) => Some(&mut body.process),
            Body::Command(process) => Some(process),
            Body::Master(_)
            | Body::Worker(_)
            | Body::Driver(_)
            | Body::Launcher(_)
            | Body::Stranger
            | Body::Standby { .. }
            | Body::Gone => None,
        }
    }
}

pub(crate) fn no_such_file() -> StartFailure {
    StartFailure { step: StartStep::Lookup, error: "no such file or directory".to_owned() }
}
