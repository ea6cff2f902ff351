//! How what is no longer among the latest goes to the history.

use firesteel_protocol::time::Timestamp;

use crate::Master;
use crate::tables::applications::ended::Ended;
use crate::tables::archive::past_driver;
use crate::tables::drivers::table::PastDriver;

impl Master {
    /// Applications are no longer among the latest.
    pub(crate) fn archive_applications(&mut self, now: Timestamp, dropped: Vec<(u64, Ended)>) {
        for (_, ended) in dropped {
            self.archive.insert(now, ended.past(), self.config.history);
        }
    }

    /// Cluster drivers are no longer among the latest.
    pub(crate) fn archive_drivers(&mut self, now: Timestamp, dropped: Vec<(u64, PastDriver)>) {
        for (number, driver) in dropped {
            self.archive.insert(now, past_driver(number, &driver), self.config.history);
        }
    }
}
