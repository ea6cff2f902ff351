//! A map run's remarks, as text for the user.

use std::path::PathBuf;

use firesteel_engine::driver;
use firesteel_engine::map::{Ending, Remark};
use firesteel_host::progress::counted;

use super::items::Unit;
use crate::end_reason::EndReason;

#[derive(Clone, Debug)]
pub(super) struct Leftovers {
    pub(super) file: PathBuf,
    pub(super) unit: Unit,
}

pub(super) fn words(remark: &Remark, left: &Leftovers) -> String {
    match remark {
        Remark::Driver(note) => firesteel_daemons::remark::Remark(note).to_string(),
        Remark::Cancelling { items, unread } => {
            let unread = unread.filter(|unread| *unread > 0);
            let more = unread.map(|unread| format!(" ({} are not begun)", counted(unread, "item")));
            let more = more.unwrap_or_default();
            format!("cancelling {}{more}; ctrl-c again leaves at once", counted(*items, "item"))
        }
        Remark::ExecutorsUnknown => {
            "no Master confirmed the end of all executors; their Workers end them when they reach a Master again"
                .to_owned()
        }
        Remark::Left { items } => {
            let (number, file) = (counted(*items, left.unit.left_noun()), left.file.display());
            format!("{number} not done: {file} lists them for another run")
        }
        Remark::InputFailed { error } | Remark::OutputLost { error } | Remark::RecordLost { error } => {
            error.clone()
        }
        Remark::DriverLost => driver_lost(),
        Remark::ApplicationOver(outcome) => over(outcome),
    }
}

/// Why a run ended early, if that was an error.
pub(super) fn error(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Completed | Ending::ReaderGone | Ending::Asked(_) | Ending::Abandoned(_) => None,
        Ending::BadInput { error } | Ending::OutputLost { error } | Ending::RecordLost { error } => {
            Some(error.clone())
        }
        Ending::DriverLost => Some(driver_lost()),
        Ending::Over(outcome) => Some(over(outcome)),
    }
}

fn driver_lost() -> String {
    "the driver ended unexpectedly".to_owned()
}

fn over(ending: &driver::Ending) -> String {
    EndReason::of_driver(ending.clone()).map(|over| over.to_string()).unwrap_or_default()
}
