//! The starts, steps and ends of tasks' processes.

use firesteel_engine::executor;
use firesteel_placement::Resources;
use firesteel_protocol::ids::AttemptId;
use firesteel_protocol::messages::{Stream, TaskSpec};
use firesteel_protocol::process::{ExitStatus, Signal};

use super::executor_lives::no_such_file;
use super::node::{Body, NodeEvent};
use super::programs::{Program, TaskProcess, TaskStep};
use crate::cluster::faults::Fault;
use crate::cluster::faults::shortages::no_processes;
use crate::cluster::scenario::TaskFate;
use crate::cluster::scenario::needs;
use crate::cluster::scheduled_event::ScheduledEvent;
use crate::cluster::world::{DriverPhase, NodeIndex, World};

/// The exit code after which drivers do not retry a task.
pub(crate) const FATAL: u8 = 4;

/// The exit status of a failing task's program. Every fourth program ends with the fatal code.
fn failed(task: usize) -> ExitStatus {
    ExitStatus::Code(if task % 4 == 3 { i32::from(FATAL) } else { 3 })
}

impl World {
    pub(crate) fn start_task(
        &mut self,
        node: NodeIndex,
        attempt: AttemptId,
        spec: TaskSpec,
        given: Resources,
        allowed: u64,
    ) {
        let words: Vec<usize> = spec.command.arguments.iter().filter_map(|word| word.parse().ok()).collect();
        let &[app, task] = words.as_slice() else {
            return self.violate(format!("attempt {attempt} is started with {}", spec.command));
        };
        if let DriverPhase::Lives(driver) = self.drivers[app]
            && let Some(body) = self.driver_mut(driver)
        {
            let result = body.tasks.start(attempt);
            self.hold(result);
        }
        let plan = self.scenario.apps[app].tasks[task].clone();
        let lawful = self.process(node).map(|process| needs::check(process, attempt, &plan, &given));
        self.hold(lawful.unwrap_or(Ok(())));
        let fails = match plan.fate {
            TaskFate::Fails { attempts } => attempt.attempt < attempts,
            TaskFate::Succeeds
            | TaskFate::CannotStart
            | TaskFate::Hangs
            | TaskFate::IgnoresTerminate
            | TaskFate::Unfit => false,
        };
        let process = TaskProcess {
            program: Program { app, task },
            cores: spec.cores,
            asked: plan.resources.clone(),
            given,
            is_started: false,
            allowed,
            is_drained: false,
            read: [0, 0],
            output: plan.output,
            works_until: (plan.fate != TaskFate::Hangs).then(|| self.now + plan.millis),
            status: if fails { failed(task) } else { ExitStatus::SUCCESS },
            ignores_terminate: plan.fate == TaskFate::IgnoresTerminate,
            has_step: false,
            has_waited: false,
        };
        if plan.fate == TaskFate::Unfit {
            return self.violate(format!("attempt {attempt} is started, and fits nowhere"));
        }
        self.count_fate(plan.fate, fails);
        let Some(executor) = self.process_mut(node) else { return };
        executor.tasks.insert(attempt, process);
        executor.idle_since = None;
        let (used, cores) = (executor.cores_in_use(), executor.cores);
        if used > cores {
            let name = self.node(node).body.name();
            return self.violate(format!("{name} has {cores} and runs tasks of {used}"));
        }
        let millis = self.dice.between(1, 10);
        self.after(millis, ScheduledEvent::TaskUp { node, attempt });
    }

    /// Counts the fault that a task's process will have.
    fn count_fate(&mut self, fate: TaskFate, fails: bool) {
        match fate {
            TaskFate::Fails { .. } if fails => self.fault(Fault::TaskFails),
            TaskFate::CannotStart => self.fault(Fault::TaskCannotStart),
            TaskFate::Hangs => self.fault(Fault::TaskHangs),
            TaskFate::IgnoresTerminate => self.fault(Fault::TaskIgnoresTerminate),
            TaskFate::Fails { .. } | TaskFate::Succeeds | TaskFate::Unfit => {}
        }
    }

    pub(crate) fn task_up(&mut self, node: NodeIndex, attempt: AttemptId) {
        let Some(task) = self.task_mut(node, attempt) else { return };
        task.is_started = true;
        let Program { app, task } = task.program;
        if self.scenario.apps[app].tasks[task].fate == TaskFate::CannotStart {
            self.process_mut(node).map(|process| process.tasks.remove(&attempt));
            let failure = no_such_file();
            let event = executor::Event::TaskNotStarted { attempt, why: failure.into() };
            self.tell(node, NodeEvent::Executor(event));
            return self.rest(node);
        }
        if self.meets_shortage(node, attempt) {
            self.process_mut(node).map(|process| process.tasks.remove(&attempt));
            let event = executor::Event::TaskNotStarted { attempt, why: no_processes() };
            self.tell(node, NodeEvent::Executor(event));
            return self.rest(node);
        }
        self.tell(node, NodeEvent::Executor(executor::Event::TaskStarted { attempt, pid: 1 }));
        self.go_on(node, attempt);
    }

    /// Plans a task's next step, unless one is planned already.
    fn go_on(&mut self, node: NodeIndex, attempt: AttemptId) {
        let Some(task) = self.task_mut(node, attempt) else { return };
        if task.is_started && !std::mem::replace(&mut task.has_step, true) {
            let millis = self.dice.below(4);
            self.after(millis, ScheduledEvent::TaskStep { node, attempt });
        }
    }

    pub(crate) fn task_step(&mut self, node: NodeIndex, attempt: AttemptId) {
        let now = self.now;
        let Body::Executor(body) = &mut self.nodes[node.0].body else { return };
        let Some(task) = body.process.tasks.get_mut(&attempt) else { return };
        task.has_step = false;
        match task.step(now, &mut self.dice) {
            TaskStep::Output { stream, bytes } => {
                let stream = [Stream::Stdout, Stream::Stderr][stream];
                let event = executor::Event::TaskOutput { attempt, stream, bytes };
                self.tell(node, NodeEvent::Executor(event));
                self.go_on(node, attempt);
            }
            TaskStep::Waits => {
                if !std::mem::replace(&mut task.has_waited, true) {
                    self.fault(Fault::OutputBeyondCredit);
                }
            }
            TaskStep::Works { until } => {
                task.has_step = true;
                self.at(until, ScheduledEvent::TaskStep { node, attempt });
            }
            TaskStep::Hangs => {}
            TaskStep::Ends { status } => {
                body.process.tasks.remove(&attempt);
                self.tell(node, NodeEvent::Executor(executor::Event::TaskExited { attempt, status }));
                self.rest(node);
            }
        }
    }

    pub(crate) fn allow_output(&mut self, node: NodeIndex, attempt: AttemptId, bytes: u64) {
        let Some(task) = self.task_mut(node, attempt) else { return };
        task.allowed += bytes;
        self.go_on(node, attempt);
    }

    pub(crate) fn drain_output(&mut self, node: NodeIndex, attempt: AttemptId) {
        let Some(task) = self.task_mut(node, attempt) else { return };
        task.is_drained = true;
        self.go_on(node, attempt);
    }

    pub(crate) fn signal_task(&mut self, node: NodeIndex, attempt: AttemptId, signal: Signal) {
        let now = self.now;
        let Some(task) = self.task_mut(node, attempt) else { return };
        if task.signal(signal, now) {
            // The planned step, at the end of the work, would come too late.
            task.has_step = false;
            self.go_on(node, attempt);
        }
    }

    /// Records that an executor has one task fewer.
    fn rest(&mut self, node: NodeIndex) {
        if self.process(node).is_some_and(|process| process.tasks.is_empty()) {
            self.became_idle(node);
        }
    }

    fn task_mut(&mut self, node: NodeIndex, attempt: AttemptId) -> Option<&mut TaskProcess> {
        self.process_mut(node)?.tasks.get_mut(&attempt)
    }
}
