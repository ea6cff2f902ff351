//! Performs the effects of a session on the fake world.

use std::path::Path;

use firesteel_engine::driver::{self, Replacement, TaskOutcome};
use firesteel_engine::session::{Effect, Event, Piece};
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};

use super::cluster::Standing;
use super::commands;
use super::run::{Happening, World};

/// How long a task runs at most, mostly.
const TASK: u64 = 2_000;

impl World {
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::WantLine => self.later(500, Happening::Line),
            Effect::Forget => drop(self.ask()),
            Effect::Look => self.look(),
            Effect::AskMaster => self.ask_master(),
            Effect::ReadFile { path } => self.read_file(&path),
            Effect::OpenItems(_) => self.open_items(),
            Effect::StartMap(_) => self.start_map(),
            Effect::InterruptMap => self.later(100, Happening::MapEnds(130)),
            Effect::Submit { task, .. } => self.submit(task),
            Effect::CancelTasks { tasks } => self.cancel(&tasks),
            Effect::Replay { .. } => self.replay(),
            Effect::RequestExecutors { profile, total } => self.request(profile, total),
            Effect::KillExecutors { executors, replacement } => self.kill(executors, replacement),
            Effect::AddProfile { profile, total, .. } => self.add_profile(profile, total),
            Effect::Print(_) => self.print(),
            Effect::Settle => self.answer(self.scenario.slowness, Event::OutputSettled),
            Effect::EndApplication => {
                if self.cluster.standing == Standing::Open {
                    self.end_application(driver::Ending::Cancelled, 0);
                }
            }
            Effect::OfferNames { .. }
            | Effect::LeavePrompt
            | Effect::RestartRecord { .. }
            | Effect::CloseRecord { .. }
            | Effect::DropRecord { .. }
            | Effect::Rewind { .. }
            | Effect::Say(_)
            | Effect::Complain { .. }
            | Effect::Remark(_)
            | Effect::EndLine
            | Effect::ShowInterrupt
            | Effect::Mute
            | Effect::Unmute
            | Effect::Finish(_) => {}
        }
    }

    fn look(&mut self) {
        let number = self.ask();
        if self.cluster.is_up() {
            self.report_as(Happening::Look(number));
        }
    }

    fn ask_master(&mut self) {
        let number = self.ask();
        let after = self.dice.below(self.scenario.delay);
        self.reported = self.reported.max(self.queue.now() + after);
        if self.cluster.is_up() {
            self.report_as(Happening::Explain(number));
        }
    }

    fn read_file(&mut self, path: &Path) {
        let event = match self.dice.one_in(10) {
            true => Event::FileFailed { error: "there is none".to_owned() },
            false => Event::FileRead(commands::file(&mut self.dice, path, self.scenario.recursive)),
        };
        self.answer(200, event);
    }

    fn open_items(&mut self) {
        let event = match self.dice.one_in(5) {
            true => Event::ItemsFailed { error: "there are none".to_owned() },
            false => Event::ItemsOpened,
        };
        self.answer(200, event);
    }

    fn start_map(&mut self) {
        match self.dice.one_in(5) {
            true => self.later(0, Happening::Tell(Event::MapFailed { error: "full".to_owned() })),
            false => self.later(TASK, Happening::MapEnds(0)),
        }
    }

    fn submit(&mut self, task: TaskId) {
        if self.cluster.is_up() {
            self.cluster.tasks.insert(task);
            let most = if self.dice.one_in(20) { 20 * TASK } else { TASK };
            self.later(most, Happening::TaskEnds(task));
        }
    }

    fn cancel(&mut self, tasks: &[TaskId]) {
        for task in tasks {
            if self.cluster.is_up() && self.cluster.tasks.remove(task) {
                self.report(Event::TaskEnded { task: *task, outcome: TaskOutcome::Cancelled });
            }
        }
    }

    /// A piece of a record is printed, or there is none for now.
    fn replay(&mut self) {
        let piece = match self.dice.below(20) {
            0 => Piece::Failed { error: "it is gone".to_owned() },
            1..=8 => Piece::Printed,
            _ => Piece::Nothing,
        };
        let loss = self.dice.one_in(10).then(|| "is forgotten".to_owned());
        self.answer(self.scenario.slowness, Event::Replayed { piece, loss });
    }

    fn request(&mut self, profile: ProfileId, total: u64) {
        if self.cluster.is_up() {
            let note = self.cluster.request(&mut self.dice, profile, total);
            self.report(Event::NoteReceived(note));
            self.assign_soon();
        }
    }

    fn kill(&mut self, executors: Vec<ExecutorId>, replacement: Replacement) {
        if self.cluster.is_up() {
            self.cluster.kill(&executors, replacement);
            for id in executors {
                self.later(self.scenario.delay, Happening::Leave(id));
            }
        }
    }

    fn add_profile(&mut self, profile: ProfileId, total: u64) {
        if self.cluster.is_up() {
            match self.cluster.add(&mut self.dice, profile, total) {
                Some(note) => self.report(Event::NoteReceived(note)),
                None => self.assign_soon(),
            }
        }
    }

    fn print(&mut self) {
        if self.reader_is_gone {
            self.later(0, Happening::Tell(Event::ReaderClosed));
        }
    }
}
