//! The end of a map run, step by step.

use firesteel_protocol::process::end_request::EndRequest;
use firesteel_protocol::time::Timestamp;

use super::{Effect, Ending, Leave, MapRun, Output, Phase, Remark, Scope};
use crate::driver::{TaskOutcome, Until};

impl MapRun {
    pub(super) fn on_end_requested(&mut self, now: Timestamp, request: EndRequest) {
        if self.asked.is_some_and(|(first, at)| first.is_echoed_by(request, now.since(at))) {
            return;
        }
        match self.phase {
            Phase::Reading(_) | Phase::Draining => {
                self.asked = Some((request, now));
                let (items, unread) = (self.tally.totals.open, self.tally.totals.unread);
                if self.config.scope == Scope::Application && items > 0 {
                    self.remark(Remark::Cancelling { items, unread });
                }
                self.end_with(Ending::Asked(request));
                self.cancel(Until::NothingLeft);
                self.phase = Phase::Ending(Output::Wanted);
            }
            // Nothing is left to cancel.
            Phase::Finishing => {
                self.asked = Some((request, now));
                self.end_with(Ending::Asked(request));
                self.phase = Phase::Ending(Output::Wanted);
            }
            // A repeated request stops at once.
            Phase::Ending(_) | Phase::Closing { .. } => {
                self.ending = Ending::Abandoned(request);
                self.save();
            }
            Phase::Saving | Phase::Ended => {}
        }
    }

    /// Ends the run because printing has failed, or because standard output was closed at the other end.
    pub(super) fn lose_output(&mut self, ending: Ending, remark: Option<Remark>) {
        match self.phase {
            Phase::Reading(_) | Phase::Draining => {
                self.effects.extend(remark.map(Effect::Remark));
                self.end_with(ending);
                self.cancel(Until::Notified);
                self.phase = Phase::Ending(Output::Over);
            }
            Phase::Finishing | Phase::Ending(Output::Wanted) => {
                self.effects.extend(remark.map(Effect::Remark));
                self.end_with(ending);
                self.phase = Phase::Ending(Output::Over);
            }
            Phase::Closing { output: Output::Wanted, .. } => {
                self.effects.extend(remark.map(Effect::Remark));
                self.end_with(ending);
                self.on_output_over();
            }
            Phase::Ending(Output::Over)
            | Phase::Closing { output: Output::Over, .. }
            | Phase::Saving
            | Phase::Ended => {}
        }
    }

    pub(super) fn cancel(&mut self, until: Until) {
        match self.config.scope {
            Scope::Application => {
                let outcome = self.outcome();
                self.effects.push(Effect::CancelApplication { outcome, until });
            }
            Scope::Tasks { .. } => {
                let tasks = self.items.open();
                self.effects.push(Effect::CancelTasks { tasks });
            }
        }
    }

    /// The last task has ended. Closes the outputs.
    pub(super) fn close(&mut self, driver: Leave) {
        let output = match self.phase {
            Phase::Ending(output) => output,
            Phase::Reading(_) | Phase::Draining | Phase::Finishing => Output::Wanted,
            Phase::Closing { .. } | Phase::Saving | Phase::Ended => return,
        };
        // These tasks came to the driver after its application was over.
        for task in self.items.open() {
            self.on_task_ended(task, TaskOutcome::Cancelled);
        }
        match output {
            Output::Wanted => self.effects.push(Effect::CloseOutput),
            Output::Over => {}
        }
        self.phase = Phase::Closing { output, driver };
    }

    pub(super) fn on_output_over(&mut self) {
        if let Phase::Closing { output, .. } = &mut self.phase {
            *output = Output::Over;
        }
    }

    pub(super) fn on_record_lost(&mut self, error: String) {
        match self.phase {
            Phase::Ended => return,
            Phase::Reading(_)
            | Phase::Draining
            | Phase::Finishing
            | Phase::Ending(_)
            | Phase::Closing { .. }
            | Phase::Saving => {}
        }
        self.remark(Remark::RecordLost { error: error.clone() });
        self.end_with(Ending::RecordLost { error });
        match self.phase {
            Phase::Saving => self.finish(),
            Phase::Reading(_)
            | Phase::Draining
            | Phase::Finishing
            | Phase::Ending(_)
            | Phase::Closing { .. }
            | Phase::Ended => {}
        }
    }

    /// Writes the items that are left, without waiting for anything else.
    pub(super) fn save(&mut self) {
        for task in self.items.open() {
            self.end_item(task, TaskOutcome::Cancelled);
        }
        self.tally.totals.unprinted = self.items.unprinted();
        self.phase = Phase::Saving;
        self.effects.push(Effect::LeaveRest);
    }

    pub(super) fn on_rest_left(&mut self, items: Option<u64>) {
        match self.phase {
            Phase::Saving => {
                if let Some(items) = items.filter(|items| *items > 0) {
                    self.remark(Remark::Left { items });
                }
                self.finish();
            }
            Phase::Reading(_)
            | Phase::Draining
            | Phase::Finishing
            | Phase::Ending(_)
            | Phase::Closing { .. }
            | Phase::Ended => {}
        }
    }

    pub(super) fn finish(&mut self) {
        self.phase = Phase::Ended;
        self.effects.push(Effect::Finish);
    }

    pub(super) fn on_deadline(&mut self, now: Timestamp) {
        if let Phase::Closing { driver, .. } = &mut self.phase
            && let Leave::Until(at) = *driver
            && at <= now
        {
            *driver = Leave::Taken;
            self.remark(Remark::ExecutorsUnknown);
        }
    }
}
