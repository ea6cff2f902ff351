//! `run`, `wait` and `cancel`: tasks in the foreground and in the background.

use bytes::Bytes;
use firesteel_placement::Cores;
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::process::Command;

use crate::driver::{TaskNeeds, TaskRequest, View};
use crate::session::wait::{AfterTasks, Inquiry, TasksWait, Then, Wait};
use crate::session::{
    Commands, Complaint, Effect, Ending, Message, Place, Run, Session, Target, Task, TaskShare, exit_code,
};

impl Session {
    pub(in crate::session) fn run(&mut self, run: Run) {
        match run.target {
            Target::Profile(profile) => self.submit(run, profile, None),
            Target::Executor(executor) => self.look(Inquiry::RunOn(run, executor)),
        }
    }

    pub(super) fn run_on(&mut self, run: Run, id: ExecutorId, view: &View) {
        match view.executors.iter().find(|executor| executor.id == id) {
            Some(executor) => self.submit(run, executor.profile, Some(id)),
            None => self.fail(1, Complaint::NoExecutor(id)),
        }
    }

    fn submit(&mut self, run: Run, profile: ProfileId, on: Option<ExecutorId>) {
        let Run { target: _, cores, retries, command, words, place } = run;
        let Some(needs) = self.needs(profile, cores) else {
            return self.fail(1, Complaint::NoProfile(profile));
        };
        let task = self.next;
        self.next.0 += 1;
        self.tasks.add(task, Task { words, place, submitted: self.now, end: None });
        let (command, directory) = (self.command(command), self.defaults.directory.clone());
        let request = needs.request(command, directory, Bytes::new());
        let request = TaskRequest { on, max_failures: Some(retries.saturating_add(1)), ..request };
        self.effects.push(Effect::Submit { task, request: Box::new(request), place });
        match place {
            Place::Foreground => self.wait(Wait::Task(task)),
            Place::Background => {
                self.effects.push(Effect::Say(Message::InBackground(task)));
                self.finish(0);
            }
        }
    }

    /// What a task of this profile needs, optionally with another number of cores. `None`: the
    /// profile does not exist.
    pub(in crate::session) fn needs(&self, profile: ProfileId, cores: Option<Cores>) -> Option<TaskNeeds> {
        let defaults = &self.defaults.needs;
        if profile == defaults.profile {
            return Some(TaskNeeds { cores: cores.unwrap_or(defaults.cores), ..defaults.clone() });
        }
        let added = self.profiles.iter().find(|added| added.id == profile)?;
        let TaskShare { cores: own, resources } = added.task.clone();
        Some(TaskNeeds { profile, cores: cores.or(own).unwrap_or(defaults.cores), resources })
    }

    /// The command of a task, from its words.
    pub(in crate::session) fn command(&self, words: Vec<String>) -> Command {
        let mut words = words.into_iter();
        let program = words.next().unwrap_or_default();
        Command { program, arguments: words.collect(), environment: self.defaults.environment.clone() }
    }

    /// The foreground task has ended, and its output is printed.
    pub(in crate::session) fn judge_command(&mut self, task: TaskId) {
        let Some(Task { words, end: Some((outcome, _)), .. }) = self.tasks.get(task) else {
            return self.finish(0);
        };
        let code = exit_code(outcome);
        if code != 0 {
            let (words, outcome) = (words.clone(), outcome.clone());
            self.complain(Complaint::CommandFailed { task, words, outcome });
        }
        self.finish_unless_interrupted(code);
    }

    /// Waits for tasks, or for all that have not ended.
    pub(super) fn wait_for_tasks(&mut self, tasks: Vec<TaskId>, then: AfterTasks) {
        let tasks = if tasks.is_empty() { self.tasks.open() } else { tasks };
        match tasks.iter().find(|task| self.tasks.get(**task).is_none()) {
            Some(&task) => self.fail_with_unknown(task),
            None => self.go_on_waiting(TasksWait { left: tasks.into(), failure: 0, then }),
        }
    }

    /// Passes by the tasks that have ended. The session may have forgotten them meanwhile.
    pub(super) fn go_on_waiting(&mut self, mut wait: TasksWait) {
        while let Some(&task) = wait.left.front() {
            let outcome = match self.tasks.get(task) {
                Some(Task { end: None, .. }) => return self.wait(Wait::Tasks(wait)),
                Some(Task { end: Some((outcome, _)), .. }) => Some(outcome.clone()),
                None => None,
            };
            wait.left.pop_front();
            let code = outcome.as_ref().map_or(0, exit_code);
            if let Some(outcome) = outcome.filter(|_| code != 0) {
                wait.failure = code;
                match self.config.commands {
                    Commands::Script => self.complain(Complaint::TaskFailed { task, outcome }),
                    // The user was told when the task ended.
                    Commands::Typed => {}
                }
            }
        }
        match (wait.then, wait.failure) {
            (AfterTasks::Over, code) => self.finish(code),
            (AfterTasks::Leave, 0) => self.end(Ending::Left(self.last_failure)),
            (AfterTasks::Leave, code) => self.end(Ending::Left(code)),
        }
    }

    /// Says that there is no such task.
    pub(super) fn fail_with_unknown(&mut self, task: TaskId) {
        match (TaskId::FIRST..self.next).contains(&task) {
            true => self.fail(1, Complaint::ForgottenTask(task)),
            false => self.fail(1, Complaint::NoTask(task)),
        }
    }

    pub(super) fn cancel(&mut self, tasks: Vec<TaskId>) {
        let tasks = if tasks.is_empty() { self.tasks.open() } else { tasks };
        for &task in &tasks {
            match self.tasks.get(task) {
                None => return self.fail_with_unknown(task),
                Some(Task { end: Some(_), .. }) => return self.fail(1, Complaint::HasEnded(task)),
                Some(Task { end: None, .. }) => {}
            }
        }
        self.effects.push(Effect::CancelTasks { tasks });
        self.finish(0);
    }

    /// A task has ended: whether the command at hand waits for it.
    pub(in crate::session) fn wake(&mut self, ended: TaskId) {
        match self.take_wait() {
            Some(Wait::Task(task)) if task == ended => self.print_everything(Then::Task(task)),
            Some(Wait::Tasks(wait)) => self.go_on_waiting(wait),
            Some(Wait::More { watch, .. }) if watch.task == ended => self.replay(watch),
            other => self.put_back(other),
        }
    }
}
