//! The executor runs its driver's tasks.
//!
//! The executor connects to its driver, registers, and starts the tasks that the driver sends. If the connection
//! breaks, the executor keeps its tasks running and registers again (`link`). It ends when the driver, the Worker or a
//! signal tells it to. It also ends when the driver has ended or cannot be reached for too long. Its tasks always end
//! first.

mod check;
mod config;
mod effect;
mod event;
mod heartbeats;
mod link;
mod note;
mod task;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::{Cores, Resources};
use firesteel_protocol::exchange::Exchange;
use firesteel_protocol::ids::AttemptId;
use firesteel_protocol::machine::{Effects, Machine, Violation};
use firesteel_protocol::messages::{DriverToExecutor, ExecutorToDriver, TaskEnd, TaskSpec, TaskState};
use firesteel_protocol::process::{NotStarted, Signal, StartFailure, StartStep};
use firesteel_protocol::time::Timestamp;

use self::heartbeats::Heartbeats;
use self::link::{Absence, Link};
use self::task::{Step, Task};

pub use config::Config;
pub use effect::{Effect, Exit};
pub use event::Event;
pub use note::Note;

#[derive(Clone, Debug)]
pub struct Executor {
    config: Config,
    link: Link,
    /// Present from when a dial fails or a connection to the driver ends until the driver accepts the executor.
    absence: Option<Absence>,
    /// Whether the driver has ever accepted the executor.
    was_accepted: bool,
    /// How long the driver waits for the executor after their connection broke. Zero: not at all.
    away: Duration,
    /// The messages to and from the driver, if the driver waits for the executor's return.
    exchange: Option<Exchange<ExecutorToDriver>>,
    /// Present while the driver has accepted the executor on the present connection.
    heartbeats: Option<Heartbeats>,
    /// The attempts that have not ended, by id.
    tasks: BTreeMap<AttemptId, Task>,
    phase: Phase,
    effects: Effects<Effect>,
}

/// The phases of an executor.
///
/// ```text
///  SERVING --stop, shutdown, driver lost--> ENDING --no task is left--> EXITED
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Serving,
    Ending {
        exit: Exit,
        /// How many signals have requested the end. The second signal ends all tasks immediately.
        shutdowns: u32,
    },
    Exited,
}

/// Why the executor set its next deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The grace period of a task is over.
    KillGrace(AttemptId),
    /// A heartbeat to the driver is due.
    Heartbeat,
    /// The driver has been silent for too long.
    DriverSilent,
    /// The driver is dialled again.
    Dial,
    /// The time in which the executor may return to its driver is over.
    AwayTooLong,
}

impl Executor {
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            link: Link::Dialling,
            absence: None,
            was_accepted: false,
            away: Duration::ZERO,
            exchange: None,
            heartbeats: None,
            tasks: BTreeMap::new(),
            phase: Phase::Serving,
            effects: Effects::default(),
        }
    }

    /// The attempts that have not ended, in order.
    pub fn attempts(&self) -> impl Iterator<Item = AttemptId> {
        self.tasks.keys().copied()
    }
}

impl Machine for Executor {
    type Event = Event;
    type Effect = Effect;
    type Reason = Reason;

    fn apply(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        if self.phase == Phase::Exited {
            return Vec::new();
        }
        match event {
            Event::Start => self.effects.push(Effect::Connect),
            Event::Connected { peer: _ } => self.on_connected(),
            Event::ConnectFailed { trouble, error } => self.on_connect_failed(now, trouble, error),
            Event::Received { message } => self.on_message(now, message),
            Event::Disconnected => self.on_disconnected(now),
            Event::TaskStarted { attempt, pid: _ } => self.on_task_started(now, attempt),
            Event::TaskNotStarted { attempt, why } => self.on_task_not_started(attempt, why),
            Event::TaskOutput { attempt, stream, bytes } => {
                if self.tasks.get(&attempt).is_some_and(Task::is_wanted) {
                    self.send(ExecutorToDriver::TaskOutput { attempt, stream, bytes });
                }
            }
            Event::TaskExited { attempt, status } => self.on_task_ended(attempt, TaskEnd::Exited(status)),
            Event::Shutdown => self.on_shutdown(now),
            Event::Deadline => self.on_deadline(now),
        }
        self.settle();
        self.effects.take()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        let graces = self
            .tasks
            .iter()
            .filter_map(|(&attempt, task)| Some((task.kill_at()?, Reason::KillGrace(attempt))));
        let heartbeat = self.heartbeats.as_ref().map(Heartbeats::next);
        let is_serving = self.phase == Phase::Serving;
        let silent_at = self.heartbeats.as_ref().filter(|_| is_serving).map(Heartbeats::silent_at);
        let silent_at = silent_at.map(|at| (at, Reason::DriverSilent));
        graces.chain(heartbeat).chain(silent_at).chain(self.next_return()).min()
    }

    fn check(&self) -> Result<(), Violation> {
        check::check(self)
    }
}

impl Executor {
    fn on_message(&mut self, now: Timestamp, message: DriverToExecutor) {
        if let Some(heartbeats) = &mut self.heartbeats {
            heartbeats.hear(now);
        }
        if let Some(bytes) = message.counted() {
            self.count(bytes);
        }
        match message {
            DriverToExecutor::RegisteredExecutor { rules, received } => {
                self.on_registered(now, rules, received);
            }
            DriverToExecutor::Heartbeat { received } => {
                if let Some(exchange) = &mut self.exchange {
                    exchange.acknowledge(received);
                }
            }
            DriverToExecutor::RegisterExecutorFailed(reason)
                if self.was_accepted && self.absence.is_some() =>
            {
                self.end(now, Exit::GivenUp(reason));
            }
            DriverToExecutor::RegisterExecutorFailed(reason) => self.end(now, Exit::Refused(reason)),
            DriverToExecutor::LaunchTask { attempt, spec, resources, credit } => {
                self.on_launch_task(attempt, spec, resources, credit);
            }
            DriverToExecutor::KillTask { attempt } => self.end_task(now, attempt, Signal::Terminate),
            DriverToExecutor::OutputCredit { attempt, bytes } => {
                if self.tasks.get(&attempt).is_some_and(Task::is_wanted) {
                    self.effects.push(Effect::AllowOutput { attempt, bytes });
                }
            }
            DriverToExecutor::StopExecutor => self.end(now, Exit::Stopped),
        }
    }

    fn on_launch_task(&mut self, attempt: AttemptId, spec: TaskSpec, resources: Resources, credit: u64) {
        if self.tasks.contains_key(&attempt) {
            self.effects.note(Note::RepeatedLaunch { attempt });
            return;
        }
        if self.phase != Phase::Serving {
            self.report(attempt, TaskState::Ended(TaskEnd::Killed));
            return;
        }
        let (cores, free) = (spec.cores_taken(), self.cores_free());
        if cores > free {
            self.effects.note(Note::TooFewCores { attempt, cores, free });
            let error = format!("the task takes {cores} cores, and the executor has {free} free");
            let failure = StartFailure { step: StartStep::Program, error };
            self.report(attempt, TaskState::Ended(TaskEnd::NotStarted(failure)));
            return;
        }
        self.tasks.insert(attempt, Task::new(cores));
        self.effects.push(Effect::StartTask { attempt, spec, resources, allowed: credit });
    }

    fn on_task_started(&mut self, now: Timestamp, attempt: AttemptId) {
        // The events of each attempt are reported in order; an attempt that has ended is not in the
        // table.
        let Some(task) = self.tasks.get_mut(&attempt) else { return };
        let kill_at = now + self.config.kill_grace;
        let step = task.started(kill_at);
        self.report(attempt, TaskState::Running);
        self.perform(attempt, step);
    }

    /// No process was started for an attempt. If the machine is at fault, the executor gives the task back, unless the
    /// attempt was told to end.
    fn on_task_not_started(&mut self, attempt: AttemptId, NotStarted { failure, fault }: NotStarted) {
        if fault.is_of_the_machine() && self.tasks.get(&attempt).is_some_and(Task::is_wanted) {
            self.tasks.remove(&attempt);
            return self.send(ExecutorToDriver::TaskGivenBack { attempt, failure });
        }
        self.on_task_ended(attempt, TaskEnd::NotStarted(failure));
    }

    /// An attempt has ended. If the attempt was told to end, it counts as killed, whatever its result.
    fn on_task_ended(&mut self, attempt: AttemptId, end: TaskEnd) {
        // An attempt ends once; later reports change nothing.
        let Some(task) = self.tasks.remove(&attempt) else { return };
        let end = if task.is_wanted() { end } else { TaskEnd::Killed };
        self.report(attempt, TaskState::Ended(end));
    }

    fn on_shutdown(&mut self, now: Timestamp) {
        self.end(now, Exit::Stopped);
        if let Phase::Ending { shutdowns, .. } = &mut self.phase {
            *shutdowns = shutdowns.saturating_add(1);
            if *shutdowns > 1 {
                self.end_tasks(now, Signal::Kill);
            }
        }
    }

    fn on_deadline(&mut self, now: Timestamp) {
        self.keep_in_touch(now);
        self.return_to_driver(now);
        let due = |task: &Task| task.kill_at().is_some_and(|at| at <= now);
        let over: Vec<_> =
            self.tasks.iter().filter(|(_, task)| due(task)).map(|(&attempt, _)| attempt).collect();
        for attempt in over {
            self.effects.note(Note::GraceOver { attempt });
            self.end_task(now, attempt, Signal::Kill);
        }
    }

    /// Sends a heartbeat when one is due, and hangs up when the driver has been silent for too long.
    fn keep_in_touch(&mut self, now: Timestamp) {
        let Some(heartbeats) = &mut self.heartbeats else { return };
        let (is_due, silence) = (heartbeats.is_due(now), heartbeats.silence(now));
        if is_due {
            self.beat(false);
        }
        if let Some((silence, rest)) = silence {
            self.on_silence(now, silence, rest);
        }
    }

    /// Begins to end the executor. Only the first reason for the end counts.
    fn end(&mut self, now: Timestamp, exit: Exit) {
        if self.phase == Phase::Serving {
            self.phase = Phase::Ending { exit, shutdowns: 0 };
            self.end_tasks(now, Signal::Terminate);
        }
    }

    fn end_tasks(&mut self, now: Timestamp, signal: Signal) {
        let all: Vec<_> = self.tasks.keys().copied().collect();
        for attempt in all {
            self.end_task(now, attempt, signal);
        }
    }

    fn end_task(&mut self, now: Timestamp, attempt: AttemptId, signal: Signal) {
        let kill_at = now + self.config.kill_grace;
        if let Some(task) = self.tasks.get_mut(&attempt) {
            let step = task.end(signal, kill_at);
            self.perform(attempt, step);
        }
    }

    fn perform(&mut self, attempt: AttemptId, step: Step) {
        match step {
            Step::Nothing => {}
            Step::Signal(signal) => self.effects.push(Effect::SignalTask { attempt, signal }),
            Step::DrainAndSignal(signal) => {
                self.effects.push(Effect::DrainOutput { attempt });
                self.effects.push(Effect::SignalTask { attempt, signal });
            }
        }
    }

    fn report(&mut self, attempt: AttemptId, state: TaskState) {
        self.send(ExecutorToDriver::StatusUpdate { attempt, state });
    }

    fn cores_free(&self) -> Cores {
        self.config.cores - self.tasks.values().map(Task::cores).sum()
    }

    fn settle(&mut self) {
        if !self.tasks.is_empty() {
            return;
        }
        if let Phase::Ending { exit, .. } = &self.phase {
            let exit = exit.clone();
            if self.exchange.is_some() {
                self.beat(true);
            }
            self.phase = Phase::Exited;
            self.effects.push(Effect::Exit(exit));
        }
    }
}
