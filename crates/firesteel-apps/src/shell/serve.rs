//! Serves requests. [`run`](mod@super::run), [`map`](super::map) and
//! [`executors`](super::executors) serve the requests for work and executors; this module serves
//! the others.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::pin::pin;

use firesteel_core::driver::View;
use firesteel_core::messages::TaskDirectory;
use firesteel_placement::Cores;
use tokio::task::spawn_blocking;

use super::answers;
use super::commands;
use super::end::End;
use super::reports::Step;
use super::request::{Assignment, Request, Which};
use super::script;
use super::session::{Served, Session};
use firesteel_host::signals::EndRequest;

/// Maximum depth of nested `source` commands.
const DEPTH: usize = 16;

impl Session {
    /// Serves one request and returns its exit code.
    pub(super) async fn serve(&mut self, request: Request) -> Served {
        match request {
            Request::Run(run) => self.run_command(run).await,
            Request::Map(map) => self.run_map(map).await,
            Request::Executors => self.show(answers::executors).await,
            Request::Tasks(which) => {
                let view = self.view().await?;
                self.console.print(answers::tasks(&self.tasks, &view, which == Which::All));
                Ok(0)
            }
            Request::Watch(task) => self.watch(task).await,
            Request::Wait(tasks) => self.wait_for_tasks(tasks).await,
            Request::WaitForExecutors { count, limit } => self.wait_for_executors(count, limit).await,
            Request::Cancel(tasks) => self.cancel(tasks).await,
            Request::Executor { total, profile, surplus } => self.request(total, profile, surplus).await,
            Request::Kill { executors, replacement } => self.kill(executors, replacement).await,
            Request::Why => self.why().await,
            Request::AddProfile { needs, task, total } => self.add_profile(needs, task, total).await,
            Request::ListProfiles => {
                let view = self.view().await?;
                self.console.print(answers::profiles(&view, &self.profiles));
                Ok(0)
            }
            Request::Status => self.show(answers::status).await,
            Request::ShowDefaults => {
                self.console.print(answers::defaults(&self.defaults));
                Ok(0)
            }
            Request::Set(assignment) => {
                self.set(assignment);
                Ok(0)
            }
            Request::Settings => {
                self.console.print(answers::settings(&self.properties));
                Ok(0)
            }
            Request::History(last) => {
                let skipped = self.history.len().saturating_sub(last.unwrap_or(usize::MAX));
                let lines = self.history.iter().skip(skipped).map(|line| format!("{line}\n"));
                self.console.print(lines.collect::<String>());
                Ok(0)
            }
            Request::Source(path) => self.source(path).await,
            Request::Help(command) => {
                let text = command.map_or_else(commands::overview, commands::help);
                self.console.print(text);
                Ok(0)
            }
            Request::Quit(code) => self.leave(code).await.map(|()| 0),
        }
    }

    /// Returns the driver's tables. If the driver is gone, this waits for its last report. All
    /// earlier reports of the driver are handled before.
    pub(super) async fn view(&mut self) -> Result<View, End> {
        let driver = self.driver.clone();
        let mut asking = pin!(async move { driver.view().await });
        let mut is_gone = false;
        loop {
            tokio::select! {
                answer = &mut asking, if !is_gone => match answer {
                    Ok(view) => {
                        self.hear().await?;
                        return Ok(view);
                    }
                    Err(_) => is_gone = true,
                },
                // The driver answers at once. A ctrl-c applies to the next command.
                step = self.step(None) => drop(step?),
            }
        }
    }

    async fn show(&mut self, answer: impl Fn(&View) -> String) -> Served {
        let view = self.view().await?;
        self.console.print(answer(&view));
        Ok(0)
    }

    fn set(&mut self, assignment: Assignment) {
        match assignment {
            Assignment::Cores(Cores(cores)) => self.defaults.needs.cores = Cores(cores),
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

    async fn source(&mut self, path: PathBuf) -> Served {
        if self.depth >= DEPTH {
            return self.complain(1, format_args!("{} sources itself", path.display()));
        }
        let at = path.clone();
        // The file may be on a network file system that hangs.
        let mut reading = spawn_blocking(move || script::read(&at));
        let text = loop {
            tokio::select! {
                text = &mut reading => break text.expect("reading a file does not panic"),
                step = self.step(None) => if step? == Step::Interrupted {
                    return self.interrupted();
                },
            }
        };
        let text = match text {
            Ok(text) => text,
            Err(error) => return self.complain(1, format_args!("cannot read {}: {error}", path.display())),
        };
        let outer = std::mem::take(&mut self.place);
        self.depth += 1;
        let on_failure = self.on_failure;
        let mut last_failure = 0;
        for (number, line) in (1..).zip(text.lines()) {
            let place = format!("{}, line {number}: ", path.display());
            match self.serve_line(place, line, on_failure).await? {
                ControlFlow::Continue(0) => {}
                ControlFlow::Continue(code) => last_failure = code,
                ControlFlow::Break(code) => {
                    last_failure = code;
                    break;
                }
            }
        }
        self.depth -= 1;
        self.place = outer;
        Ok(last_failure)
    }

    /// Handles a ctrl-c during a wait.
    pub(super) fn interrupted(&mut self) -> Served {
        self.console.interrupted();
        self.console.end_line();
        self.stop_script_after_interrupt(130)
    }

    /// Ends a script after a ctrl-c, even if it continues after failures.
    pub(super) fn stop_script_after_interrupt(&self, code: u8) -> Served {
        match (self.is_interactive, code) {
            (false, 130) if self.was_interrupted => Err(End::Asked(EndRequest::Interrupt)),
            _ => Ok(code),
        }
    }
}
