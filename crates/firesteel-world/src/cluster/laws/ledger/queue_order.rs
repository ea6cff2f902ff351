//! The order in which applications are served: by queues, priorities, gangs and reservations.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use firesteel_master::ReservationView;
use firesteel_placement::advanced::dominant_share::DominantShare;
use firesteel_placement::advanced::resources::without_kind;
use firesteel_placement::explain::shortfall::Amounts;
use firesteel_placement::{Cores, ExecutorLimit, MiB, Quantity};
use firesteel_protocol::ids::{AppId, ExecutorKey, WorkerId};
use firesteel_protocol::messages::ExecutorLaunch;
use firesteel_protocol::scheduling::queues::Queues;
use firesteel_protocol::scheduling::{Backfill, GangPreemption, Preemption, ServingOrder};

use super::Ledger;
use super::books::{AppBook, Availability, DriverHold, WorkerBook};

/// The serving order of the Master, and its reservations before and after an event.
#[derive(Debug)]
pub(crate) struct Order<'a> {
    pub(crate) queues: &'a Queues,
    pub(crate) backfill: Backfill,
    pub(crate) serving: ServingOrder,
    pub(crate) preemption: Preemption,
    pub(crate) gang_preemption: Option<GangPreemption>,
    /// The memory that the Master has for what live applications and cluster drivers describe, in bytes.
    pub(crate) budget: u64,
    /// The cores that each user may have.
    pub(crate) user_cores: Option<Cores>,
    /// The time in milliseconds.
    pub(crate) now: u64,
    pub(crate) before: Vec<ReservationView>,
    pub(crate) after: Vec<ReservationView>,
}

/// An executor that was ended for another application in this event, and its Worker.
#[derive(Debug)]
pub(super) struct Preempted {
    pub(super) executor: ExecutorKey,
    pub(super) worker: WorkerId,
    pub(super) by: AppId,
}

/// An executor that was launched in this event, and its Worker.
pub(super) type Launched = (WorkerId, ExecutorLaunch);

impl AppBook {
    fn queue_rank(&self) -> (Reverse<i32>, u64, u64) {
        (Reverse(self.priority), self.due, self.order)
    }
}

impl WorkerBook {
    fn held(&self) -> Amounts {
        let mut held = Amounts::default();
        self.grants.values().for_each(|launch| held.add(&amounts(launch)));
        for DriverHold { cores, memory, resources, described: _ } in self.drivers.values() {
            let resources = resources.quantities();
            held.add(&Amounts { cores: *cores, memory: *memory, resources });
        }
        held
    }
}

impl Ledger {
    /// Checks the launches of one event against the serving order.
    pub(super) fn check_turns(
        &mut self,
        launched: &[Launched],
        preempted: &[Preempted],
        order: &Order<'_>,
    ) -> Result<(), String> {
        self.check_gangs(launched)?;
        for one in preempted {
            self.check_preempted(one, launched, order)?;
        }
        // After an executor was ended, all applications are served again from the first.
        if preempted.is_empty() {
            self.check_reserved(launched, order)?;
            self.check_queue_order(launched)?;
            self.check_shares(launched, order)?;
        }
        for (_, launch) in launched {
            if let Some(app) = self.apps.get_mut(&launch.executor.app) {
                app.begun = true;
            }
        }
        Ok(())
    }

    /// Checks that an application with a gang first gets that number of executors, or all that it requests. Some of
    /// them may be preempted in the same pass.
    fn check_gangs(&self, launched: &[Launched]) -> Result<(), String> {
        let mut begun = BTreeSet::new();
        for (_, launch) in launched {
            let id = &launch.executor.app;
            let Some(app) = self.apps.get(id).filter(|app| !app.begun && app.gang > 1) else { continue };
            if !begun.insert(id) {
                continue;
            }
            let kept = launched.iter().filter(|(_, other)| other.executor.app == *id).count();
            let lost = self.taken.iter().filter(|(_, app)| app == id).count();
            let count = (kept + lost) as u64;
            let needed = self.gang(app, launch);
            if count < needed {
                return Err(format!("{id} begins with {count} executors, and asked for {needed} at once"));
            }
        }
        Ok(())
    }

    /// Checks preemption. An executor may be ended for an application of higher priority in its queue, or for a gang of
    /// the same priority that has waited long. For such a gang, the executor's application must be later in the order
    /// and must not be a gang. The executor must also have been launched after the gang began to wait, or shortly
    /// before. The other application gets an executor as a replacement, unless a third application takes the resources.
    /// The number of executors ended for one application is limited.
    fn check_preempted(
        &mut self,
        preempted: &Preempted,
        launched: &[Launched],
        order: &Order<'_>,
    ) -> Result<(), String> {
        let Preempted { executor, worker, by } = preempted;
        let (Some(theirs), Some(own)) = (self.apps.get(&executor.app), self.apps.get(by)) else {
            return Err(format!("executor {executor} is preempted by {by}, and not both are live"));
        };
        let began = theirs.launched.get(&executor.executor);
        let may_be_late = |gang: GangPreemption| {
            u128::from(order.now - own.since) >= gang.patience.as_millis()
                && began.is_some_and(|at| u128::from(*at) + gang.reach.as_millis() >= u128::from(own.since))
        };
        let is_late = own.gang > 1 && !own.begun && order.gang_preemption.is_some_and(may_be_late);
        let is_lower = theirs.priority < own.priority
            || is_late
                && theirs.priority == own.priority
                && own.queue_rank() < theirs.queue_rank()
                && theirs.gang <= 1;
        if theirs.queue != own.queue || !is_lower {
            return Err(format!("executor {executor} is preempted by {by}, which does not come before it"));
        }
        let is_given = launched.iter().any(|(on, launch)| on == worker && launch.executor.app == *by);
        let is_taken = self.taken.contains(&(worker.clone(), by.clone()));
        if !is_given && !is_taken {
            return Err(format!(
                "executor {executor} is preempted by {by}, which is given nothing in its place"
            ));
        }
        let Preemption::AtMost { executors, every } = order.preemption else {
            return Err(format!("executor {executor} is preempted, which no setting allows"));
        };
        let times = self.preempted.entry(by.clone()).or_default();
        times.retain(|time| u128::from(order.now - *time) < every.as_millis());
        times.push(order.now);
        match times.len() > executors as usize {
            true => Err(format!(
                "{by} preempts {} executors within {every:?}, the most are {executors}",
                times.len()
            )),
            false => Ok(()),
        }
    }

    /// The size of the application's gang, in executors like this one. It is at most what the application's limits
    /// allow.
    fn gang(&self, app: &AppBook, launch: &ExecutorLaunch) -> u64 {
        let limit = match app.limits.get(&launch.profile) {
            Some(ExecutorLimit::AtMost(limit)) => *limit,
            Some(ExecutorLimit::Unlimited) | None => u64::MAX,
        };
        let affordable = u64::try_from(app.max_cores.0 / launch.cores.0.max(1)).unwrap_or(0);
        app.gang.min(limit).min(affordable)
    }

    /// Checks that no application behind a reservation took reserved resources. Only reservations that existed before
    /// and after the event count.
    fn check_reserved(&self, launched: &[Launched], order: &Order<'_>) -> Result<(), String> {
        let stays = |after: &&ReservationView| order.before.iter().any(|before| before.app == after.app);
        for (number, reservation) in order.after.iter().enumerate().filter(|(_, after)| stays(after)) {
            let holder = &reservation.app;
            for (worker, launch) in launched {
                let id = &launch.executor.app;
                let Some(app) = self.apps.get(id).filter(|app| self.is_behind(app, reservation, number == 0))
                else {
                    continue;
                };
                if order.backfill == Backfill::Off {
                    return Err(format!("{id} is served behind {holder}, which waits, without backfill"));
                }
                if self.ends_in_time(id, app, launched, reservation, order.now) {
                    continue;
                }
                let kept = reservation.on.iter().find(|(on, ..)| on == worker);
                let book = self.workers.get(worker);
                if let Some(((_, _, kept), book)) = kept.zip(book)
                    && !book.leaves(kept, launch, &self.lent(worker, launched, reservation, order.now))
                {
                    let executor = &launch.executor;
                    return Err(format!(
                        "executor {executor} takes room on {worker} that is kept for {holder}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether an application is served behind a gang with a reservation. Only earlier applications of the same queue
    /// come before the first reservation. Before later reservations, applications of other queues may also come.
    fn is_behind(&self, app: &AppBook, reservation: &ReservationView, is_first: bool) -> bool {
        self.apps.get(&reservation.app).is_some_and(|holder| match holder.queue == app.queue {
            true => app.queue_rank() > holder.queue_rank(),
            false => is_first,
        })
    }

    /// Whether an application announces that it will end before a gang with a reservation can start. An application
    /// that had executors before is always believed, because the ledger does not know when it began to run.
    fn ends_in_time(
        &self,
        id: &AppId,
        app: &AppBook,
        launched: &[Launched],
        reservation: &ReservationView,
        now: u64,
    ) -> bool {
        let Some((start, told)) = reservation.at.zip(app.run_time) else { return false };
        let new = launched.iter().filter(|(_, launch)| launch.executor.app == *id).count();
        let began_before = app.executors.len() > new;
        began_before || u128::from(now) + told.as_millis() <= u128::from(start.millis())
    }

    /// The reserved resources on a Worker that this event lent to applications that end in time.
    fn lent(
        &self,
        worker: &WorkerId,
        launched: &[Launched],
        reservation: &ReservationView,
        now: u64,
    ) -> Amounts {
        let mut lent = Amounts::default();
        for (_, launch) in launched.iter().filter(|(on, _)| on == worker) {
            let id = &launch.executor.app;
            if self.apps.get(id).is_some_and(|app| self.ends_in_time(id, app, launched, reservation, now)) {
                lent.add(&amounts(launch));
            }
        }
        lent
    }

    /// Checks that within one event the applications of a queue are served in their order.
    fn check_queue_order(&self, launched: &[Launched]) -> Result<(), String> {
        let mut latest: BTreeMap<usize, (&AppId, &AppBook)> = BTreeMap::new();
        for (_, launch) in launched {
            let id = &launch.executor.app;
            let Some(app) = self.apps.get(id) else { continue };
            if let Some((other, earlier)) = latest.insert(app.queue, (id, app))
                && earlier.queue_rank() > app.queue_rank()
            {
                return Err(format!("{other} is served before {id}, which comes first in their queue"));
            }
        }
        Ok(())
    }

    /// Checks the shares of queues. One queue gets resources in an event. A second queue, which gets resources later in
    /// the event, could have used them. Then the first queue must not use more of its share than the second.
    fn check_shares(&self, launched: &[Launched], order: &Order<'_>) -> Result<(), String> {
        let weights: Vec<u32> = order.queues.iter().map(|queue| queue.weight).collect();
        if weights.len() < 2 || launched.is_empty() {
            return Ok(());
        }
        let mut whole = Amounts::default();
        for book in self.workers.values() {
            let cores = match book.availability {
                Availability::Serving => book.total.cores,
                Availability::Decommissioning => Cores::ZERO,
            };
            let memory = book.total.memory;
            whole.add(&Amounts { cores, memory, resources: book.total.resources.quantities() });
        }
        let mut held = vec![Amounts::default(); weights.len()];
        for launch in self.workers.values().flat_map(|book| book.grants.values()) {
            let queue = self.apps.get(&launch.executor.app).map_or(0, |app| app.queue);
            held[queue].add(&amounts(launch));
        }
        let queue = |launch: &ExecutorLaunch| self.apps.get(&launch.executor.app).map_or(0, |app| app.queue);
        launched.iter().for_each(|(_, launch)| held[queue(launch)].take_off(&amounts(launch)));
        for (at, (_, launch)) in launched.iter().enumerate() {
            let mine = queue(launch);
            if self.is_new_turn(&launched[..at], launch) && !self.is_before_all(launch, order) {
                let share = |queue: usize| DominantShare::of(&held[queue], &whole);
                let ahead = |other: &usize| {
                    let (mine, theirs) = ((share(mine), weights[mine]), (share(*other), weights[*other]));
                    mine.0.cmp_weighted(mine.1, theirs.0, theirs.1) == Ordering::Greater
                };
                let later = launched[at..].iter().map(|(_, later)| queue(later));
                if let Some(other) = later.filter(|other| *other != mine).find(ahead) {
                    let name = |queue: usize| order.queues.get(queue).map_or("", |queue| queue.name.as_str());
                    return Err(format!(
                        "queue {} is given executor {} while queue {} holds less of what it is owed",
                        name(mine),
                        launch.executor,
                        name(other)
                    ));
                }
            }
            held[mine].add(&amounts(launch));
        }
        Ok(())
    }

    /// Whether a launch begins a new grant, rather than continuing a gang or executors without a fixed size.
    fn is_new_turn(&self, before: &[Launched], launch: &ExecutorLaunch) -> bool {
        let id = &launch.executor.app;
        let run = before.iter().rev().take_while(|(_, other)| other.executor.app == *id).count() as u64;
        let Some(app) = self.apps.get(id) else { return false };
        let gang = if app.begun { 0 } else { self.gang(app, launch) };
        run == 0 || (app.is_fixed && run >= gang)
    }

    /// Whether a launch is for the application with the first reservation, or for an earlier application in that queue.
    fn is_before_all(&self, launch: &ExecutorLaunch, order: &Order<'_>) -> bool {
        let holder = order.before.first().and_then(|kept| self.apps.get(&kept.app));
        let app = self.apps.get(&launch.executor.app);
        holder.zip(app).is_some_and(|(holder, app)| {
            !holder.begun && holder.queue == app.queue && app.queue_rank() <= holder.queue_rank()
        })
    }
}

impl WorkerBook {
    /// Whether a Worker still has the reserved amounts free after a launch, apart from the lent amounts. Only the kinds
    /// of amounts that the executor uses count.
    fn leaves(&self, kept: &Amounts, launch: &ExecutorLaunch, lent: &Amounts) -> bool {
        let mut held = self.held();
        held.take_off(lent);
        let cores = launch.cores <= Cores::ZERO || held.cores + kept.cores <= self.total.cores;
        let memory = launch.memory <= MiB::ZERO || held.memory + kept.memory <= self.total.memory;
        let mut names = launch.resources.iter().filter(|(name, _)| launch.resources.count(name) > 0);
        let of_name = |amounts: &Amounts, name: &str| -> Quantity {
            let kinds =
                amounts.resources.iter().filter(|(other, _)| without_kind(other) == without_kind(name));
            kinds.map(|(_, quantity)| *quantity).sum()
        };
        let resources = names.all(|(name, _)| {
            of_name(&held, name) + of_name(kept, name) <= self.total.resources.quantity(without_kind(name))
        });
        cores && memory && resources
    }
}

fn amounts(launch: &ExecutorLaunch) -> Amounts {
    Amounts { cores: launch.cores, memory: launch.memory, resources: launch.resources.quantities() }
}
