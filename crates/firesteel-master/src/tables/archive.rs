//! The history: ended applications and cluster drivers that are no longer listed on status pages.
//!
//! The history is limited by time and by size, and is kept in the journal. The latest ended applications and cluster
//! drivers are in separate tables ([`History`](crate::tables::history::History)). Rows that leave these tables are
//! added to the history.

use std::collections::BTreeMap;

use firesteel_protocol::messages::{
    ApplicationView, HistoryCursor, MOST_PAST_EXECUTORS, PastApplication, PastRow,
};
use firesteel_protocol::time::Timestamp;
use firesteel_protocol::wire;

use crate::config::HistoryLimits;
use crate::tables::applications::ended::Ended;
use crate::tables::drivers::table::PastDriver;

/// The rows of the history, in the order in which applications and drivers ended.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    rows: BTreeMap<HistoryCursor, PastRow>,
    /// The length of all rows, in bytes.
    bytes: u64,
}

impl Archive {
    /// Adds a row at this time. Drops the oldest rows to stay within the limits.
    pub(crate) fn insert(&mut self, now: Timestamp, row: PastRow, limits: HistoryLimits) {
        self.bytes += wire::length(&row) as u64;
        if let Some(same) = self.rows.insert(row.cursor(), row) {
            self.bytes -= wire::length(&same) as u64;
        }
        while let Some(oldest) = self.rows.first_entry() {
            if self.bytes <= limits.bytes && now.since(oldest.key().ended) <= limits.age {
                return;
            }
            self.bytes -= wire::length(&oldest.remove()) as u64;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &PastRow> {
        self.rows.values()
    }

    /// Copies of the rows with their places, beginning at this place.
    pub(crate) fn from(&self, from: HistoryCursor) -> impl Iterator<Item = (HistoryCursor, PastRow)> {
        self.rows.range(from..).map(|(cursor, row)| (*cursor, row.clone()))
    }

    #[cfg(test)]
    fn is_consistent(&self) -> bool {
        let placed = self.rows.iter().all(|(cursor, row)| row.cursor() == *cursor);
        placed && self.rows.values().map(|row| wire::length(row) as u64).sum::<u64>() == self.bytes
    }
}

impl Ended {
    pub(crate) fn past(&self) -> PastRow {
        let first = self.executors.len().saturating_sub(MOST_PAST_EXECUTORS);
        let records = &self.executors[first..];
        let executors = records.iter().map(|record| record.view(&self.row.id)).collect();
        let used = records.iter().filter_map(|record| Some((record.id, record.used?))).collect();
        let view = ApplicationView { executors, ..self.row.clone() };
        PastRow::Application(Box::new(PastApplication { number: self.sequence, view, used }))
    }
}

pub(crate) fn past_driver(number: u64, PastDriver { view, used }: &PastDriver) -> PastRow {
    PastRow::Driver { number, view: Box::new(view.clone()), used: *used }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use firesteel_placement::{Cores, MiB, ResourceAmounts, Resources};
    use firesteel_protocol::ids::DriverId;
    use firesteel_protocol::messages::{DriverState, DriverView};

    use super::*;

    fn row(number: u64, ended_seconds: u64) -> PastRow {
        let ended = Some(Timestamp::from_millis(ended_seconds * 1000));
        let view = DriverView {
            id: DriverId::new(format!("driver-{number}")),
            user: "ann".to_owned(),
            command: String::new(),
            cores: Cores(1),
            memory: MiB(1),
            supervise: false,
            state: DriverState::Finished,
            submitted: Timestamp::default(),
            launched: None,
            ended,
            worker: None,
            name: None,
            needs: ResourceAmounts::new(),
            has: Resources::default(),
            restarts: None,
            wait: None,
        };
        past_driver(number, &PastDriver { view, used: None })
    }

    #[test]
    fn the_oldest_go_when_there_is_too_much_or_when_they_are_too_old() {
        let length = wire::length(&row(1, 1)) as u64;
        let limits = HistoryLimits { age: Duration::from_secs(100), bytes: 3 * length + 9 };
        let mut archive = Archive::default();
        for (now, number, ended, left) in [
            (10, 1, 5, &[1][..]),
            (10, 2, 7, &[1, 2]),
            // This row started later, but ended earlier.
            (10, 3, 6, &[1, 3, 2]),
            (10, 4, 9, &[3, 2, 4]),
            // Adding the same row again changes nothing.
            (10, 4, 9, &[3, 2, 4]),
            (107, 5, 106, &[2, 4, 5]),
            (1000, 6, 999, &[6]),
        ] {
            archive.insert(Timestamp::from_millis(now * 1000), row(number, ended), limits);
            let numbers = archive.iter().map(|row| match row {
                PastRow::Driver { number, .. } => *number,
                PastRow::Application(past) => past.number,
            });
            assert_eq!(numbers.collect::<Vec<_>>(), left, "after {number}");
            assert!(archive.is_consistent());
        }
    }
}
