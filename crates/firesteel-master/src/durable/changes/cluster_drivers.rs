//! The durable changes of cluster drivers: submission, launch, return and end.

use firesteel_protocol::ids::{DriverId, WorkerId};
use firesteel_protocol::messages::{DriverDescription, DriverView};
use firesteel_protocol::time::Timestamp;

use crate::Master;
use crate::durable::record::{DriverEnd, Record};
use crate::tables::drivers::cluster_driver::{ClusterDriver, Run};
use crate::tables::drivers::table::PastDriver;

impl Master {
    /// Adds a cluster driver with a new id and number, which waits for a Worker.
    pub(crate) fn add_driver(
        &mut self,
        now: Timestamp,
        (number, id): (u64, DriverId),
        description: DriverDescription,
    ) {
        let (submitted, kill_asked, run, restarts) = (now, false, None, None);
        let driver = ClusterDriver { number, id, description, submitted, kill_asked, run, restarts };
        if self.records.are_wanted() {
            self.records.add(now, driver.submission());
        }
        self.drivers.insert(driver);
    }

    /// Records that a waiting cluster driver starts on a Worker. The Worker's amounts were already taken for it.
    pub(crate) fn run_driver(&mut self, now: Timestamp, number: u64, run: Run) {
        let row = self.workers.row_mut(run.slot);
        row.drivers.insert(number);
        let (id, worker) = (row.description.id.clone(), row.number);
        self.drivers.run(number, run, id);
        if self.records.are_wanted() {
            self.records.add(now, self.drivers.live(number).launch(worker));
        }
    }

    /// Makes a running cluster driver wait again. Returns the Worker on which it ran.
    pub(crate) fn take_back_driver(&mut self, now: Timestamp, number: u64) -> WorkerId {
        self.records.add(now, Record::DriverReturned { driver: number });
        let Run { slot, grant, .. } = self.drivers.wait(number).expect("it runs");
        self.workers.give_back(slot, grant);
        let row = self.workers.row_mut(slot);
        row.drivers.remove(&number);
        row.description.id.clone()
    }

    /// Records that somebody asked to end a running cluster driver.
    pub(crate) fn ask_driver_to_end(&mut self, now: Timestamp, number: u64) {
        if !std::mem::replace(&mut self.drivers.live_mut(number).kill_asked, true) {
            self.records.add(now, Record::DriverKillAsked { driver: number });
        }
    }

    /// Ends a cluster driver in this way, and gives its share back to the Worker.
    pub(crate) fn retire_driver(&mut self, now: Timestamp, number: u64, end: DriverEnd) {
        let driver = self.drivers.live(number);
        if self.records.are_wanted() {
            self.records.add(now, Record::DriverEnded { driver: number, end: Box::new(end.clone()) });
        }
        let view = driver.view(driver.run.as_ref().map(|run| self.workers.row(run.slot)), None);
        let driver = self.drivers.remove(number);
        if let Some(Run { slot, grant, .. }) = driver.run {
            self.workers.give_back(slot, grant);
            self.workers.row_mut(slot).drivers.remove(&number);
        }
        let DriverEnd { state, restarts, used } = end;
        let view = DriverView { state, ended: Some(now), restarts, ..view };
        let dropped = self.drivers.retire(number, PastDriver { view, used }, self.config.retained_drivers);
        self.archive_drivers(now, dropped);
    }
}
