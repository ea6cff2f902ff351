//! Moves ended applications and cluster drivers from the tables of the latest ones to the history.

use firesteel_protocol::time::Timestamp;

use crate::Master;
use crate::tables::applications::ended::Ended;
use crate::tables::archive::past_driver;
use crate::tables::drivers::table::PastDriver;

impl Master {
    /// Moves applications that are no longer among the latest to the history.
    pub(crate) fn archive_applications(&mut self, now: Timestamp, dropped: Vec<(u64, Ended)>) {
        for (_, ended) in dropped {
            self.archive.insert(now, ended.past(), self.config.history);
        }
    }

    /// Moves cluster drivers that are no longer among the latest to the history.
    pub(crate) fn archive_drivers(&mut self, now: Timestamp, dropped: Vec<(u64, PastDriver)>) {
        for (number, driver) in dropped {
            self.archive.insert(now, past_driver(number, &driver), self.config.history);
        }
    }
}
