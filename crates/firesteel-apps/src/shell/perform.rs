//! Performs the effects of a session.
//!
//! The application may be over by then: the driver refuses, and that it is over is on its way.

use std::path::PathBuf;
use std::sync::Arc;

use firesteel_engine::driver::{TaskRequest, Until};
use firesteel_engine::session::{
    Answer, Complaint, Effect, Event, Extent, Items, MapStart, Message, Piece, Place, Position,
};
use firesteel_protocol::ids::{ExecutorId, TaskId};
use tokio::task::spawn_blocking;

use super::complete::Living;
use super::keeper::{Keeper, Record};
use super::map;
use super::replay::Bookmark;
use super::session::{Answered, SessionShell};
use super::{answers, commands, grammar, script, wording};
use crate::end_reason::EndReason;

impl SessionShell {
    /// Does what the machine wants done.
    pub(super) async fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::OfferNames { executors, tasks } => self.offer_names(&executors, &tasks),
            Effect::WantLine => self.want_line(),
            Effect::LeavePrompt => self.leave_prompt(),
            Effect::Look => self.look(),
            Effect::AskMaster => self.ask_master(),
            Effect::ReadFile { path } => self.read_file(path),
            Effect::OpenItems(items) => self.open_items(items),
            Effect::Forget => self.answer = None,
            Effect::StartMap(start) => self.start_map(*start),
            Effect::InterruptMap => self.map.interrupt().await,
            Effect::Submit { task, request, place } => self.submit(task, *request, place).await,
            Effect::CancelTasks { tasks } => self.cancel(tasks).await,
            Effect::RestartRecord { task } => self.with_record(task, Keeper::begin_anew),
            Effect::CloseRecord { task } => self.with_record(task, Keeper::end),
            Effect::DropRecord { task } => drop(self.records.remove(&task)),
            Effect::Rewind { task } => self.rewind(task),
            Effect::Replay { task, extent } => self.replay(task, extent).await,
            Effect::RequestExecutors { profile, total } => {
                let _ = self.driver.request_executors(profile, total).await;
            }
            Effect::KillExecutors { executors, replacement } => {
                let _ = self.driver.kill_executors(executors, replacement).await;
            }
            Effect::AddProfile { profile, needs, total } => {
                let _ = self.driver.add_profile(profile, needs, total).await;
            }
            Effect::Print(answer) => self.console.print(self.words(&answer)),
            Effect::Say(message) => self.say(message),
            Effect::Complain { position, complaint } => self.complain(&position, &complaint),
            Effect::Remark(remark) => self.remark(&wording::remark(&remark)),
            Effect::EndLine => self.console.end_line(),
            Effect::ShowInterrupt => self.console.interrupted(),
            Effect::Settle => self.settle(),
            Effect::Mute => self.console.mute(),
            Effect::Unmute => self.console.unmute(),
            Effect::EndApplication => {
                let _ = self.driver.cancel(Until::Told).await;
            }
            // `run` has seen to it.
            Effect::Finish(_) => {}
        }
    }

    fn offer_names(&mut self, executors: &[ExecutorId], tasks: &[TaskId]) {
        let executors = executors.iter().map(ToString::to_string).collect();
        let tasks = tasks.iter().map(ToString::to_string).collect();
        *self.living.lock().expect("nobody panics with it in hand") = Living { executors, tasks };
    }

    fn want_line(&mut self) {
        self.prompt.reader.want();
        self.prompt.is_wanted = true;
        self.prompt.is_typing = self.prompt.is_terminal;
    }

    async fn submit(&mut self, task: TaskId, request: TaskRequest, place: Place) {
        match place {
            Place::Foreground => {}
            Place::Background => drop(self.records.insert(task, self.keeper.record(task))),
        }
        let _ = self.driver.submit(task, request).await;
    }

    async fn cancel(&mut self, tasks: Vec<TaskId>) {
        for task in tasks {
            let _ = self.driver.cancel_task(task).await;
        }
    }

    fn with_record(&self, task: TaskId, keep: impl FnOnce(&Keeper, &Arc<Record>)) {
        if let Some(record) = self.records.get(&task) {
            keep(&self.keeper, record);
        }
    }

    fn rewind(&mut self, task: TaskId) {
        let record = self.records.get(&task);
        self.bookmark = record.map(|record| Bookmark::beginning(record)).unwrap_or_default();
    }

    fn settle(&mut self) {
        let settled = self.console.settled();
        self.answer_with(async {
            settled.await;
            Answered::Event(Event::OutputSettled)
        });
    }

    fn complain(&self, position: &Position, complaint: &Complaint) {
        let (place, words) = (wording::place(position), wording::complaint(complaint));
        self.console.say(format_args!("firesteel: {place}{words}"));
    }

    fn leave_prompt(&mut self) {
        if self.prompt.is_typing
            && let Some(words) = self.prompt.reader.leave()
        {
            self.console.say(words);
        }
        self.prompt.is_typing = false;
    }

    fn answer_with(&mut self, answer: impl Future<Output = Answered> + Send + 'static) {
        self.answer = Some(Box::pin(answer));
    }

    /// If the driver is gone, no answer comes: its last report is on its way.
    fn look(&mut self) {
        let driver = self.driver.clone();
        self.answer_with(async move {
            match driver.view().await {
                Ok(view) => Answered::Event(Event::TablesSeen(view)),
                Err(_) => std::future::pending().await,
            }
        });
    }

    fn ask_master(&mut self) {
        let driver = self.driver.clone();
        self.answer_with(async move {
            match driver.explain().await {
                Ok(shortfalls) => Answered::Event(Event::MasterAnswered(shortfalls)),
                Err(_) => std::future::pending().await,
            }
        });
    }

    /// The file may be on a network file system that hangs.
    fn read_file(&mut self, path: PathBuf) {
        let reading = spawn_blocking(move || script::read(&path).map(|text| grammar::script(&text)));
        self.answer_with(async {
            Answered::Event(match reading.await.expect("reading a file does not panic") {
                Ok(lines) => Event::FileRead(lines),
                Err(error) => Event::FileFailed { error: error.to_string() },
            })
        });
    }

    fn open_items(&mut self, items: Items) {
        self.answer_with(async {
            match map::open(items).await {
                Ok(input) => Answered::Items(Box::new(input)),
                Err(error) => Answered::Event(Event::ItemsFailed { error: error.to_string() }),
            }
        });
    }

    fn start_map(&mut self, start: MapStart) {
        let (driver, sinks, progress) = (self.driver.clone(), self.console.sinks(), self.progress.again());
        match std::mem::take(&mut self.map).start(start, driver, sinks, progress) {
            Ok(map) => self.map = map,
            Err(error) => self.raised.push_back(Event::MapFailed { error: error.to_string() }),
        }
    }

    /// Prints the next piece of a record. A record without a file of its own has nothing to print.
    async fn replay(&mut self, task: TaskId, extent: Extent) {
        match extent {
            Extent::SoFar => {}
            Extent::All => self.keeper.settled().await,
        }
        let (read, loss) = match self.records.get(&task) {
            Some(record) => (self.bookmark.read(record), record.loss().map(|loss| loss.to_string())),
            None => (Ok(Vec::new()), None),
        };
        let piece = match read {
            Ok(bytes) if bytes.is_empty() => Piece::Nothing,
            Ok(bytes) => {
                self.console.replay(bytes);
                Piece::Printed
            }
            Err(error) => Piece::Failed { error: error.to_string() },
        };
        let settled = self.console.settled();
        self.answer_with(async {
            settled.await;
            Answered::Event(Event::Replayed { piece, loss })
        });
    }

    /// An answer in words.
    fn words(&self, answer: &Answer) -> String {
        match answer {
            Answer::Executors(view) => answers::executors(view),
            Answer::Tasks(which, view) => {
                answers::tasks(self.clock.now(), self.machine.tasks(), view, *which)
            }
            Answer::Profiles(view) => answers::profiles(view, self.machine.profiles()),
            Answer::Status(view) => answers::status(view),
            Answer::Defaults => answers::defaults(self.machine.defaults()),
            Answer::Settings => answers::settings(&self.properties),
            Answer::History(last) => {
                let skipped = self.history.len().saturating_sub(last.unwrap_or(usize::MAX));
                self.history.iter().skip(skipped).map(|line| format!("{line}\n")).collect()
            }
            Answer::Help(name) => {
                name.and_then(commands::find).map_or_else(commands::overview, commands::help)
            }
            Answer::Requested { total, assigned } => answers::requested(*total, *assigned),
            Answer::Ended { executors, wanted } => answers::ended(executors, *wanted),
            Answer::Why(shortfalls, view) => answers::why(shortfalls, view),
            Answer::ProfileAdded { profile, needs, total, standing } => {
                answers::profile_added(*profile, needs, *total, *standing)
            }
        }
    }

    fn say(&mut self, message: Message) {
        let is_quiet = self.progress.is_quiet();
        match message {
            Message::Banner(_) | Message::InBackground(_) | Message::MapSummary { failed: 0 } if is_quiet => {
            }
            Message::Banner(view) => self.console.say_lines(answers::banner(&view)),
            Message::InBackground(task) => {
                self.console.say(format_args!("task {task} runs in the background"));
            }
            Message::MapSummary { .. } => {
                if let Some(summary) = self.summary.take() {
                    self.console.say_lines(format_args!("firesteel: {summary}"));
                }
            }
            Message::TasksRun(open) => self.console.say(wording::tasks_run(open)),
            Message::LinesFailed { error } => self.console.say(format_args!("firesteel: {error}")),
            Message::Over(ending) => {
                if let Some(over) = EndReason::of_driver(ending) {
                    self.console.say(format_args!("firesteel: {over}"));
                }
            }
        }
    }
}
