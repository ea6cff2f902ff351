//! Performs the effects of a session on the fake world.

use firesteel_engine::driver::{self, TaskOutcome};
use firesteel_engine::session::{Effect, Event, Piece};
use firesteel_protocol::messages::ExecutorState;

use super::cluster::DriverState;
use super::commands;
use super::run::World;

/// The usual maximum duration of a task, in milliseconds.
const TASK: u64 = 2_000;

impl World {
    pub(super) fn perform(&mut self, effect: Effect) {
        let (delay, slowness) = (self.scenario.delay, self.scenario.slowness);
        match effect {
            Effect::WantLine => self.later(500, Self::read_line),
            Effect::Forget => drop(self.ask()),
            Effect::Look => self.answer_as_driver(0, |cluster| Event::TablesSeen(cluster.view())),
            Effect::AskMaster => {
                let after = self.dice.below(delay);
                self.answer_as_driver(after, |cluster| Event::MasterAnswered(cluster.explain()));
            }
            Effect::ReadFile(path) => {
                let event = match self.dice.one_in(10) {
                    true => Event::FileFailed("there is none".to_owned()),
                    false => Event::FileRead(commands::file(&mut self.dice, &path, self.scenario.recursive)),
                };
                self.answer(200, event);
            }
            Effect::OpenItems(_) => {
                let event = match self.dice.one_in(5) {
                    true => Event::ItemsFailed("there are none".to_owned()),
                    false => Event::ItemsOpened,
                };
                self.answer(200, event);
            }
            Effect::StartMap(_) => match self.dice.one_in(5) {
                true => self.later(0, |world| world.tell(Event::MapFailed("full".to_owned()))),
                false => self.later(TASK, |world| world.end_map(0)),
            },
            Effect::InterruptMap => self.later(100, |world| world.end_map(130)),
            // A piece of a record is printed, or there is none for now.
            Effect::Replay(_) => {
                let piece = match self.dice.below(20) {
                    0 => Piece::Failed("it is gone".to_owned()),
                    1..=8 => Piece::Printed,
                    _ => Piece::Nothing,
                };
                let loss = self.dice.one_in(10).then(|| "is forgotten".to_owned());
                self.answer(slowness, Event::Replayed(piece, loss));
            }
            Effect::Print(_) if self.reader_is_gone => self.later(0, |world| world.tell(Event::ReaderClosed)),
            Effect::Settle => self.answer(slowness, Event::OutputSettled),
            effect if self.cluster.is_up() => self.have_driver(effect),
            _ => {}
        }
    }

    fn have_driver(&mut self, effect: Effect) {
        match effect {
            Effect::Submit(task, ..) => {
                self.cluster.tasks.insert(task);
                let most = if self.dice.one_in(20) { 20 * TASK } else { TASK };
                self.later(most, move |world| world.end_task(task));
            }
            Effect::CancelTasks(tasks) => {
                for task in tasks {
                    if self.cluster.tasks.remove(&task) {
                        self.report(Event::TaskEnded(task, TaskOutcome::Cancelled));
                    }
                }
            }
            Effect::RequestExecutors(profile, total) => {
                let note = self.cluster.request(&mut self.dice, profile, total);
                self.report(Event::NoteReceived(note));
                self.assign_soon();
            }
            Effect::KillExecutors(executors, replacement) => {
                self.cluster.kill(&executors, replacement);
                for id in executors {
                    self.later(self.scenario.delay, move |world| world.lose(id, ExecutorState::Killed(None)));
                }
            }
            Effect::AddProfile(profile, _, total) => match self.cluster.add(&mut self.dice, profile, total) {
                Some(note) => self.report(Event::NoteReceived(note)),
                None => self.assign_soon(),
            },
            Effect::EndApplication if self.cluster.state == DriverState::Open => {
                self.end_application(driver::Ending::Cancelled, 0);
            }
            _ => {}
        }
    }
}
