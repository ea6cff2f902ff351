//! Performs the effects of the nodes' state machines.

use std::sync::Arc;

use firesteel_engine::driver::{self, ExecutorLoss, TaskOutcome, Unfit};
use firesteel_engine::executor;
use firesteel_master::{self as master, Record};
use firesteel_protocol::ids::{ExecutorId, PeerId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationEnd, DriverToExecutor, ExecutorToDriver, Stream, TaskEnd, TaskState, WorkerToMaster,
};
use firesteel_protocol::process::ExitStatus;
use firesteel_worker as worker;

use crate::cluster::faults::absences::Probe;
use crate::cluster::faults::election::listener_of;
use crate::cluster::laws::ledger::EventOutcome;
use crate::cluster::network::ProcessEnd;
use crate::cluster::network::message::Message;
use crate::cluster::processes::node::{Body, DriverBody, NodeEffects};
use crate::cluster::processes::programs::Program;
use crate::cluster::scenario::TaskFate;
use crate::cluster::scheduled_event::Target;
use crate::cluster::world::{DriverPhase, NodeIndex, World};

impl World {
    pub(crate) fn perform(&mut self, node: NodeIndex, effects: NodeEffects) {
        match effects {
            NodeEffects::Master(effects) => {
                effects.into_iter().for_each(|effect| self.perform_master(node, effect));
            }
            NodeEffects::Worker(effects) => {
                effects.into_iter().for_each(|effect| self.perform_worker(node, effect));
            }
            NodeEffects::Driver(effects) => {
                let newcomers = effects.iter().filter_map(newcomer).collect();
                if let Some(body) = self.driver_mut(node) {
                    body.newcomers = newcomers;
                }
                effects.into_iter().for_each(|effect| self.perform_driver(node, effect));
            }
            NodeEffects::Launcher(effects) => {
                effects.into_iter().for_each(|effect| self.perform_launcher(node, effect));
                self.hold_launcher(node);
            }
            NodeEffects::Executor(effects) => {
                effects.into_iter().for_each(|effect| self.perform_executor(node, effect));
            }
        }
    }

    pub(crate) fn trace_effect(&mut self, node: NodeIndex, effect: &impl std::fmt::Debug) {
        if self.trace.is_some() {
            let name = self.node(node).body.name();
            self.remark(format!("{name}    -> {effect:?}"));
        }
    }

    /// Stores the ledger's result for one of the Master's events.
    pub(crate) fn take_outcome(&mut self, master: NodeIndex, entry: Result<EventOutcome, String>) {
        let outcome = match entry {
            Ok(outcome) => outcome,
            Err(sentence) => return self.violate(sentence),
        };
        for end in &outcome.ended {
            self.coverage.application_end.count(end);
            if let ApplicationEnd::Finished { outcome: Some(outcome) } = end {
                self.coverage.outcome.count(outcome);
            }
            if self.is_settled() && *end == ApplicationEnd::DriverLost {
                self.violate("an application lost its driver though nothing goes wrong any more");
            }
        }
        for key in &outcome.gone {
            if self.processes.contains_key(key) {
                self.violate(format!("the driver of executor {key} is told that it is gone: it runs"));
            }
        }
        for (app, peer) in outcome.registered {
            let Some(link) = self.link_of(master, peer) else { continue };
            let side = self.links[link.0].side_of(master).other();
            let end = self.links[link.0].end(side);
            let (node, peer) = (end.node, end.peer);
            if let Body::Driver(body) = &mut self.node_mut(node).body {
                body.registration = Some((app, peer));
            }
        }
    }

    fn perform_master(&mut self, node: NodeIndex, effect: master::Effect) {
        self.trace_effect(node, &effect);
        self.coverage.master_effect.count(&effect);
        match effect {
            // All other records are on the disk before their effects are performed.
            master::Effect::Persist(records) if Record::may_wait(&records) => {
                self.keep_waiting(records);
            }
            master::Effect::Persist(_) => {}
            master::Effect::Send { peer, message } => {
                if let master::Outbound::Worker(message) = &message {
                    self.see_driver_order(message);
                }
                self.send(node, peer, message.into());
            }
            master::Effect::Close { peer } => self.close(node, peer),
            master::Effect::Probe { worker, since, until, .. } => {
                self.probe(node, Probe { worker, since, until })
            }
            master::Effect::ReadLog { peer, addresses, range } => {
                self.read_worker_log(node, peer, &addresses, &range);
            }
            master::Effect::Note(note) => {
                self.coverage.master_note.count(&note);
                if let master::Note::DriverEnded { state, .. } = &note {
                    self.coverage.driver_state.count(state);
                }
                if let (true, master::Note::WorkerRemoved { worker, reason, .. }) = (self.is_settled(), &note)
                {
                    self.violate(format!("{worker} is removed though nothing goes wrong any more: {reason}"));
                }
            }
        }
    }

    /// The repeated report about its executors that a Worker sends right after its registration. Spark's Workers send
    /// this report, and some Workers of this world do, too.
    fn latest_state(&self, node: NodeIndex, message: &worker::Outbound) -> Option<WorkerToMaster> {
        let Body::Worker(body) = &self.node(node).body else { return None };
        match message {
            worker::Outbound::Master(WorkerToMaster::RegisterWorker { worker, executors, .. })
                if body.plan % 3 == 1 =>
            {
                let (worker, executors) = (worker.id.clone(), executors.clone());
                Some(WorkerToMaster::WorkerLatestState { worker, executors })
            }
            _ => None,
        }
    }

    fn perform_worker(&mut self, node: NodeIndex, effect: worker::Effect) {
        self.trace_effect(node, &effect);
        self.coverage.worker_effect.count(&effect);
        match effect {
            worker::Effect::Connect { master } => self.dial(node, Target::Master(listener_of(&master))),
            worker::Effect::Send { peer, message } => {
                if let worker::Outbound::Master(message) = &message {
                    let result = self.executors.report(message);
                    self.hold(result);
                    self.check_left(node, message);
                    self.check_driver_report(message);
                }
                if let worker::Outbound::Client(message) = &message {
                    self.answer_client(node, peer, message);
                }
                let latest = self.latest_state(node, &message);
                self.send(node, peer, message.into());
                if let Some(latest) = latest {
                    self.send(node, peer, worker::Outbound::Master(latest).into());
                }
            }
            worker::Effect::Close { peer } => self.close(node, peer),
            worker::Effect::FetchFiles { fetch, app, files } => self.fetch_files(node, fetch, app, &files),
            worker::Effect::RemoveFiles { app } => self.remove_files(node, &app),
            worker::Effect::StartDriver(plan) => self.start_cluster_driver(node, plan),
            worker::Effect::SignalDriver { driver, signal } => {
                self.signal_cluster_driver(node, driver, signal);
            }
            worker::Effect::StartExecutor(plan) => self.start_executor(node, plan),
            worker::Effect::SignalExecutor { executor, signal } => {
                let result = self.executors.signal(&executor, node);
                self.hold(result);
                self.signal_executor(node, &executor, signal);
            }
            worker::Effect::CleanApplication { app } => {
                let left = self.processes.iter().find(|(key, process)| {
                    key.app == app && self.process(**process).is_some_and(|process| process.worker == node)
                });
                if let Some((key, _)) = left {
                    let key = key.clone();
                    self.violate(format!("application {app} is cleaned away while executor {key} lives"));
                }
            }
            worker::Effect::TryToStart { process } => self.try_to_start(node, process),
            worker::Effect::Measure { executors, drivers, disk: _ } => self.measure(node, executors, drivers),
            worker::Effect::FindStale { keep, .. } => self.find_stale(node, &keep),
            worker::Effect::RemoveDirectory { app } => self.remove_directory(node, &app),
            worker::Effect::RemoveExecutorDirectories { executors } => {
                self.remove_executor_directories(node, &executors);
            }
            worker::Effect::ReadLog { peer, range } => self.read_log(node, peer, &range),
            worker::Effect::Exit(exit) => {
                self.coverage.worker_exit.count(&exit);
                self.end_worker(node, ProcessEnd::Orderly);
            }
            worker::Effect::Note(note) => self.coverage.worker_note.count(&note),
        }
    }

    fn perform_driver(&mut self, node: NodeIndex, effect: driver::Effect) {
        self.trace_effect(node, &effect);
        self.coverage.driver_effect.count(&effect);
        let app = match self.driver_mut(node) {
            Some(body) => {
                newcomer(&effect).map(|executor| body.newcomers.remove(&executor));
                body.app
            }
            None => return,
        };
        match effect {
            driver::Effect::Connect { master } => self.dial(node, Target::Master(listener_of(&master))),
            driver::Effect::Send { peer, message } => self.send_as_driver(node, app, peer, message),
            driver::Effect::HandleArrived { peer } => {
                // A driver whose owner takes no reports receives nothing for a while.
                let millis = if self.dice.one_in(4) { self.dice.below(20_000) } else { self.dice.below(3) };
                self.tell_driver(millis, node, driver::Event::ArrivedHandled { peer });
            }
            driver::Effect::Close { peer } => self.close(node, peer),
            driver::Effect::Output { attempt, stream, bytes } => {
                let task = usize::try_from(attempt.task.0).unwrap_or(usize::MAX);
                let length = bytes.len() as u64;
                let result = self
                    .driver_mut(node)
                    .map(|body| body.tasks.store(attempt, Program { app, task }, stream, &bytes));
                self.hold(result.unwrap_or(Ok(())));
                let millis = self.dice.below(3);
                self.tell_driver(millis, node, driver::Event::OutputConsumed { attempt, bytes: length });
            }
            driver::Effect::DiscardOutput { attempt } => {
                let now = self.now;
                let plan = &self.scenario.apps[app];
                let (locality, profile) = (Arc::clone(&plan.locality), plan.profile_of(attempt.task.0));
                if let Some(body) = self.driver_mut(node) {
                    body.waiting.add(&locality, profile, attempt.task.0, now);
                }
            }
            driver::Effect::TaskEnded { task, outcome } => {
                if outcome == TaskOutcome::Cancelled {
                    self.check_given_up(node, task);
                }
                self.end_task(node, app, task.0, &outcome);
            }
            driver::Effect::Answer { number, answer } => self.take_answer(node, number, &answer),
            driver::Effect::Done(ending) => {
                self.coverage.ending.count(&ending);
                self.check_ending(node, app, &ending);
                self.end_driver(node, ProcessEnd::Orderly);
            }
            driver::Effect::Exit => {}
            driver::Effect::Note(note) => {
                self.coverage.driver_note.count(&note);
                self.check_driver_note(node, &note);
                if let driver::Note::ExecutorLost { executor, loss, .. } = note {
                    self.see_loss(node, executor, &loss);
                }
            }
        }
    }

    /// Checks the end of a driver: all tasks have ended, and a driver that completed has received all its tasks.
    fn check_ending(&mut self, node: NodeIndex, app: usize, ending: &driver::Ending) {
        let is_complete = matches!(ending, driver::Ending::Completed);
        let planned = self.scenario.apps[app].tasks.len() as u64;
        let result = self.driver_mut(node).map(|body| {
            body.tasks.done()?;
            match body.tasks.submitted() {
                submitted if is_complete && submitted < planned => {
                    Err(format!("a driver completed after {submitted} of {planned} tasks"))
                }
                _ => Ok(()),
            }
        });
        self.hold(result.unwrap_or(Ok(())));
    }

    /// A driver gave up an executor. The driver may then end this executor although it is busy.
    fn see_loss(&mut self, node: NodeIndex, executor: ExecutorId, loss: &ExecutorLoss) {
        let is_given_up = match loss {
            ExecutorLoss::Disconnected | ExecutorLoss::HeartbeatTimeout { .. } | ExecutorLoss::Misbehaved => {
                true
            }
            ExecutorLoss::Ended(_) | ExecutorLoss::ApplicationReplaced => false,
        };
        if let (true, Some(body)) = (is_given_up, self.driver_mut(node)) {
            body.headcount.dismiss(&[executor]);
        }
        if let (true, ExecutorLoss::HeartbeatTimeout { .. }) = (self.is_settled(), loss) {
            self.violate(format!("executor {executor} is given up though nothing goes wrong any more"));
        }
    }

    fn send_as_driver(&mut self, node: NodeIndex, app: usize, peer: PeerId, message: driver::Outbound) {
        if let driver::Outbound::Master(message) = &message {
            self.hold_request(node, app, message);
            self.hold_told_outcome(app, message);
        }
        if let driver::Outbound::Executor(message) = &message {
            if !self.hold_driver_message(node, peer, message) {
                return self.send(node, peer, Message::DriverToExecutor(message.clone()));
            }
            let result = self.driver_mut(node).map(|body| body.entrance.answer(app as u64, peer, message));
            self.hold(result.unwrap_or(Ok(())));
            let (limit, now) = (self.scenario.apps[app].output_credit, self.now);
            let locality = Arc::clone(&self.scenario.apps[app].locality);
            let profile = match message {
                DriverToExecutor::LaunchTask { attempt, .. } => {
                    self.scenario.apps[app].profile_of(attempt.task.0)
                }
                _ => ProfileId::DEFAULT,
            };
            let result = self.driver_mut(node).map(|body| match message {
                DriverToExecutor::LaunchTask { attempt, spec: _, resources: _, credit } => {
                    body.waiting.launch(&locality, &body.machine, profile, *attempt, now)?;
                    body.tasks.launch(*attempt, *credit, limit)
                }
                DriverToExecutor::OutputCredit { attempt, bytes } => {
                    body.tasks.grant(*attempt, *bytes, limit)
                }
                DriverToExecutor::KillTask { attempt } => body.tasks.kill(*attempt),
                DriverToExecutor::RegisteredExecutor { .. }
                | DriverToExecutor::Heartbeat { .. }
                | DriverToExecutor::RegisterExecutorFailed(_)
                | DriverToExecutor::StopExecutor => Ok(()),
            });
            self.hold(result.unwrap_or(Ok(())));
        }
        self.send(node, peer, message.into());
    }

    fn end_task(&mut self, node: NodeIndex, app: usize, task: u64, outcome: &TaskOutcome) {
        self.coverage.task_outcome.count(outcome);
        let plan = &self.scenario.apps[app];
        let max_failures = plan.max_task_failures;
        let index = usize::try_from(task).unwrap_or(usize::MAX);
        let output = plan.tasks.get(index).map_or([0, 0], |task| task.output);
        let is_unfit = plan.tasks.get(index).is_some_and(|task| task.fate == TaskFate::Unfit);
        let bound_to = plan.tasks.get(index).and_then(|task| task.on);
        if let TaskOutcome::Unfit(unfit) = outcome {
            self.coverage.unfit.count(unfit);
        }
        let is_lawful = match outcome {
            TaskOutcome::Unfit(Unfit::TooFewCores { executor, .. }) => bound_to == Some(*executor),
            TaskOutcome::Unfit(Unfit::NoSuchExecutor { executor }) => {
                let profile = plan.profile_of(task);
                let is_there = self.driver_mut(node).is_some_and(|body| {
                    let is_it = |row: &driver::ExecutorView| row.id == *executor && row.profile == profile;
                    body.machine.view().executors.iter().any(is_it) && !body.newcomers.contains(executor)
                });
                bound_to == Some(*executor) && !is_there
            }
            TaskOutcome::Unfit(
                Unfit::TooLong { .. } | Unfit::NoSuchProfile { .. } | Unfit::TooFewAddresses { .. },
            ) => is_unfit,
            TaskOutcome::Succeeded { .. } | TaskOutcome::Failed { .. } | TaskOutcome::Cancelled => !is_unfit,
        };
        if !is_lawful {
            return self.violate(format!("task {task} ended as {outcome:?}"));
        }
        let result = self.driver_mut(node).map(|body| {
            body.waiting.take(task);
            body.tasks.end(task, outcome, output, max_failures)
        });
        self.hold(result.unwrap_or(Ok(())));
    }

    fn perform_executor(&mut self, node: NodeIndex, effect: executor::Effect) {
        self.trace_effect(node, &effect);
        self.coverage.executor_effect.count(&effect);
        let Some(app) = self.process(node).map(|process| process.app) else { return };
        match effect {
            executor::Effect::Connect => self.dial(node, Target::Driver(app)),
            executor::Effect::HangUp => {
                self.check_executor_hangs_up(node);
                if let Some(peer) = self.latest_peer(node) {
                    self.close(node, peer);
                }
            }
            executor::Effect::Send(message) => self.send_as_executor(node, app, message),
            executor::Effect::StartTask { attempt, spec, resources, allowed } => {
                self.start_task(node, attempt, spec, resources, allowed);
            }
            executor::Effect::AllowOutput { attempt, bytes } => self.allow_output(node, attempt, bytes),
            executor::Effect::DrainOutput { attempt } => self.drain_output(node, attempt),
            executor::Effect::SignalTask { attempt, signal } => self.signal_task(node, attempt, signal),
            executor::Effect::Exit(exit) => {
                self.coverage.executor_exit.count(&exit);
                self.check_executor_exit(node, app, &exit);
                let left = self.process(node).map_or(0, |process| process.tasks.len());
                if left > 0 {
                    let name = self.node(node).body.name();
                    self.violate(format!("{name} ends and leaves {left} tasks behind"));
                }
                let status = match exit {
                    executor::Exit::Stopped => ExitStatus::SUCCESS,
                    executor::Exit::DriverLost
                    | executor::Exit::DriverSilent { .. }
                    | executor::Exit::DriverGone
                    | executor::Exit::GivenUp(_)
                    | executor::Exit::Estranged(_)
                    | executor::Exit::DriverUnreachable { .. }
                    | executor::Exit::Refused(_) => ExitStatus::Code(1),
                };
                self.executor_end(node, status);
            }
            executor::Effect::Note(note) => {
                self.coverage.executor_note.count(&note);
                if note == executor::Note::Registered {
                    self.became_idle(node);
                }
            }
        }
    }

    fn send_as_executor(&mut self, node: NodeIndex, app: usize, message: ExecutorToDriver) {
        let is_first = self.hold_executor_message(node, &message);
        if let (true, DriverPhase::Lives(driver)) = (is_first, self.drivers[app]) {
            let result = self.driver_mut(driver).map(|body| match &message {
                ExecutorToDriver::RegisterExecutor { .. } | ExecutorToDriver::Heartbeat { .. } => Ok(()),
                ExecutorToDriver::TaskGivenBack { attempt, failure } => {
                    body.tasks.report(*attempt, &TaskEnd::NotStarted(failure.clone()))
                }
                ExecutorToDriver::StatusUpdate { attempt, state } => match state {
                    TaskState::Running => Ok(()),
                    TaskState::Ended(end) => body.tasks.report(*attempt, end),
                },
                ExecutorToDriver::TaskOutput { attempt, stream, bytes } => {
                    debug_assert!(matches!(stream, Stream::Stdout | Stream::Stderr));
                    body.tasks.send(*attempt, bytes.len() as u64)
                }
            });
            self.hold(result.unwrap_or(Ok(())));
        }
        let Some(peer) = self.latest_peer(node) else {
            let name = self.node(node).body.name();
            return self.violate(format!("{name} sends before it is connected"));
        };
        self.send(node, peer, Message::ExecutorToDriver(message));
    }

    fn latest_peer(&self, node: NodeIndex) -> Option<PeerId> {
        let connections = self.node(node).connections.len() as u64;
        connections.checked_sub(1).map(PeerId)
    }

    pub(crate) fn driver_mut(&mut self, node: NodeIndex) -> Option<&mut DriverBody> {
        match &mut self.node_mut(node).body {
            Body::Driver(body) => Some(body),
            Body::Master(_)
            | Body::Worker(_)
            | Body::Launcher(_)
            | Body::Executor(_)
            | Body::Command(_)
            | Body::Stranger
            | Body::Standby { .. }
            | Body::Gone => None,
        }
    }
}

/// The executor whose registration a driver's effect accepts.
fn newcomer(effect: &driver::Effect) -> Option<ExecutorId> {
    match effect {
        driver::Effect::Note(driver::Note::ExecutorRegistered { executor, .. }) => Some(*executor),
        _ => None,
    }
}
