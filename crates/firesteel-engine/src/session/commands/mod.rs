//! Begins commands, and serves those that wait for nothing.

mod executors;
mod maps;
mod questions;
mod runs;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use firesteel_protocol::messages::TaskDirectory;
use firesteel_protocol::process::end_request::EndRequest;
use firesteel_protocol::time::Timestamp;

use super::agenda::{DEPTH, Next};
use super::wait::{AfterTasks, Inquiry, Show, Then, Wait};
use super::{
    Answer, Assignment, Commands, Complaint, Effect, Ending, Entry, Message, OnFailure, ParsedLine, Phase,
    Remark, Request, Session,
};
use crate::driver::View;

/// How long a request to end waits for a blocked reader.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);

/// The name of a request that has the words of a command line.
fn name_of_command_line(request: &Request) -> Option<&'static str> {
    if matches!(request, Request::Run(_)) {
        Some("run")
    } else if matches!(request, Request::Map(_)) {
        Some("map")
    } else {
        None
    }
}

impl Session {
    pub(super) fn begin_next(&mut self) {
        match self.agenda.next() {
            Next::Entry(entry) => self.begin(entry),
            Next::FileOver(code) => {
                self.was_warned = false;
                self.finish(code);
            }
            Next::Nothing => self.want_line(),
        }
    }

    fn begin(&mut self, Entry { request, idle }: Entry) {
        let request = match request {
            Ok(request) => request,
            Err(words) => return self.fail(2, Complaint::Unparsed(words)),
        };
        if let (Some(word), Some(command)) = (idle, name_of_command_line(&request)) {
            let position = self.agenda.position().clone();
            self.effects.push(Effect::Remark(Remark::IdleWord { position, word, command }));
        }
        if !matches!(request, Request::Quit(_)) {
            self.was_warned = false;
        }
        self.serve(request);
    }

    fn serve(&mut self, request: Request) {
        match request {
            Request::Run(run) => self.run(run),
            Request::Map(map) => self.open_items(map),
            Request::Executors => self.look(Inquiry::Show(Show::Executors)),
            Request::Tasks(which) => self.look(Inquiry::Show(Show::Tasks(which))),
            Request::Watch(task) => self.watch(task),
            Request::Wait(tasks) => self.wait_for_tasks(tasks, AfterTasks::Over),
            Request::WaitForExecutors { count, limit } => self.wait_for_executors(count, limit),
            Request::Cancel(tasks) => self.cancel(tasks),
            Request::SetTotal { total, profile, surplus } => self.set_total(total, profile, surplus),
            Request::Kill { executors, replacement } => self.look(Inquiry::Kill { executors, replacement }),
            Request::Why => self.why(0),
            Request::AddProfile { needs, task, total } => self.look(Inquiry::Profile { needs, task, total }),
            Request::ListProfiles => self.look(Inquiry::Show(Show::Profiles)),
            Request::Status => self.look(Inquiry::Show(Show::Status)),
            Request::ShowDefaults => self.print(Answer::Defaults),
            Request::Set(assignment) => {
                self.set(assignment);
                self.finish(0);
            }
            Request::Settings => self.print(Answer::Settings),
            Request::History(last) => self.print(Answer::History(last)),
            Request::Source(path) => self.source(path),
            Request::Help(command) => self.print(Answer::Help(command)),
            Request::Quit(code) => self.leave(code),
        }
    }

    /// Asks for the driver's tables.
    pub(super) fn look(&mut self, inquiry: Inquiry) {
        self.effects.push(Effect::Look);
        self.wait(Wait::Tables(inquiry));
    }

    /// The driver's tables have come.
    pub(super) fn answer(&mut self, inquiry: Inquiry, view: View) {
        match inquiry {
            Inquiry::Names => self.offer_names(&view),
            Inquiry::RunOn(run, executor) => self.run_on(run, executor, &view),
            Inquiry::Show(Show::Executors) => self.print(Answer::Executors(view)),
            Inquiry::Show(Show::Tasks(which)) => self.print(Answer::Tasks(which, view)),
            Inquiry::Show(Show::Profiles) => self.print(Answer::Profiles(view)),
            Inquiry::Show(Show::Status) => self.print(Answer::Status(view)),
            Inquiry::Ready(wait) => self.count_ready(wait, &view),
            Inquiry::Total(request) => self.request_total(request, view),
            Inquiry::Requested { request, before, refusal } => {
                self.on_requested(request, before, refusal, &view);
            }
            Inquiry::Coming { request, until } => self.count_coming(request, until, &view),
            Inquiry::Kill { executors, replacement } => self.kill(executors, replacement, &view),
            Inquiry::Leaving { executors, replacement, until } => {
                self.count_leaving(executors, replacement, until, &view);
            }
            Inquiry::Profile { needs, task, total } => self.add_profile(needs, task, total, &view),
            Inquiry::Why { shortfalls, code } => {
                self.effects.push(Effect::Print(Answer::Why(shortfalls, view)));
                self.finish(code);
            }
            Inquiry::Map(map) => self.start_map(*map, &view),
        }
    }

    /// Answers the command at hand, which has succeeded.
    pub(super) fn print(&mut self, answer: Answer) {
        self.effects.push(Effect::Print(answer));
        self.finish(0);
    }

    /// Says why the command at hand has failed.
    pub(super) fn fail(&mut self, code: u8, complaint: Complaint) {
        self.complain(complaint);
        self.finish(code);
    }

    pub(super) fn complain(&mut self, complaint: Complaint) {
        let position = self.agenda.position().clone();
        self.effects.push(Effect::Complain { position, complaint });
    }

    /// The command at hand is over as soon as everything is printed.
    pub(super) fn finish(&mut self, code: u8) {
        self.print_everything(Then::Over(code));
    }

    /// The same. A script ends after a ctrl-c, even if it goes on after failures.
    pub(super) fn finish_unless_interrupted(&mut self, code: u8) {
        match (self.config.commands, code) {
            (Commands::Script, 130) if self.was_interrupted => self.end(Ending::Asked(EndRequest::Interrupt)),
            (Commands::Script | Commands::Typed, _) => self.finish(code),
        }
    }

    pub(super) fn print_everything(&mut self, then: Then) {
        self.effects.push(Effect::Settle);
        let until = self.reader_patience();
        self.wait(Wait::Printing { until, then });
    }

    fn reader_patience(&self) -> Option<Timestamp> {
        let is_ending = self.config.commands == Commands::Script && self.was_interrupted;
        is_ending.then(|| self.now + FAREWELL)
    }

    /// The command at hand is over, and everything is printed.
    pub(super) fn end_command(&mut self, code: u8) {
        self.phase = Phase::Busy(Wait::Nothing);
        if code == 0 {
            return;
        }
        self.last_failure = code;
        let in_file = self.agenda.depth() > 0;
        match (in_file, self.config.commands, self.config.on_failure) {
            (true, _, on_failure) => {
                self.agenda.fail(code);
                match on_failure {
                    OnFailure::Stops => self.agenda.stop(),
                    OnFailure::GoesOn => {}
                }
            }
            (false, Commands::Script, OnFailure::Stops) => self.end(Ending::Left(code)),
            (false, Commands::Script, OnFailure::GoesOn) | (false, Commands::Typed, _) => {}
        }
    }

    fn set(&mut self, assignment: Assignment) {
        match assignment {
            Assignment::Cores(cores) => self.defaults.needs.cores = cores,
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
            Assignment::Variable(name, Some(value)) => drop(self.defaults.environment.insert(name, value)),
            Assignment::Variable(name, None) => drop(self.defaults.environment.remove(&name)),
        }
    }

    fn source(&mut self, path: PathBuf) {
        if self.agenda.depth() >= DEPTH {
            return self.fail(1, Complaint::SourcesItself(path));
        }
        self.effects.push(Effect::ReadFile { path: path.clone() });
        self.wait(Wait::File(path));
    }

    pub(super) fn on_file_read(&mut self, lines: Vec<ParsedLine>) {
        match self.take_wait() {
            Some(Wait::File(path)) => self.agenda.open(path, lines),
            other => self.put_back(other),
        }
    }

    pub(super) fn on_file_failed(&mut self, error: String) {
        match self.take_wait() {
            Some(Wait::File(path)) => self.fail(1, Complaint::FileFailed { path, error }),
            other => self.put_back(other),
        }
    }

    /// The user wants to leave. That is refused once while tasks run; a script waits for its tasks.
    pub(super) fn leave(&mut self, code: Option<u8>) {
        let open = self.tasks.open();
        match (self.config.commands, code) {
            (Commands::Typed, _) if !open.is_empty() && !self.was_warned => {
                self.was_warned = true;
                self.effects.push(Effect::Say(Message::TasksRun(open.len())));
                self.finish(0);
            }
            (Commands::Typed, code) => self.end(Ending::Left(code.unwrap_or(0))),
            (Commands::Script, Some(code)) => self.end(Ending::Left(code)),
            (Commands::Script, None) => self.wait_for_tasks(Vec::new(), AfterTasks::Leave),
        }
    }
}
