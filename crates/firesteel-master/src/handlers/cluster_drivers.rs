//! How cluster drivers are submitted, placed and ended.
//!
//! A cluster driver takes cores and memory of a Worker, as executors do. Cluster drivers are placed before executors.

use std::collections::BTreeSet;
use std::time::Duration;

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::{Cores, MiB, Strategy};
use firesteel_protocol::ids::{DriverId, PeerId, WorkerId};
use firesteel_protocol::machine::Violation;
use firesteel_protocol::messages::{
    DriverDescription, DriverError, DriverReport, DriverRestarts, DriverState, DriverView, DriverWait,
    KillDriverAnswer, LossReason, MOST_CORES, MasterToWorker, RefusedDriver, ResourceProfile,
    SubmitDriverAnswer, Used,
};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::time::Timestamp;
use firesteel_protocol::wire;

use crate::durable::record::DriverEnd;
use crate::limits::{self, MOST_MEMORY};
use crate::tables::drivers::cluster_driver::{ClusterDriver, Run};
use crate::tables::workers::unknown_processes::UnknownProcess;
use crate::{Ignored, Master, Note, Pass};

/// The longest description of a cluster driver, in bytes on the wire. It is limited because the Master keeps all
/// descriptions in memory.
const LONGEST: usize = 128 << 10;

/// The maximum number of cluster drivers that wait for a Worker.
const MOST_WAITING: usize = 10_000;

/// If an order to start a cluster driver is not answered, it is repeated after this number of heartbeats. The Worker
/// may have sent the first heartbeat before the order arrived.
const REPEATED_AFTER: u32 = 2;

impl Master {
    /// Handles the submission of a cluster driver.
    ///
    /// Source: Spark Master, 4.0.1 (`RequestSubmitDriver`). Firesteel's Master accepts the driver even while it waits
    /// for Workers after a restart.
    pub(crate) fn on_submit_driver(
        &mut self,
        now: Timestamp,
        description: DriverDescription,
    ) -> SubmitDriverAnswer {
        let admitted = self.admits_driver(&description).and_then(|()| {
            self.count_submission(now, &description.user).map_err(|why| RefusedDriver::Unsound { why })
        });
        match admitted {
            Ok(()) => SubmitDriverAnswer::Submitted { driver: self.submit_driver(now, description) },
            Err(refusal) => {
                self.effects.note(Note::DriverRefused { why: refusal.to_string() });
                SubmitDriverAnswer::Refused(refusal)
            }
        }
    }

    fn admits_driver(&self, description: &DriverDescription) -> Result<(), RefusedDriver> {
        let DriverDescription { command, cores, memory, resources, .. } = description;
        if command.program.is_empty() {
            return Err(RefusedDriver::NoProgram);
        }
        if !(Cores(1)..=MOST_CORES).contains(cores) || !(MiB(1)..=MOST_MEMORY).contains(memory) {
            return Err(RefusedDriver::UnsoundSize { cores: *cores, memory: *memory });
        }
        ResourceProfile::check_resources(resources)
            .map_err(|error| error.to_string())
            .and_then(|()| self.check_shares(resources))
            .map_err(|why| RefusedDriver::Unsound { why })?;
        let length = wire::length(description);
        if length > LONGEST {
            return Err(RefusedDriver::TooLong { length: length as u64, most: LONGEST as u64 });
        }
        if self.drivers.waiting().len() >= MOST_WAITING {
            return Err(RefusedDriver::TooManyWait { most: MOST_WAITING as u64 });
        }
        let more = limits::weight(length);
        let checked = self.config.limits.check_more(self.kept(), &description.user, more);
        checked.map_err(|why| RefusedDriver::Unsound { why })
    }

    /// Counts that a user submits an application or a cluster driver, unless he has or submits too many.
    pub(super) fn count_submission(&mut self, now: Timestamp, user: &str) -> Result<(), String> {
        let per_user = self.config.limits.per_user;
        if per_user.applications < u64::MAX {
            per_user.check_one_more(user, self.live_of(user))?;
        }
        self.submissions.count(now, user, per_user.submissions)
    }

    /// Adds a cluster driver with a new id to the waiting ones.
    fn submit_driver(&mut self, now: Timestamp, description: DriverDescription) -> DriverId {
        let number = self.drivers.submitted();
        let id = self.next_driver_id(now);
        self.effects.note(Note::DriverSubmitted { driver: id.clone(), user: description.user.clone() });
        self.add_driver(now, (number, id.clone()), description);
        self.pass = Pass::Due;
        id
    }

    /// The id of the next cluster driver: `driver-yyyyMMddHHmmss-0000`.
    fn next_driver_id(&self, now: Timestamp) -> DriverId {
        let number = self.config.first_application.saturating_add(self.drivers.submitted());
        DriverId::new(format!("driver-{}-{number:04}", now.compact()))
    }

    /// Gives waiting cluster drivers to Workers with room, in the order of their submission. A cluster driver that fits
    /// nowhere does not block the next.
    ///
    /// Source: Spark Master, 4.0.1 (`schedule`). With `spark.deploy.spreadOutDrivers`, they are spread over the Workers
    /// in turn. Otherwise each goes to the first Worker by id. Spark shuffles the Workers before each pass. Firesteel
    /// goes through the Workers by id, and continues where the last pass stopped. So cluster drivers that are submitted
    /// one by one are spread, too.
    pub(crate) fn place_drivers(&mut self, now: Timestamp) {
        // What a user has given back may be enough for a driver that fits on a Worker without any change.
        let was_tried = self.drivers.is_tried && !self.config.limits.per_user.limits_what_is_held();
        if self.drivers.waiting().is_empty() || (was_tried && self.workers.is_settled()) {
            return;
        }
        let mut rooms = self.rooms();
        let waiting: Vec<u64> = self.drivers.waiting().iter().copied().collect();
        for number in waiting {
            if self.drivers.running() >= self.config.max_drivers {
                // The remaining cluster drivers are tried again when a running one has ended.
                break;
            }
            let driver = self.drivers.live(number);
            let demand = driver.demand();
            if !rooms.of(&driver.description.user).admits(&driver.description) {
                continue;
            }
            if was_tried && !self.workers.gained_room_for(&demand) {
                continue;
            }
            let after = match self.config.driver_strategy {
                Strategy::SpreadOut => self.drivers.last_worker.as_ref(),
                Strategy::Consolidate => None,
            };
            if let Some(slot) = self.workers.first_with_room(&demand, after) {
                rooms.count_driver(&self.drivers.live(number).description);
                self.launch_driver(now, number, slot);
            }
        }
        self.drivers.is_tried = true;
    }

    /// Gives a waiting cluster driver to a Worker that has room for it.
    fn launch_driver(&mut self, now: Timestamp, number: u64, slot: Slot) {
        let DriverDescription { cores, memory, ref resources, .. } = self.drivers.live(number).description;
        let Some(grant) = self.workers.grant_at_once(slot, cores, memory, resources) else {
            let sentence = format!("a Worker has no addresses for cluster driver {number}, which fits it");
            return self.effects.violated(Violation { machine: "master", sentence });
        };
        self.run_driver(now, number, Run { slot, grant, launched: now, unanswered: Some(0) });
        let row = self.workers.row(slot);
        let (worker, link) = (row.description.id.clone(), row.link);
        let driver = self.drivers.live(number);
        let resources = driver.has().clone();
        self.effects.note(Note::DriverLaunched {
            driver: driver.id.clone(),
            worker,
            cores,
            memory,
            resources,
        });
        let order = driver.order();
        self.tell_worker(link, order);
    }

    /// Handles a Worker's report about a cluster driver's state.
    pub(crate) fn on_driver_state_changed(&mut self, now: Timestamp, peer: PeerId, report: DriverReport) {
        let Some(slot) = self.workers.slot_of_peer(peer) else {
            self.ignore(peer, Ignored::NotRegistered);
            return self.tell_worker(peer, MasterToWorker::ReconnectWorker);
        };
        match self.own_driver(slot, &report.driver) {
            Some(number) => self.update_driver(now, peer, number, (report.state, report.used)),
            None if report.state == DriverState::Running => {
                if !self.is_driver_held(&report.driver) {
                    self.ignore(peer, Ignored::UnknownDriver { driver: report.driver });
                }
            }
            None => {
                self.see_unknown_process_end(slot, &UnknownProcess::Driver(report.driver.clone()));
                self.tell_worker(peer, MasterToWorker::DriverEndNoted { driver: report.driver });
            }
        }
    }

    /// The number of a cluster driver, if it runs on the Worker in this slot.
    fn own_driver(&self, slot: Slot, id: &DriverId) -> Option<u64> {
        let number = self.drivers.number(id)?;
        self.drivers.live(number).run.as_ref().filter(|run| run.slot == slot)?;
        Some(number)
    }

    /// Compares the cluster drivers that a registering Worker lists with those that the Master has for it. A Worker
    /// lists ended cluster drivers until the Master confirms their ends. So if a cluster driver is missing on a new
    /// connection, the order to start it never reached the Worker.
    ///
    /// Source: Spark Master, 4.0.1 (`WorkerLatestState`), which ends unknown cluster drivers on the Worker. In Spark,
    /// cluster drivers that the Worker does not list stay lost.
    pub(super) fn reconcile_drivers(
        &mut self,
        now: Timestamp,
        (peer, slot): (PeerId, Slot),
        reports: Vec<DriverReport>,
        is_elsewhere: bool,
    ) {
        if is_elsewhere {
            let named: BTreeSet<&DriverId> = reports.iter().map(|report| &report.driver).collect();
            let is_unnamed = |number: &&u64| !named.contains(&self.drivers.live(**number).id);
            let unnamed: Vec<u64> =
                self.workers.row(slot).drivers.iter().filter(is_unnamed).copied().collect();
            for number in unnamed {
                self.return_driver(now, number);
            }
        }
        for report in reports {
            match self.own_driver(slot, &report.driver) {
                Some(number) => {
                    let is_live = report.state == DriverState::Running;
                    self.update_driver(now, peer, number, (report.state, report.used));
                    if is_live && self.drivers.live(number).kill_asked {
                        self.tell_worker(peer, MasterToWorker::KillDriver { driver: report.driver });
                    }
                }
                None if report.state == DriverState::Running && self.is_driver_held(&report.driver) => {
                    self.hold(slot, UnknownProcess::Driver(report.driver));
                }
                None if report.state == DriverState::Running => {
                    let worker = self.workers.row(slot).description.id.clone();
                    self.effects.note(Note::UnknownDriver { driver: report.driver.clone(), worker });
                    self.tell_worker(peer, MasterToWorker::KillDriver { driver: report.driver });
                }
                // The answer to the registration confirms the ends that the Worker listed.
                None => {}
            }
        }
    }

    /// Applies a cluster driver's state as its own Worker reports it.
    fn update_driver(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        number: u64,
        (state, used): (DriverState, Option<Used>),
    ) {
        let driver = self.drivers.live_mut(number);
        let id = driver.id.clone();
        let state = match state {
            DriverState::Running => {
                if let Some(run) = &mut driver.run {
                    run.unanswered = None;
                }
                return;
            }
            DriverState::Relaunching { .. } | DriverState::Unknown => {
                return self.ignore(peer, Ignored::OddDriverState { driver: id, state });
            }
            // Nobody asked to end this driver, so its Worker is ending.
            DriverState::Killed(None) if !driver.kill_asked => DriverState::Submitted,
            DriverState::Killed(_) if !driver.kill_asked => DriverState::Error(DriverError::WorkerStopped),
            DriverState::Failed(status) => match used.and_then(Used::loss) {
                Some(loss) => DriverState::Error(DriverError::Lost(loss)),
                None => DriverState::Failed(status),
            },
            state => state,
        };
        match state {
            DriverState::Submitted if driver.kill_asked => {
                self.end_driver(now, number, DriverState::Killed(None))
            }
            DriverState::Submitted => self.return_driver(now, number),
            DriverState::Error(DriverError::WorkerStopped) => {
                self.lose_driver(now, number, DriverError::WorkerStopped)
            }
            state => self.end_driver_that_used(now, number, state, used),
        }
        self.tell_worker(peer, MasterToWorker::DriverEndNoted { driver: id });
    }

    /// Records how often a Worker has started one of its cluster drivers again.
    pub(crate) fn on_driver_restarted(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        driver: &DriverId,
        (restarts, last, pause_millis): (u32, ExitStatus, Option<u64>),
    ) {
        let Some(slot) = self.workers.slot_of_peer(peer) else { return };
        let Some(number) = self.own_driver(slot, driver) else { return };
        let until = pause_millis.map(|millis| now + Duration::from_millis(millis));
        self.drivers.live_mut(number).restarts = Some(DriverRestarts { restarts, last, until });
    }

    /// Why a cluster driver waits. `None` if it runs.
    fn wait_of(&self, driver: &ClusterDriver) -> Option<DriverWait> {
        if driver.run.is_some() {
            return None;
        }
        if self.drivers.running() >= self.config.max_drivers {
            return Some(DriverWait::Limit { most: self.config.max_drivers as u64 });
        }
        let room = self.rooms().of(&driver.description.user);
        if !room.admits(&driver.description) {
            let limit = self.config.limits.per_user.in_the_way(&driver.demand(), room);
            return Some(DriverWait::UserLimit { limit });
        }
        let takers = || self.workers.iter().filter(|row| row.description.label.is_none() && row.stays());
        let demand = driver.demand();
        let workers = takers().filter(|row| row.whole_offer().fits(&demand)).count() as u64;
        if workers > 0 {
            return Some(DriverWait::NoRoom { workers });
        }
        let cores = takers().map(|row| row.description.cores).max();
        let memory = takers().map(|row| row.description.memory).max();
        let too_large = cores.zip(memory).map(|(cores, memory)| DriverWait::TooLarge { cores, memory });
        Some(too_large.unwrap_or(DriverWait::NoWorker))
    }

    /// Makes a cluster driver wait again, because it never reached its Worker or was given back.
    fn return_driver(&mut self, now: Timestamp, number: u64) {
        if self.drivers.live(number).kill_asked {
            return self.end_driver(now, number, DriverState::Killed(None));
        }
        let worker = self.take_back_driver(now, number);
        let driver = self.drivers.live(number).id.clone();
        self.effects.note(Note::DriverReturned { driver, worker });
        self.pass = Pass::Due;
    }

    /// Handles the loss of a cluster driver whose Worker is lost, or was stopped.
    ///
    /// Source: Spark Master, 4.0.1: a supervised cluster driver is submitted again, under another id, unless somebody
    /// asked to end it.
    fn lose_driver(&mut self, now: Timestamp, number: u64, error: DriverError) {
        let driver = self.drivers.live(number);
        let state = match (driver.kill_asked, driver.description.supervise) {
            (true, _) => DriverState::Killed(None),
            (false, true) => {
                let successor = self.next_driver_id(now);
                let description = driver.description.clone();
                self.end_driver(now, number, DriverState::Relaunching { successor });
                self.submit_driver(now, description);
                return;
            }
            (false, false) => DriverState::Error(error),
        };
        self.end_driver(now, number, state);
    }

    /// Handles the loss of all cluster drivers on a lost Worker.
    pub(super) fn lose_drivers_on(&mut self, now: Timestamp, slot: Slot, reason: &LossReason) {
        for number in self.workers.row(slot).drivers.clone() {
            self.lose_driver(now, number, DriverError::Lost(reason.clone()));
        }
    }

    fn end_driver(&mut self, now: Timestamp, number: u64, state: DriverState) {
        self.end_driver_that_used(now, number, state, None);
    }

    /// Ends a cluster driver whose Worker has reported the usage of its last process.
    fn end_driver_that_used(&mut self, now: Timestamp, number: u64, state: DriverState, used: Option<Used>) {
        let driver = self.drivers.live(number);
        let reported =
            driver.run.as_ref().and_then(|run| self.workers.row(run.slot).used_by_driver(&driver.id));
        let (used, restarts) = (used.or(reported), driver.restarts);
        let restarts = restarts.map(|restarts| DriverRestarts { until: None, ..restarts });
        self.effects.note(Note::DriverEnded { driver: driver.id.clone(), state: state.clone() });
        self.retire_driver(now, number, DriverEnd { state, restarts, used });
        self.pass = Pass::Due;
    }

    /// Handles a client's request to end a cluster driver. If the driver was relaunched, its successor is ended.
    ///
    /// Source: Spark Master, 4.0.1 (`RequestKillDriver`), which does not know successors.
    pub(crate) fn on_kill_driver(&mut self, now: Timestamp, id: &DriverId, by: &str) -> KillDriverAnswer {
        let driver = self.drivers.latest(id);
        let Some(number) = self.drivers.number(&driver) else {
            return match self.drivers.ended(&driver) {
                Some(view) => KillDriverAnswer::Over { driver, state: view.state.clone() },
                None => KillDriverAnswer::Unknown,
            };
        };
        self.effects.note(Note::DriverKillAsked { driver: driver.clone(), by: by.to_owned() });
        let row = self.drivers.live(number);
        let Some(slot) = row.run.as_ref().map(|run| run.slot) else {
            self.end_driver(now, number, DriverState::Killed(None));
            return KillDriverAnswer::Killed { driver };
        };
        self.ask_driver_to_end(now, number);
        let link = self.workers.row(slot).link;
        self.tell_worker(link, MasterToWorker::KillDriver { driver: driver.clone() });
        KillDriverAnswer::Asked { driver }
    }

    /// Handles a client's request to end all cluster drivers. Returns their number.
    ///
    /// Source: Spark Master, 4.0.1 (`RequestKillAllDrivers`).
    pub(crate) fn on_kill_all_drivers(&mut self, now: Timestamp, by: &str) -> u64 {
        let all: Vec<DriverId> = self.drivers.iter().map(|driver| driver.id.clone()).collect();
        for driver in &all {
            self.on_kill_driver(now, driver, by);
        }
        all.len() as u64
    }

    pub(crate) fn on_driver_status(&self, id: &DriverId) -> Option<Box<DriverView>> {
        let live = self.drivers.number(id).map(|number| self.view_of_driver(self.drivers.live(number)));
        live.or_else(|| self.drivers.ended(id).cloned()).map(Box::new)
    }

    pub(crate) fn view_of_driver(&self, driver: &ClusterDriver) -> DriverView {
        driver.view(driver.run.as_ref().map(|run| self.workers.row(run.slot)), self.wait_of(driver))
    }

    /// Repeats the orders to start cluster drivers to which a Worker's heartbeats gave no answer. If the first order
    /// did arrive, the repeated one has no effect.
    pub(super) fn repeat_driver_orders(&mut self, (slot, worker): (Slot, &WorkerId), arrived: Timestamp) {
        let row = self.workers.row(slot);
        let link = row.link;
        for number in row.drivers.clone() {
            let driver = self.drivers.live_mut(number);
            let Some(run) = &mut driver.run else { continue };
            let Some(unanswered) = run.unanswered.as_mut().filter(|_| run.launched < arrived) else {
                continue;
            };
            *unanswered += 1;
            if *unanswered < REPEATED_AFTER {
                continue;
            }
            *unanswered = 0;
            let (order, kill_asked, id) = (driver.order(), driver.kill_asked, driver.id.clone());
            self.effects.note(Note::DriverOrderRepeated { driver: id.clone(), worker: worker.clone() });
            self.tell_worker(link, order);
            if kill_asked {
                self.tell_worker(link, MasterToWorker::KillDriver { driver: id });
            }
        }
    }
}
