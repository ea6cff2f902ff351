//! The Master's invariants.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::{Cores, MiB, Quantity, Resources};
use firesteel_protocol::ids::{ExecutorId, ExecutorKey, ProfileId, WorkerId};
use firesteel_protocol::machine::{Violation, ensure};

use super::scheduler::queues::{Reservation, Reserved};
use super::tables::applications::application::Application;
use super::tables::executors::executor::Probation;
use super::tables::workers::row::WorkerRow;
use super::{Master, Pass};

impl Master {
    /// Checks the tables against each other:
    ///
    /// - every executor of an application is on a living Worker that lists it, and the other way round;
    /// - a Worker's free amounts, and the amounts of its executors and cluster drivers, add up to its total;
    /// - the amounts of an application's executors add up to what it was granted;
    /// - the failure histories of applications name living Workers only;
    /// - after a scheduling pass, no waiting demand fits on a Worker that its application may use, unless the free
    ///   resources are reserved (see `scheduler::queues`);
    /// - all indexes agree with the rows, and so does the index over the Workers.
    pub(crate) fn check_tables(&self) -> Result<(), Violation> {
        ensure!("master", self.pass == Pass::NotDue, "a scheduling pass is due after the event");
        self.check_tables_before_the_pass()
    }

    /// The same checks for a Master whose next scheduling pass is still to come.
    pub(crate) fn check_tables_before_the_pass(&self) -> Result<(), Violation> {
        self.effects.check("master")?;
        let workers = self.workers.check();
        ensure!("master", workers.is_ok(), "{}", workers.err().unwrap_or_default());
        ensure!(
            "master",
            self.applications.is_consistent(),
            "the indexes of the applications disagree with their rows"
        );
        self.ended_app_executors.check()?;
        self.check_backlog()?;
        let mut held: BTreeMap<Slot, Held> = BTreeMap::new();
        for application in self.applications.queue() {
            self.check_application(application)?;
            for executor in application.executors.values() {
                held.entry(executor.slot).or_default().add(&executor.grant.amounts());
            }
        }
        self.check_drivers()?;
        for driver in self.drivers.iter() {
            if let Some(run) = &driver.run {
                let held = held.entry(run.slot).or_default();
                held.add(&run.grant.amounts());
                held.executors -= 1;
                held.drivers += 1;
            }
        }
        let nothing = Held::default();
        for (slot, row) in self.workers.slots() {
            check_worker(&row.description.id, row, held.get(&slot).unwrap_or(&nothing))?;
        }
        Ok(())
    }

    /// Checks that every running cluster driver is on a living Worker that lists it. After a pass, also checks that no
    /// waiting cluster driver fits on a Worker, unless the maximum number runs.
    fn check_drivers(&self) -> Result<(), Violation> {
        ensure!("master", self.drivers.is_consistent(), "the tables of cluster drivers disagree");
        for driver in self.drivers.iter() {
            let listed = driver.run.as_ref().is_none_or(|run| {
                self.workers.is_alive(run.slot) && self.workers.row(run.slot).drivers.contains(&driver.number)
            });
            ensure!("master", listed, "the Worker of {} does not list it, or is not alive", driver.id);
        }
        let is_over = self.drivers.running() >= self.config.max_drivers;
        if !self.drivers.is_tried || !self.workers.is_settled() || is_over {
            return Ok(());
        }
        let users = self.rooms();
        for number in self.drivers.waiting() {
            let driver = self.drivers.live(*number);
            let mut rows = self.workers.iter().filter(|row| row.description.label.is_none());
            let room = rows.find(|row| row.offer().fits(&driver.demand()));
            let room = room.filter(|_| users.of(&driver.description.user).admits(&driver.description));
            let worker = room.map(|row| &row.description.id);
            ensure!("master", worker.is_none(), "{} waits, although {worker:?} has room", driver.id);
        }
        Ok(())
    }

    /// Checks that no waiting demand can be placed after a pass. It looks at every Worker itself, not at the index.
    fn check_backlog(&self) -> Result<(), Violation> {
        if !self.applications.is_settled() || !self.workers.is_settled() {
            return Ok(());
        }
        if self.queue_scheduling.active {
            return self.check_queue_scheduling();
        }
        for application in self.applications.queue().filter(|application| application.may_be_served()) {
            for (number, profile) in &application.profiles {
                let demand = application.demand(profile);
                let room =
                    self.offers(application).find(|offer| demand.allows_one_more() && offer.fits(&demand));
                let (id, worker) = (&application.id, room.map(|offer| offer.worker));
                ensure!(
                    "master",
                    worker.is_none(),
                    "profile {number} of {id} waits, and {worker:?} has room"
                );
            }
        }
        Ok(())
    }

    /// Checks the result of a scheduling pass by queues: no waiting demand fits into the free resources that are not
    /// reserved. A gang fits only if all of its executors fit.
    fn check_queue_scheduling(&self) -> Result<(), Violation> {
        for application in self.applications.queue().filter(|application| application.may_be_served()) {
            for (number, demand) in application.asks() {
                let (room, needed) = (self.open_room(application, &demand), application.gang(&demand));
                ensure!(
                    "master",
                    room < needed.unwrap_or(1),
                    "profile {number} of {} waits for {needed:?} at once, and there is room for {room}",
                    application.id
                );
            }
        }
        self.check_reservations()
    }

    /// Checks that each reservation is for a waiting gang, on Workers that are large enough for it.
    fn check_reservations(&self) -> Result<(), Violation> {
        let reservations = &self.queue_scheduling.reservations;
        let most = self.config.reservations;
        ensure!("master", reservations.len() <= most, "there are {} reservations", reservations.len());
        let are_timed = reservations.len() <= 1 || reservations.iter().all(|it| it.at.is_some());
        ensure!("master", are_timed, "of several reservations, one has no time");
        reservations.iter().try_for_each(|reservation| self.check_reservation(reservation))
    }

    fn check_reservation(&self, reservation: &Reservation) -> Result<(), Violation> {
        let id = &reservation.app;
        let application = self.applications.get(id);
        let profile = application.and_then(|application| application.profiles.get(&reservation.profile));
        let demand = application.zip(profile).map(|(application, profile)| application.demand(profile));
        let gang =
            application.zip(demand.as_ref()).and_then(|(application, demand)| application.gang(demand));
        let reserved: u64 = reservation.reserved.values().map(|reserved| reserved.executors).sum();
        ensure!(
            "master",
            gang == Some(reserved),
            "room for {reserved} is kept for {id}, which waits for {gang:?}"
        );
        for (slot, Reserved { executors, .. }) in &reservation.reserved {
            let whole =
                self.workers.slots().find(|(alive, _)| alive == slot).map(|(_, row)| row.whole_offer());
            let large = demand.as_ref().zip(whole).map(|(demand, whole)| whole.executors_that_fit(demand));
            ensure!(
                "master",
                large.is_some_and(|large| large >= *executors),
                "room for {executors} is kept for {id} on a Worker that has room for {large:?}"
            );
        }
        Ok(())
    }

    fn check_application(&self, application: &Application) -> Result<(), Violation> {
        let Application { id, cores_granted, .. } = application;
        let mut granted = Cores::ZERO;
        let probations: BTreeSet<ExecutorId> = application.failures.probation.iter().copied().collect();
        let mut proven = 0;
        for (number, executor) in application.executors.iter() {
            let key = ExecutorKey { app: id.clone(), executor: number };
            let slot = executor.slot;
            let listed = self.workers.is_alive(slot) && self.workers.row(slot).executors.contains(&key);
            ensure!("master", listed, "the Worker of {key} does not list it, or is not alive");
            ensure!(
                "master",
                number.0 < application.next_executor,
                "the number of {key} will be given again"
            );
            let profile = executor.profile;
            let known = application.profiles.contains_key(&profile);
            ensure!("master", known, "{key} has profile {profile}, which its application does not have");
            granted += executor.grant.cores();
            match executor.probation {
                Probation::Launching => {}
                Probation::Running { .. } => {
                    ensure!("master", probations.contains(&number), "the probation of {key} will never end");
                }
                Probation::Proven { .. } => proven += 1,
            }
        }
        ensure!(
            "master",
            granted == *cores_granted,
            "{id} was granted {cores_granted} but holds {granted} cores"
        );
        ensure!("master", proven == application.failures.proven, "{id} has {proven} proven executors");
        let queue = &application.failures.probation;
        ensure!("master", probations.len() == queue.len(), "an executor of {id} is on probation twice");
        let live = queue.iter().filter_map(|number| application.executors.get(*number));
        let on_probation: Vec<_> = live.clone().filter(|executor| executor.probation.is_running()).collect();
        ensure!(
            "master",
            on_probation.len() == live.count(),
            "the probation list of {id} contains an executor that has not started or has passed probation"
        );
        let starts = on_probation.iter().map(|executor| executor.probation.started());
        ensure!("master", starts.is_sorted(), "the probations of {id} are not in the order of their starts");
        for worker in application.exclusions.remembered() {
            ensure!("master", self.workers.is_alive(worker), "{id} remembers a Worker that is lost");
        }
        for (number, profile) in &application.profiles {
            let holds = application.executors.values().filter(|executor| executor.profile == *number).count();
            ensure!(
                "master",
                profile.held == holds as u64,
                "profile {number} of {id} holds {holds} executors"
            );
            let is_needed = *number == ProfileId::DEFAULT || profile.is_wanted() || holds > 0;
            ensure!(
                "master",
                is_needed,
                "profile {number} of {id} is not wanted, holds nothing, and is kept"
            );
        }
        Ok(())
    }
}

/// The amounts that the executors and cluster drivers on a Worker hold together.
#[derive(Default)]
struct Held {
    executors: usize,
    drivers: usize,
    cores: Cores,
    memory: MiB,
    resources: Resources,
    /// The sum over all executors, even if two of them hold the same fraction of an address.
    quantity: Quantity,
}

impl Held {
    fn add(&mut self, share: &super::tables::capacity::Holding) {
        self.executors += 1;
        self.cores += share.cores;
        self.memory += share.memory;
        self.resources.add(&share.resources);
        self.quantity += quantity(&share.resources);
    }
}

fn check_worker(id: &WorkerId, row: &WorkerRow, held: &Held) -> Result<(), Violation> {
    let unknown_processes = row.unknown_processes.as_ref();
    let are_any = unknown_processes.is_none_or(|some| !some.executors.is_empty() || !some.drivers.is_empty());
    ensure!("master", are_any, "{id} is waiting because of executors of another state, but there are none");
    let (total, free) = (row.capacity().total(), row.capacity().free());
    let listed = row.executors.len();
    ensure!(
        "master",
        listed == held.executors,
        "{id} lists {listed} executors, {} are on it",
        held.executors
    );
    let listed = row.drivers.len();
    ensure!(
        "master",
        listed == held.drivers,
        "{id} lists {listed} cluster drivers, {} are on it",
        held.drivers
    );
    ensure!(
        "master",
        free.cores + held.cores == total.cores,
        "{id} has {} cores: {} free and {} held",
        total.cores,
        free.cores,
        held.cores
    );
    ensure!(
        "master",
        free.memory + held.memory == total.memory,
        "{id} has {}: {} free and {} held",
        total.memory,
        free.memory,
        held.memory
    );
    let over = held.executors + held.drivers > 0 && (free.cores < Cores::ZERO || free.memory < MiB::ZERO);
    ensure!(
        "master",
        !over,
        "{id} is given out beyond what it has: {} cores and {} free",
        free.cores,
        free.memory
    );
    let mut both = held.resources.clone();
    both.add(&free.resources);
    let whole = total.resources.without(&both).is_empty()
        && both.without(&total.resources).is_empty()
        && held.quantity + quantity(&free.resources) == quantity(&total.resources);
    ensure!("master", whole, "the addresses of {id}, part by part, are not each either free or held once");
    Ok(())
}

fn quantity(resources: &Resources) -> Quantity {
    resources.parts().map(|(.., part)| part).sum()
}
