//! The result of the items that the run reports to the Master through the driver.

use firesteel_placement::advanced::words::{counted, none_or};
use firesteel_protocol::messages::Outcome;
use firesteel_protocol::process::end_request::EndRequest;

use super::{Ending, MapRun};

impl MapRun {
    /// The result of the items so far, when the run ends its application.
    pub(super) fn outcome(&self) -> Outcome {
        let totals = self.tally.totals;
        match &self.ending {
            Ending::Completed if totals.failed == 0 => Outcome::Succeeded,
            Ending::Completed => {
                Outcome::failed(format!("{} of {} failed", totals.failed, counted(totals.taken, "item")))
            }
            Ending::BadInput { error } => self.broken("the input ended early", error),
            Ending::OutputLost { error } => self.broken("output was lost", error),
            Ending::RecordLost { error } => self.broken("the record of items was lost", error),
            Ending::DriverLost | Ending::Over(_) => Outcome::failed(self.undone()),
            Ending::ReaderGone => Outcome::cancelled(format!("nobody read the output, {}", self.undone())),
            Ending::Asked(request) | Ending::Abandoned(request) => {
                let how = match request {
                    EndRequest::Interrupt => "interrupted",
                    EndRequest::Terminate => "terminated",
                    EndRequest::HangUp => "terminal closed",
                    EndRequest::StdinClosed => "standard input closed",
                };
                Outcome::cancelled(format!("{how}, {}", self.undone()))
            }
        }
    }

    /// The result of a run that failed itself, regardless of the results of its items.
    fn broken(&self, what: &str, error: &str) -> Outcome {
        let totals = self.tally.totals;
        match totals.taken - totals.succeeded {
            0 => Outcome::failed(format!("{what}: {error}")),
            _ => Outcome::failed(format!("{what}, {}: {error}", self.undone())),
        }
    }

    /// How many items are not done, as text: `316 of 400 items not done`.
    fn undone(&self) -> String {
        let totals = self.tally.totals;
        let left = totals.taken - totals.succeeded + totals.unread.unwrap_or(0);
        match totals.unread.map(|unread| totals.taken + unread) {
            Some(all) if left == 0 => format!("all of {} done", counted(all, "item")),
            Some(all) if totals.succeeded == 0 => format!("none of {} done", counted(all, "item")),
            Some(all) => format!("{left} of {} not done", counted(all, "item")),
            None if left == 0 => format!("{} done, input not at its end", none_or(totals.taken, "item")),
            None => format!("at least {} not done", counted(left, "item")),
        }
    }
}
