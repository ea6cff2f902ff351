//! Moves ended applications and cluster drivers to the history when they are no longer among the latest.

use firesteel_protocol::time::Timestamp;

use crate::Master;
use crate::tables::applications::ended::Ended;
use crate::tables::archive::past_driver;
use crate::tables::drivers::table::PastDriver;

impl Master {
    /// Moves applications to the history that are no longer among the latest ended ones.
    pub(crate) fn archive_applications(&mut self, now: Timestamp, dropped: Vec<(u64, Ended)>) {
        for (_, ended) in dropped {
            self.archive.insert(now, ended.past(), self.config.history);
        }
    }

    /// Moves cluster drivers to the history that are no longer among the latest ended ones.
    pub(crate) fn archive_drivers(&mut self, now: Timestamp, dropped: Vec<(u64, PastDriver)>) {
        for (number, driver) in dropped {
            self.archive.insert(now, past_driver(number, &driver), self.config.history);
        }
    }
}
