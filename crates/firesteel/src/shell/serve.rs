//! Requests are served: those about what runs in [`run`](mod@super::run), [`map`](super::map) and
//! [`executors`](super::executors), the others here.

use std::collections::BTreeMap;

use firesteel_core::driver::View;
use firesteel_core::messages::TaskDirectory;
use firesteel_placement::Cores;

use super::answers;
use super::commands;
use super::end::End;
use super::request::{Assignment, Request, Which};
use super::session::{Served, Session};
use crate::signals::EndRequest;

/// Files that may be read within each other.
const DEPTH: usize = 16;

impl Session {
    /// Serves one request; its exit code.
    pub(super) async fn serve(&mut self, request: Request) -> Served {
        match request {
            Request::Run(run) => self.run_command(run).await,
            Request::Map(map) => self.run_map(map).await,
            Request::Executors => self.show(answers::executors).await,
            Request::Tasks(which) => {
                let view = self.view().await?;
                self.console.print(&answers::tasks(&self.tasks, &view, which == Which::All));
                Ok(0)
            }
            Request::Watch(task) => self.watch(task).await,
            Request::Wait(tasks) => self.wait_for_tasks(tasks).await,
            Request::WaitForExecutors { count, limit } => self.wait_for_executors(count, limit).await,
            Request::Cancel(tasks) => self.cancel(tasks).await,
            Request::Executor { total, profile, surplus } => self.request(total, profile, surplus).await,
            Request::Kill { executors, replacement } => self.kill(executors, replacement).await,
            Request::Why => self.why().await,
            Request::AddProfile { needs, total } => self.add_profile(needs, total).await,
            Request::ListProfiles => {
                let view = self.view().await?;
                self.console.print(&answers::profiles(&view, &self.profiles));
                Ok(0)
            }
            Request::Status => self.show(answers::status).await,
            Request::ShowDefaults => {
                self.console.print(&answers::defaults(&self.defaults));
                Ok(0)
            }
            Request::Set(assignment) => {
                self.set(assignment);
                Ok(0)
            }
            Request::Settings => {
                self.console.print(&answers::settings(&self.properties));
                Ok(0)
            }
            Request::History(last) => {
                let skipped = self.history.len().saturating_sub(last.unwrap_or(usize::MAX));
                let lines = self.history.iter().skip(skipped).map(|line| format!("{line}\n"));
                self.console.print(&lines.collect::<String>());
                Ok(0)
            }
            Request::Source(path) => self.source(&path).await,
            Request::Help(command) => {
                let text = command.map_or_else(commands::overview, commands::help);
                self.console.print(&text);
                Ok(0)
            }
            Request::Quit(code) => self.leave(code).await.map(|()| 0),
        }
    }

    /// The driver's tables; without a driver, its last word is waited for.
    pub(super) async fn view(&mut self) -> Result<View, End> {
        match self.driver.view().await {
            Ok(view) => Ok(view),
            Err(_) => loop {
                self.step(None).await?;
            },
        }
    }

    async fn show(&mut self, answer: impl Fn(&View) -> String) -> Served {
        let view = self.view().await?;
        self.console.print(&answer(&view));
        Ok(0)
    }

    fn set(&mut self, assignment: Assignment) {
        match assignment {
            Assignment::Cores(Cores(cores)) => self.defaults.cores = Cores(cores),
            Assignment::Directory(path) if path == "executor" => {
                self.defaults.directory = TaskDirectory::Executor;
            }
            Assignment::Directory(path) => {
                let path = match &self.defaults.directory {
                    TaskDirectory::Path(current) if !path.starts_with('/') => {
                        format!("{}/{path}", current.trim_end_matches('/'))
                    }
                    TaskDirectory::Path(_) | TaskDirectory::Executor => path,
                };
                self.defaults.directory = TaskDirectory::Path(path);
            }
            Assignment::Variable(name, value) => {
                let environment: &mut BTreeMap<String, String> = &mut self.defaults.environment;
                match value {
                    Some(value) => drop(environment.insert(name, value)),
                    None => drop(environment.remove(&name)),
                }
            }
        }
    }

    async fn source(&mut self, path: &std::path::Path) -> Served {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => return self.complain(1, format_args!("cannot read {}: {error}", path.display())),
        };
        if self.depth >= DEPTH {
            return self.complain(1, format_args!("{} is read within itself", path.display()));
        }
        let outer = std::mem::take(&mut self.place);
        self.depth += 1;
        let on_failure = self.on_failure;
        let mut code = 0;
        for (number, line) in (1..).zip(text.lines()) {
            let place = format!("{}, line {number}: ", path.display());
            if let Some(failed) = self.serve_line(place, line, on_failure).await? {
                code = failed;
                break;
            }
        }
        self.depth -= 1;
        self.place = outer;
        Ok(code)
    }

    /// ctrl-c while something was waited for.
    pub(super) fn interrupted(&mut self) -> Served {
        self.console.interrupted();
        self.console.end_line();
        self.stop_script_after_interrupt(130)
    }

    /// A ctrl-c ends a script, whatever it does with failures.
    pub(super) fn stop_script_after_interrupt(&self, code: u8) -> Served {
        match (self.is_interactive, code) {
            (false, 130) if self.was_interrupted => Err(End::Asked(EndRequest::Interrupt)),
            _ => Ok(code),
        }
    }
}
