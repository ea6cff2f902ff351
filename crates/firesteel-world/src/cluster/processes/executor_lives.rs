//! The starts and ends of executors' processes.

use firesteel_engine::executor::{self, Executor};
use firesteel_protocol::ids::{ExecutorId, ExecutorKey};
use firesteel_protocol::process::{ExitStatus, Signal, StartFailure, StartStep};
use firesteel_protocol::secret::{EXECUTOR_SECRET, Secret};
use firesteel_worker::{self as worker, ExecutorPlan};

use super::node::{Body, ExecutorBody, NodeEvent};
use super::programs::{ExecutorFate, ExecutorProcess, ProcessPhase};
use crate::cluster::faults::Fault;
use crate::cluster::faults::disks::no_space;
use crate::cluster::faults::shortages::no_processes;
use crate::cluster::network::ProcessEnd;
use crate::cluster::processes::lives::KILL_GRACE;
use crate::cluster::scenario::AppKind;
use crate::cluster::scheduled_event::ScheduledEvent;
use crate::cluster::world::{NodeIndex, World};

pub(crate) fn no_such_file() -> StartFailure {
    StartFailure { step: StartStep::Lookup, error: "no such file or directory".to_owned() }
}

impl World {
    pub(crate) fn start_executor(&mut self, worker: NodeIndex, plan: ExecutorPlan) {
        let result = self.executors.start(&plan.executor, worker);
        self.hold(result);
        if plan.command.program().is_none_or(|command| command.program.is_empty()) {
            // A hostile peer's application has a program that does not exist.
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
        self.after(millis, ScheduledEvent::ExecutorUp { node });
    }

    /// Whether a Worker cannot start executors now.
    fn is_bad(&self, worker: NodeIndex) -> bool {
        let Body::Worker(body) = &self.node(worker).body else { return false };
        self.is_rough() && self.scenario.bad_worker == Some(body.plan)
    }

    /// Parses the command line as an executor's program does. Checks that every placeholder was filled in.
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
                self.after(millis, ScheduledEvent::ExecutorEnd { node, status });
            }
            ExecutorFate::Works { millis, status } => {
                self.after(millis, ScheduledEvent::ExecutorEnd { node, status });
            }
            ExecutorFate::EndsAtOnce { status } => {
                let millis = self.dice.between(1, 200);
                self.after(millis, ScheduledEvent::ExecutorEnd { node, status });
            }
            ExecutorFate::Hangs => {
                let millis = self.dice.between(5_000, 600_000);
                let status = ExitStatus::Code(124);
                self.after(millis, ScheduledEvent::ExecutorEnd { node, status });
            }
            ExecutorFate::CannotStart => {}
        }
    }

    fn begin_serving(&mut self, node: NodeIndex) {
        let millis = self.dice.between(1, 20);
        self.after(millis, ScheduledEvent::Tell { node, event: NodeEvent::Executor(executor::Event::Start) });
    }

    /// Ends an executor's process and all processes that it started. The Worker learns of the end.
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
        let (key, last) = (executor.clone(), self.last_measurement(status));
        self.tell_worker(millis, worker, worker::Event::ExecutorMeasured { executor: key, last });
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
                self.after(millis, ScheduledEvent::ExecutorEnd { node, status: ExitStatus::Signal(9) });
            }
            (Signal::Terminate, ExecutorFate::IgnoresTerminate) => {}
            (Signal::Terminate, ExecutorFate::Serves | ExecutorFate::DiesAfter { .. }) => {
                let event = NodeEvent::Executor(executor::Event::Shutdown);
                self.after(millis, ScheduledEvent::Tell { node, event });
            }
            (
                Signal::Terminate,
                ExecutorFate::EndsAtOnce { .. }
                | ExecutorFate::Works { .. }
                | ExecutorFate::Hangs
                | ExecutorFate::CannotStart,
            ) => {
                self.after(millis, ScheduledEvent::ExecutorEnd { node, status: ExitStatus::Signal(15) });
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
