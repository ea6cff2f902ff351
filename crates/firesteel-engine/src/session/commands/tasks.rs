//! `run`, `wait` and `cancel`: tasks in the foreground and in the background.

use bytes::Bytes;
use firesteel_placement::Cores;
use firesteel_protocol::EndRequest;
use firesteel_protocol::ids::{ProfileId, TaskId};
use firesteel_protocol::process::Command;

use crate::driver::{TaskNeeds, TaskRequest};
use crate::session::course::{Course, Failure, Outcome, fail, fail_with};
use crate::session::state::Wait;
use crate::session::{Complaint, Effect, Event, Message, Run, RunMode, Target, Task, TaskShare, exit_code};

impl Course {
    pub(super) async fn run(&self, run: Run) -> Outcome {
        let (profile, on) = match run.target {
            Target::Profile(profile) => (profile, None),
            Target::Executor(id) => {
                match self.look().await.executors.iter().find(|executor| executor.id == id) {
                    Some(executor) => (executor.profile, Some(id)),
                    None => return fail(Complaint::NoExecutor(id)),
                }
            }
        };
        let needs = self.needs(profile, run.cores)?;
        let task = self.state().next;
        let request =
            needs.request(self.command(run.command), self.state().defaults.directory.clone(), Bytes::new());
        let request = TaskRequest { on, max_failures: Some(run.retries.saturating_add(1)), ..request };
        {
            let state = &mut *self.state();
            state.next.0 += 1;
            state
                .tasks
                .add(task, Task { words: run.words, place: run.place, submitted: state.now, end: None });
            state.effects.push(Effect::Submit(task, Box::new(request), run.place));
        }
        match run.place {
            RunMode::Foreground => self.wait_for_foreground(task).await,
            RunMode::Background => {
                self.push(Effect::Say(Message::InBackground(task)));
                Ok(0)
            }
        }
    }

    async fn wait_for_foreground(&self, task: TaskId) -> Outcome {
        self.until(Wait::Task(task), None, |state, event| match event {
            Event::TaskEnded(ended, _) => (ended == task).then_some(()),
            Event::EndRequested(EndRequest::Interrupt) => {
                state.effects.extend([Effect::ShowInterrupt, Effect::CancelTasks(vec![task])]);
                None
            }
            _ => None,
        })
        .await;
        self.print_everything().await;
        let Some(Task { words, end: Some((outcome, _)), .. }) = self.state().tasks.get(task).cloned() else {
            return Ok(0);
        };
        match exit_code(&outcome) {
            0 => Ok(0),
            code => fail_with(code, Complaint::CommandFailed(task, words, outcome)),
        }
    }

    /// The needs of a task of this profile, optionally with another number of cores.
    pub(super) fn needs(&self, profile: ProfileId, cores: Option<Cores>) -> Result<TaskNeeds, Failure> {
        let state = self.state();
        let defaults = &state.defaults.needs;
        if profile == defaults.profile {
            return Ok(TaskNeeds { cores: cores.unwrap_or(defaults.cores), ..defaults.clone() });
        }
        let Some(added) = state.profiles.iter().find(|added| added.id == profile) else {
            return fail(Complaint::NoProfile(profile));
        };
        let TaskShare { cores: own, resources } = added.task.clone();
        Ok(TaskNeeds { profile, cores: cores.or(own).unwrap_or(defaults.cores), resources })
    }

    /// Makes the command of a task from its words.
    pub(super) fn command(&self, words: Vec<String>) -> Command {
        let mut words = words.into_iter();
        let program = words.next().unwrap_or_default();
        Command {
            program,
            arguments: words.collect(),
            environment: self.state().defaults.environment.clone(),
        }
    }

    /// Waits for these tasks, or for all tasks that have not ended. The exit code is that of the last task that failed.
    pub(super) async fn wait_for_tasks(&self, tasks: Vec<TaskId>) -> Outcome {
        let tasks = if tasks.is_empty() { self.state().tasks.open() } else { tasks };
        for &task in &tasks {
            self.task(task)?;
        }
        let mut failure = 0;
        for task in tasks {
            let is_open = self.state().tasks.get(task).is_some_and(|row| row.end.is_none());
            if is_open {
                let wait = Wait::BackgroundTask(task);
                let has_ended = |event| matches!(event, Event::TaskEnded(ended, _) if ended == task);
                self.unless_interrupted(wait, None, |event| has_ended(event).then_some(())).await?;
            }
            // The session may have forgotten it meanwhile.
            let end = self.state().tasks.get(task).and_then(|row| row.end.clone());
            if let Some((outcome, _)) = end.filter(|(outcome, _)| exit_code(outcome) != 0) {
                failure = exit_code(&outcome);
                // A user at the prompt was told when the task ended.
                if self.state().is_script() {
                    self.complain(Complaint::TaskFailed(task, outcome));
                }
            }
        }
        Ok(failure)
    }

    /// The task with this number. Returns an error if the session does not remember it.
    pub(super) fn task(&self, id: TaskId) -> Result<Task, Failure> {
        let state = self.state();
        match state.tasks.get(id) {
            Some(task) => Ok(task.clone()),
            None if (TaskId::FIRST..state.next).contains(&id) => fail(Complaint::ForgottenTask(id)),
            None => fail(Complaint::NoTask(id)),
        }
    }

    pub(super) fn cancel(&self, tasks: Vec<TaskId>) -> Outcome {
        let tasks = if tasks.is_empty() { self.state().tasks.open() } else { tasks };
        for &task in &tasks {
            if self.task(task)?.end.is_some() {
                return fail(Complaint::HasEnded(task));
            }
        }
        self.push(Effect::CancelTasks(tasks));
        Ok(0)
    }
}
