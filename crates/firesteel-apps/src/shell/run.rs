//! `run` and the commands for its tasks: foreground, background, watch, wait and cancel.

use bytes::Bytes;
use firesteel_core::driver::TaskRequest;
use firesteel_core::ids::{ProfileId, TaskId};
use firesteel_core::process::Command;
use firesteel_placement::Cores;
use tokio::time::Instant;

use super::answers::shortened;
use super::end::End;
use super::keeper::Record;
use super::reports::{Settled, Step};
use super::request::{Run, Target, TaskShare};
use super::session::{Served, Session, TICK};
use super::tasks::{Task, ending};
use super::words::Place;
use firesteel_core::driver::TaskNeeds;

impl Session {
    pub(super) async fn run_command(&mut self, run: Run) -> Served {
        let Run { target, cores, retries, command, place } = run;
        let (profile, on) = match target {
            Target::Profile(profile) => (profile, None),
            Target::Executor(id) => match self.view().await?.executors.iter().find(|it| it.id == id) {
                Some(executor) => (executor.profile, Some(id)),
                None => {
                    return self.complain(1, format_args!("no executor {id}: executors shows all"));
                }
            },
        };
        let Some(needs) = self.needs(profile, cores) else { return self.no_such_profile(profile) };
        let id = self.next;
        self.next.0 += 1;
        let record = (place == Place::Background).then(|| self.keeper.record(id));
        let (shown, submitted) = (shortened(&command), std::time::Instant::now());
        self.tasks.add(id, Task { command: shown, place, submitted, record, end: None });
        let (command, directory) = (self.command(command), self.defaults.directory.clone());
        let request = needs.request(command, directory, Bytes::new());
        let request = TaskRequest { on, max_failures: Some(retries.saturating_add(1)), ..request };
        // This fails only if the application is over. Its report is then on the way.
        let _ = self.driver.submit(id, request).await;
        match place {
            Place::Foreground => self.attend(id).await,
            Place::Background => {
                if !self.progress.is_quiet() {
                    self.console.say(format_args!("task {id} runs in the background"));
                }
                Ok(0)
            }
        }
    }

    /// What a task of this profile needs, optionally with another number of cores. `None`: the
    /// profile does not exist.
    pub(super) fn needs(&self, profile: ProfileId, cores: Option<Cores>) -> Option<TaskNeeds> {
        let defaults = &self.defaults.needs;
        if profile == defaults.profile {
            return Some(TaskNeeds { cores: cores.unwrap_or(defaults.cores), ..defaults.clone() });
        }
        let TaskShare { cores: own, resources } = self.added(profile)?.task.clone();
        Some(TaskNeeds { profile, cores: cores.or(own).unwrap_or(defaults.cores), resources })
    }

    pub(super) fn no_such_profile(&mut self, profile: ProfileId) -> Served {
        self.complain(1, format_args!("no profile {profile}: profile list shows all"))
    }

    pub(super) fn command(&self, mut words: Vec<String>) -> Command {
        let program = words.remove(0);
        Command { program, arguments: words, environment: self.defaults.environment.clone() }
    }

    /// Waits for the foreground task; ctrl-c cancels it.
    async fn attend(&mut self, id: TaskId) -> Served {
        self.in_hand = Some(id);
        let code = loop {
            if let Some(code) = self.code_of(id) {
                break code;
            }
            if self.step(Some(Instant::now() + TICK)).await? == Step::Interrupted {
                self.console.interrupted();
                let _ = self.driver.cancel_task(id).await;
            }
        };
        self.in_hand = None;
        self.settle().await?;
        let Some((task, (outcome, _))) = self.tasks.get(id).and_then(|task| Some((task, task.end.as_ref()?)))
        else {
            return Ok(code);
        };
        match code {
            0 => Ok(0),
            code => {
                let words = format!("task {id} ({}) {}", task.command, ending(outcome));
                let code = self.complain(code, words)?;
                self.stop_script_after_interrupt(code)
            }
        }
    }

    pub(super) async fn watch(&mut self, task: Option<TaskId>) -> Served {
        let Some(id) = task.or_else(|| self.tasks.last_in_background()) else {
            return self.complain(1, "no background task: run COMMAND & starts one");
        };
        let Some(task) = self.tasks.get(id) else {
            return self.unknown(id);
        };
        let Some(record) = task.record.clone() else {
            return self
                .complain(1, format_args!("task {id} was not a background task: its output is not kept"));
        };
        self.in_hand = Some(id);
        let code = self.follow(id, &record).await;
        self.in_hand = None;
        self.console.unmute();
        if let Some(loss) = record.loss() {
            return self.complain(1, format_args!("the output of task {id} {loss}"));
        }
        let Some(code) = code? else { return self.interrupted() };
        if code != 0
            && let Some((outcome, _)) = self.tasks.get(id).and_then(|task| task.end.as_ref())
        {
            let words = format!("task {id} {}", ending(outcome));
            return self.complain(code, words);
        }
        Ok(code)
    }

    /// Prints a record until its task has ended. Returns `None` after a ctrl-c.
    async fn follow(&mut self, id: TaskId, record: &Record) -> Result<Option<u8>, End> {
        let (mut at, mut round) = (0, record.rounds());
        loop {
            let code = self.code_of(id);
            if code.is_some() {
                // Once everything that came is written, the record is complete.
                self.keeper.settled().await;
            }
            if record.rounds() != round {
                (at, round) = (0, record.rounds());
            }
            loop {
                let bytes = match record.read(at) {
                    Ok(bytes) if bytes.is_empty() => break,
                    Ok(bytes) => bytes,
                    Err(error) => {
                        return self.complain(1, format_args!("cannot read the output: {error}")).map(Some);
                    }
                };
                at += bytes.len() as u64;
                self.console.replay(bytes);
                if self.settle().await? == Settled::GivenUp {
                    return Ok(None);
                }
            }
            if code.is_some() {
                return Ok(code);
            }
            if self.step(Some(Instant::now() + TICK)).await? == Step::Interrupted {
                return Ok(None);
            }
        }
    }

    pub(super) async fn wait_for_tasks(&mut self, tasks: Vec<TaskId>) -> Served {
        let tasks = if tasks.is_empty() { self.tasks.open() } else { tasks };
        if let Some(id) = tasks.iter().find(|id| self.tasks.get(**id).is_none()) {
            return self.unknown(*id);
        }
        let mut last = 0;
        for id in tasks {
            let code = loop {
                match (self.code_of(id), self.tasks.get(id)) {
                    (Some(code), _) => break code,
                    (None, None) => break 0,
                    (None, Some(_)) => {}
                }
                if self.step(Some(Instant::now() + TICK)).await? == Step::Interrupted {
                    return self.interrupted();
                }
            };
            if code != 0 {
                last = code;
                let outcome = self.tasks.get(id).and_then(|task| task.end.as_ref());
                let words = outcome.map(|(outcome, _)| ending(outcome)).unwrap_or_default();
                if !self.is_interactive {
                    self.complain(code, format_args!("task {id} {words}"))?;
                }
            }
        }
        Ok(last)
    }

    /// Prints that the task does not exist.
    fn unknown(&mut self, id: TaskId) -> Served {
        match (TaskId::FIRST..self.next).contains(&id) {
            true => self.complain(
                1,
                format_args!(
                    "task {id} is no longer listed, or was an item of map: tasks --all lists the others"
                ),
            ),
            false => self.complain(1, format_args!("no task {id}: tasks lists them")),
        }
    }

    pub(super) async fn cancel(&mut self, tasks: Vec<TaskId>) -> Served {
        let tasks = if tasks.is_empty() { self.tasks.open() } else { tasks };
        for id in &tasks {
            match self.tasks.get(*id) {
                None => return self.unknown(*id),
                Some(task) if task.end.is_some() => {
                    return self.complain(1, format_args!("task {id} has ended"));
                }
                Some(_) => {}
            }
        }
        for id in tasks {
            let _ = self.driver.cancel_task(id).await;
        }
        Ok(0)
    }
}
