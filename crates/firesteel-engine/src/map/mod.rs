//! A map run reads items, runs each item as a task of an application, and prints the tasks' outputs.
//!
//! The run decides how far ahead items are read (`ahead`), counts every item (`items`, `tally`), and decides when and
//! how it ends. The run uses the driver: the driver's effects are events of the run, and effects of the run are events
//! of the driver. The program around the run reads the input, submits tasks, prints outputs and writes the text of
//! remarks.
//!
//! An item is *done* when it succeeded and its output was printed. With a *run record*, every other item is left for
//! another run. The program around the run writes each item that it reads to the record, and marks the done items.

mod ahead;
mod check;
mod config;
mod effect;
mod ending;
mod ends;
mod event;
mod items;
mod options;
mod outcome;
mod remark;
mod reports;
mod tally;

use std::collections::BTreeSet;
use std::time::Duration;

use firesteel_protocol::ids::TaskId;
use firesteel_protocol::machine::{Effects, Machine, Violation};
use firesteel_protocol::process::end_request::EndRequest;
use firesteel_protocol::time::Timestamp;

use self::items::{ItemResult, Items, OpenItem};
use crate::driver::ExecutorLoss;

pub use config::{Config, Scope};
pub use effect::Effect;
pub use ending::Ending;
pub use event::{Event, Item, Unusable};
pub use options::{OutputOrder, Separator};
pub use remark::Remark;
pub use tally::{Cause, ExecutorUse, Failure, LocalityUse, Tally, Totals};

/// How long the run waits for the driver after the application has ended. During this time, Workers give executors
/// their grace period to end.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub struct MapRun {
    config: Config,
    phase: Phase,
    ending: Ending,
    /// The first request to end the run, and the time of the request.
    asked: Option<(EndRequest, Timestamp)>,
    items: Items,
    tally: Tally,
    first_executor: Option<Timestamp>,
    /// The remarks about Masters that were already made. Each remark is made only once.
    on_masters: BTreeSet<String>,
    /// Why the last idle executor was lost. The same reason is reported only once.
    last_loss: Option<ExecutorLoss>,
    effects: Effects<Effect>,
}

/// ```text
///  READING --input ends--> DRAINING --tasks over--> FINISHING --application over--.
///     |                       |                         |                         v
///     `--asked to end, -------`-------------------------`--> ENDING --same----> CLOSING --printed, driver gone--.
///        output lost                                           |                  |                             v
///                                                              `------------------`------asked again-------> SAVING
///                                                                                                               |
///                                                                                      ENDED <--rest is left----'
/// ```
///
/// A run that does not own its application goes from DRAINING or ENDING to CLOSING when its last task is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Reading(Reading),
    /// No more items are read. Tasks continue.
    Draining,
    /// All tasks have ended, and the driver was told to end the application.
    Finishing,
    /// Tasks are being cancelled.
    Ending(Output),
    /// No task is left: outputs are printed, and the driver ends.
    Closing {
        output: Output,
        driver: Leave,
    },
    /// The remaining items are being written.
    Saving,
    /// The run has ended: the effect `Finish` was returned.
    Ended,
}

/// Whether the run has requested an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Idle,
    Asked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Wanted,
    /// All outputs are printed, or printing has failed.
    Over,
}

/// The state of the driver after its application has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// The run waits for the driver until this time.
    Until(Timestamp),
    /// The driver has ended, or the run no longer waits for it.
    Taken,
}

/// Why the map run set its next deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The driver has not ended in time.
    DriverPatience,
}

impl MapRun {
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            phase: Phase::Reading(Reading::Idle),
            ending: Ending::Completed,
            asked: None,
            items: Items::default(),
            tally: Tally::default(),
            first_executor: None,
            on_masters: BTreeSet::new(),
            last_loss: None,
            effects: Effects::default(),
        }
    }

    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// How the run ends. `Completed` until the run has another reason to end.
    #[must_use]
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    #[must_use]
    pub fn first_executor(&self) -> Option<Timestamp> {
        self.first_executor
    }

    /// The total number of items, once it is known.
    #[must_use]
    pub fn items(&self) -> Option<u64> {
        match (self.phase, &self.ending) {
            (Phase::Reading(_), _) => self.config.items,
            (_, Ending::Completed) => Some(self.tally.totals.taken),
            (_, _) => self.config.items,
        }
    }
}

impl Machine for MapRun {
    type Event = Event;
    type Effect = Effect;
    type Reason = Reason;

    fn apply(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        match event {
            Event::Start => self.start(now),
            Event::InputItem(item) => self.on_item(item),
            Event::InputEnded => {
                // A file may have become shorter since its items were counted: the missing items count as read.
                self.tally.totals.unread.get_or_insert(0);
                self.end_input();
            }
            Event::InputFailed { error, item } => self.on_input_failed(error, item),
            Event::OutputReceived { attempt, stream, bytes } => {
                self.effects.push(Effect::Output { attempt, stream, bytes });
            }
            Event::OutputDiscarded { attempt } => {
                self.tally.repeated_attempts += 1;
                self.effects.push(Effect::DiscardOutput { attempt });
            }
            Event::TaskEnded { task, outcome } => self.on_task_ended(task, outcome),
            Event::NoteReceived(note) => self.on_note(now, note),
            Event::ApplicationEnded(ending) => self.on_application_ended(now, ending),
            Event::DriverEnded => self.on_driver_ended(),
            Event::EndRequested(request) => self.on_end_requested(now, request),
            Event::ReaderClosed => self.lose_output(Ending::ReaderGone, None),
            Event::OutputLost { error } => {
                let remark = Remark::OutputLost { error: error.clone() };
                self.lose_output(Ending::OutputLost { error }, Some(remark));
            }
            Event::Printed { tasks } => self.on_printed(tasks),
            Event::OutputClosed => self.on_output_over(),
            Event::RecordLost { error } => self.on_record_lost(error),
            Event::RestLeft { items } => self.on_rest_left(items),
            Event::Deadline => self.on_deadline(now),
        }
        self.settle();
        self.effects.take()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match self.phase {
            Phase::Closing { driver: Leave::Until(at), .. } => Some((at, Reason::DriverPatience)),
            Phase::Reading(_)
            | Phase::Draining
            | Phase::Finishing
            | Phase::Ending(_)
            | Phase::Closing { driver: Leave::Taken, .. }
            | Phase::Saving
            | Phase::Ended => None,
        }
    }

    fn check(&self) -> Result<(), Violation> {
        check::check(self)
    }
}

impl MapRun {
    fn start(&mut self, now: Timestamp) {
        self.tally.totals.unread = self.config.items;
        if let Scope::Tasks { executors, .. } = &self.config.scope {
            for (executor, host, cores) in executors.clone() {
                self.add_executor(now, executor, host, cores);
            }
        }
    }

    /// Submits an item. If the run accepts no more items, leaves the item for another run.
    fn on_item(&mut self, item: Item) {
        self.take_from_input();
        match self.phase {
            Phase::Reading(_) => {
                let task = TaskId(self.config.scope.first().0 + self.tally.totals.taken);
                let Item { number, words, bytes, request } = item;
                self.tally.open();
                self.items.insert(task, OpenItem { number, words, bytes });
                self.effects.push(Effect::Submit { task, request });
                self.phase = Phase::Reading(Reading::Idle);
            }
            Phase::Draining
            | Phase::Finishing
            | Phase::Ending(_)
            | Phase::Closing { .. }
            | Phase::Saving
            | Phase::Ended => {
                self.tally.totals.taken += 1;
                self.tally.totals.cancelled += 1;
            }
        }
    }

    fn on_input_failed(&mut self, error: String, item: Unusable) {
        match item {
            Unusable::None => {}
            Unusable::Taken => {
                self.take_from_input();
                self.tally.totals.taken += 1;
                self.tally.totals.unusable += 1;
            }
        }
        match self.phase {
            Phase::Reading(_) => {
                self.remark(Remark::InputFailed { error: error.clone() });
                self.end_with(Ending::BadInput { error });
                self.end_input();
            }
            Phase::Draining
            | Phase::Finishing
            | Phase::Ending(_)
            | Phase::Closing { .. }
            | Phase::Saving
            | Phase::Ended => {}
        }
    }

    fn take_from_input(&mut self) {
        if let Some(unread) = &mut self.tally.totals.unread {
            *unread = unread.saturating_sub(1);
        }
    }

    /// Handles the end of the input. Submitted items still run.
    fn end_input(&mut self) {
        match self.phase {
            Phase::Reading(_) => {
                self.phase = Phase::Draining;
            }
            Phase::Draining
            | Phase::Finishing
            | Phase::Ending(_)
            | Phase::Closing { .. }
            | Phase::Saving
            | Phase::Ended => {}
        }
    }

    /// Counts printed items. Items that are printed after the remaining items were written are also among the remaining
    /// items.
    fn on_printed(&mut self, tasks: Vec<TaskId>) {
        match self.phase {
            Phase::Reading(_)
            | Phase::Draining
            | Phase::Finishing
            | Phase::Ending(_)
            | Phase::Closing { .. } => {}
            Phase::Saving | Phase::Ended => return,
        }
        for (number, result) in tasks.into_iter().filter_map(|task| self.items.print(task)) {
            match result {
                ItemResult::Succeeded => self.effects.push(Effect::MarkDone { number }),
                ItemResult::NotDone => {}
            }
        }
    }

    /// Makes the decisions that follow from the tables, at the end of each event.
    fn settle(&mut self) {
        match (self.phase, &self.config.scope) {
            (Phase::Reading(Reading::Idle), _) => {
                let (_, cores) = self.tally.ready();
                if ahead::wants_more(self.items.begun(), cores) {
                    self.phase = Phase::Reading(Reading::Asked);
                    self.effects.push(Effect::ReadItem);
                }
            }
            (Phase::Draining, Scope::Application) if self.tally.totals.open == 0 => {
                let outcome = self.outcome();
                self.effects.push(Effect::FinishApplication { outcome });
                self.phase = Phase::Finishing;
            }
            (Phase::Draining | Phase::Ending(_), Scope::Tasks { .. }) if self.tally.totals.open == 0 => {
                self.close(Leave::Taken);
                self.settle();
            }
            (Phase::Closing { output: Output::Over, driver: Leave::Taken }, _) => self.save(),
            (
                Phase::Reading(Reading::Asked)
                | Phase::Draining
                | Phase::Finishing
                | Phase::Ending(_)
                | Phase::Closing { .. }
                | Phase::Saving
                | Phase::Ended,
                _,
            ) => {}
        }
    }

    /// Sets how the run ends. If this is called more than once, only the first reason counts.
    fn end_with(&mut self, ending: Ending) {
        if self.ending == Ending::Completed {
            self.ending = ending;
        }
    }

    fn remark(&mut self, remark: Remark) {
        self.effects.push(Effect::Remark(remark));
    }
}
