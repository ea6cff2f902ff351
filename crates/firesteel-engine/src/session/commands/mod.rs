//! The action of each command. Commands that wait for more than one event have their own files.

mod executors;
mod map;
mod tasks;
mod watch;

use std::path::{Path, PathBuf};

use firesteel_protocol::messages::TaskDirectory;

use super::course::{Course, Outcome, fail};
use super::state::Wait;
use super::{
    Answer, Assignment, Commands, Complaint, Effect, Ending, Event, Message, OnFailure, Position, Request,
    parse,
};

/// Maximum depth of nested `source` commands.
pub(super) const DEPTH: usize = 16;

impl Course {
    pub(super) async fn perform(&self, request: Request) -> Outcome {
        let answer = match request {
            Request::Run(run) => return self.run(run).await,
            Request::Map(map) => return self.map(map).await,
            Request::Watch(task) => return self.watch(task).await,
            Request::Wait(tasks) => return self.wait_for_tasks(tasks).await,
            Request::WaitForExecutors(count, limit) => return self.wait_for_executors(count, limit).await,
            Request::Cancel(tasks) => return self.cancel(tasks),
            Request::SetTotal(total, profile, surplus) => {
                return self.set_total(total, profile, surplus).await;
            }
            Request::Kill(executors, replacement) => return self.kill(executors, replacement).await,
            Request::Why => return self.why(0).await,
            Request::AddProfile(needs, task, total) => return self.add_profile(needs, task, total).await,
            Request::Source(path) => return self.source(path).await,
            Request::Quit(code) => return self.quit(code).await,
            Request::Set(assignment) => return self.set(assignment),
            Request::Executors => Answer::Executors(self.look().await),
            Request::Tasks(which) => {
                let view = self.look().await;
                Answer::Tasks(which, self.state().tasks.clone(), view)
            }
            Request::ListProfiles => {
                let view = self.look().await;
                Answer::Profiles(self.state().profiles.clone(), view)
            }
            Request::Status => Answer::Status(self.look().await),
            Request::ShowDefaults => Answer::Defaults(self.state().defaults.clone()),
            Request::Settings => Answer::Settings,
            Request::History(last) => Answer::History(last),
            Request::Help(command) => Answer::Help(command),
        };
        self.print(answer)
    }

    /// Prints the answer to the current command, which has succeeded.
    fn print(&self, answer: Answer) -> Outcome {
        self.push(Effect::Print(answer));
        Ok(0)
    }

    fn set(&self, assignment: Assignment) -> Outcome {
        let defaults = &mut self.state().defaults;
        match assignment {
            Assignment::Cores(cores) => defaults.needs.cores = cores,
            Assignment::Directory(path) if path == "executor" => defaults.directory = TaskDirectory::Executor,
            Assignment::Directory(path) => {
                defaults.directory = TaskDirectory::Path(match &defaults.directory {
                    TaskDirectory::Path(current) if !path.starts_with('/') => {
                        format!("{}/{path}", current.trim_end_matches('/'))
                    }
                    TaskDirectory::Path(_) | TaskDirectory::Executor => path,
                });
            }
            Assignment::Variable(name, Some(value)) => drop(defaults.environment.insert(name, value)),
            Assignment::Variable(name, None) => drop(defaults.environment.remove(&name)),
        }
        Ok(0)
    }

    /// Runs the commands of a file. The exit code is that of the last command that failed.
    async fn source(&self, path: PathBuf) -> Outcome {
        if self.state().depth >= DEPTH {
            return fail(Complaint::SourcesItself(path));
        }
        self.push(Effect::ReadFile(path.clone()));
        let read = self.unless_interrupted(Wait::File, None, |event| match event {
            Event::FileRead(text) => Some(Ok(text)),
            Event::FileFailed(error) => Some(Err(error)),
            _ => None,
        });
        let text = match read.await.inspect_err(|_| self.push(Effect::Forget))? {
            Ok(text) => text,
            Err(error) => return fail(Complaint::FileFailed(path, error)),
        };
        let outer = self.state().position.clone();
        self.state().depth += 1;
        let code = Box::pin(self.serve_file(&path, &text)).await;
        let state = &mut *self.state();
        (state.position, state.depth, state.was_warned) = (outer, state.depth - 1, false);
        Ok(code)
    }

    async fn serve_file(&self, path: &Path, text: &str) -> u8 {
        let mut failure = 0;
        for (number, line) in (1..).zip(text.lines()) {
            self.state().position = Position::File(path.to_owned(), number);
            for entry in parse(line) {
                let code = self.serve_entry(entry).await;
                match (code, self.state().config.on_failure) {
                    (0, _) => {}
                    (_, OnFailure::Stops) => return code,
                    (_, OnFailure::GoesOn) => failure = code,
                }
            }
        }
        failure
    }

    /// Handles a request to leave the session. It is refused once while tasks run. A script waits for its tasks
    /// instead.
    async fn quit(&self, code: Option<u8>) -> Outcome {
        let open = self.state().tasks.open();
        let commands = self.state().config.commands;
        let code = match (commands, code) {
            (Commands::Typed, _) if !open.is_empty() && !self.state().was_warned => {
                self.state().was_warned = true;
                self.push(Effect::Say(Message::TasksRun(open.len())));
                return Ok(0);
            }
            (_, Some(code)) => code,
            (Commands::Typed, None) => 0,
            (Commands::Script, None) => match self.wait_for_tasks(open).await? {
                0 => self.state().last_failure,
                code => code,
            },
        };
        self.end(Ending::Left(code)).await
    }
}
