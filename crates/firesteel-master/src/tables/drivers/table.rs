//! The Master's cluster drivers, live and ended.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_protocol::ids::{DriverId, WorkerId};
use firesteel_protocol::messages::{DriverState, DriverView, Used};

use crate::limits::Charges;
use crate::tables::drivers::cluster_driver::{ClusterDriver, Run};
use crate::tables::history::History;
use crate::tables::merged::merged;

/// The live cluster drivers, and the latest ended ones.
#[derive(Debug, Default)]
pub(crate) struct ClusterDriverTable {
    live: BTreeMap<u64, ClusterDriver>,
    /// The numbers of the waiting cluster drivers.
    waiting: BTreeSet<u64>,
    numbers: BTreeMap<DriverId, u64>,
    ended: History<DriverId, PastDriver>,
    /// The memory that the live cluster drivers take for what they describe.
    kept: Charges,
    /// The number of cluster drivers that were ever submitted.
    next_number: u64,
    /// Whether no waiting cluster driver fitted at the last pass.
    pub(crate) is_tried: bool,
    /// The Worker that got the last cluster driver. When drivers are spread, the next one goes to a later Worker.
    pub(crate) last_worker: Option<WorkerId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PastDriver {
    pub(crate) view: DriverView,
    /// What the driver's last process used, if it was measured.
    pub(crate) used: Option<Used>,
}

impl ClusterDriverTable {
    pub(crate) fn insert(&mut self, driver: ClusterDriver) {
        let number = driver.number;
        self.count_from(number + 1);
        self.is_tried = false;
        self.waiting.insert(number);
        self.numbers.insert(driver.id.clone(), number);
        self.kept.add(&driver.description.user, driver.weight());
        self.live.insert(number, driver);
    }

    /// Assigns a waiting cluster driver to a Worker.
    pub(crate) fn run(&mut self, number: u64, run: Run, worker: WorkerId) {
        self.waiting.remove(&number);
        self.live_mut(number).run = Some(run);
        self.last_worker = Some(worker);
    }

    pub(crate) fn wait(&mut self, number: u64) -> Option<Run> {
        self.is_tried = false;
        self.waiting.insert(number);
        let driver = self.live_mut(number);
        driver.restarts = None;
        driver.run.take()
    }

    pub(crate) fn remove(&mut self, number: u64) -> ClusterDriver {
        // If the maximum number runs, another driver may now run instead.
        self.is_tried = false;
        self.waiting.remove(&number);
        let driver = self.live.remove(&number).expect("the cluster driver is live");
        self.numbers.remove(&driver.id);
        self.kept.subtract(&driver.description.user, driver.weight());
        driver
    }

    /// Remembers an ended cluster driver, but at most `limit` of them. Returns the drivers that are dropped.
    pub(crate) fn retire(&mut self, number: u64, driver: PastDriver, limit: usize) -> Vec<(u64, PastDriver)> {
        self.ended.insert((number, driver.view.id.clone()), driver, limit)
    }

    pub(crate) fn forget_ended(&mut self) -> Vec<(u64, PastDriver)> {
        self.ended.take_all()
    }

    pub(crate) fn get(&self, number: u64) -> Option<&ClusterDriver> {
        self.live.get(&number)
    }

    /// A cluster driver that another table names, so it must be live.
    pub(crate) fn live(&self, number: u64) -> &ClusterDriver {
        self.get(number).expect("the cluster driver is live")
    }

    pub(crate) fn live_mut(&mut self, number: u64) -> &mut ClusterDriver {
        self.live.get_mut(&number).expect("the cluster driver is live")
    }

    pub(crate) fn number(&self, id: &DriverId) -> Option<u64> {
        self.numbers.get(id).copied()
    }

    /// An ended cluster driver that the Master remembers.
    pub(crate) fn ended(&self, id: &DriverId) -> Option<&DriverView> {
        self.ended.get(id).map(|driver| &driver.view)
    }

    /// The last successor of a cluster driver. If it was not relaunched, this is the driver itself.
    pub(crate) fn latest(&self, id: &DriverId) -> DriverId {
        let mut latest = id;
        // A successor has a higher number than its predecessor, so this loop ends.
        while let Some(DriverView { state: DriverState::Relaunching { successor }, .. }) = self.ended(latest)
        {
            latest = successor;
        }
        latest.clone()
    }

    /// Whether a number or an id is in use.
    pub(crate) fn is_known(&self, number: u64, id: &DriverId) -> bool {
        let is_live = self.live.contains_key(&number) || self.numbers.contains_key(id);
        is_live || self.ended.is_numbered(number) || self.ended.get(id).is_some()
    }

    /// The numbers of the waiting cluster drivers, in the order of their submission.
    pub(crate) fn waiting(&self) -> &BTreeSet<u64> {
        &self.waiting
    }

    pub(crate) fn running(&self) -> usize {
        self.live.len() - self.waiting.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ClusterDriver> {
        self.live.values()
    }

    /// The remembered ended cluster drivers with their numbers, in the order of their ends.
    pub(crate) fn ended_in_order(&self) -> impl Iterator<Item = (u64, &PastDriver)> {
        self.ended.iter()
    }

    pub(crate) fn from(
        &self,
        number: u64,
    ) -> impl Iterator<Item = (u64, Result<&ClusterDriver, &PastDriver>)> {
        let live = self.live.range(number..).map(|(number, row)| (*number, (*number, Ok(row))));
        let ended = self.ended.from(number).map(|(number, driver)| (number, (number, Err(driver))));
        merged(live, ended)
    }

    pub(crate) fn len(&self) -> usize {
        self.live.len() + self.ended.len()
    }

    pub(crate) fn submitted(&self) -> u64 {
        self.next_number
    }

    /// Makes the next cluster driver get this number or a higher one.
    pub(crate) fn count_from(&mut self, number: u64) {
        self.next_number = self.next_number.max(number);
    }

    /// The memory that the live cluster drivers take for what they describe.
    pub(crate) fn kept(&self) -> &Charges {
        &self.kept
    }

    /// Whether all parts of the table contain the same cluster drivers.
    pub(crate) fn is_consistent(&self) -> bool {
        let live = self.live.iter().all(|(number, row)| {
            row.number == *number
                && self.numbers.get(&row.id) == Some(number)
                && self.waiting.contains(number) == row.run.is_none()
                && *number < self.next_number
        });
        let is_row = |PastDriver { view, used: _ }: &PastDriver, _, id: &DriverId| {
            view.state.is_finished() && view.id == *id
        };
        let mut kept = Charges::default();
        self.live.values().for_each(|row| kept.add(&row.description.user, row.weight()));
        live && kept == self.kept
            && self.ended.is_consistent(is_row)
            && self.numbers.len() == self.live.len()
            && self.waiting.iter().all(|number| self.live.contains_key(number))
    }
}
