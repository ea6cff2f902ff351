//! The scheduling pass if there are queues, priorities or gangs.
//!
//! Without these, a pass works as in Spark, and considers only demands that may fit since the last pass (see
//! `scheduler::pass`). With queues, priorities or gangs, the pass considers every waiting application:
//!
//! - **Queues.** Among queues with waiting applications, the next one is that with the smallest dominant share of the
//!   cluster, divided by its weight. While several queues wait, each grant is one executor, or one gang. (An
//!   application without a fixed executor size gets all that fits.) So no queue gets more than one grant ahead of
//!   another that could use the free resources. If only one queue waits, it may get everything.
//! - **Priorities.** Within a queue, higher priorities come first, and then earlier registrations. An application that
//!   cannot use the free resources does not block the next one.
//! - **Gangs.** If an application's gang has not started, it gets this number of executors at once, or none. With
//!   several resource profiles, the gang consists of executors of the first profile that asks for any, and at most of
//!   as many as it asks for. The first gang that does not fit now, but would fit on empty Workers, gets a
//!   *reservation*. All resources that are free on these Workers, or become free there, are withheld from later
//!   applications until the gang starts. Until then, only applications before the gang in its own queue are served
//!   earlier. A gang that can never fit gets no reservation.
//! - **Reservations with a time.** If enough running applications have estimated run times, the reservation has a time:
//!   the first time at which the gang fits if all of them end as estimated. Then the pass withholds only resources that
//!   would not become free by themselves until this time. Applications that expect to end before this time may use even
//!   these. If an application runs longer than its estimate, the estimate is doubled, again and again. So the time of
//!   the reservation moves. After a reservation with a time, further gangs may have reservations
//!   (`firesteel.master.reservations`), in the order in which they are served. A later reservation does not take what
//!   an earlier one needs.
//! - **Backfill.** Applications after a reservation may use resources that are not reserved. Without backfill, they get
//!   nothing.
//! - **Order.** With `firesteel.master.order=shortest`, applications of the same priority are served in another order
//!   (see `turn`).
//!
//! The cost of a pass is one placement for each waiting application. A pass that makes a reservation also looks at
//! every Worker.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::advanced::forecast::{Booking, Ending, Forecast, Planned, beside, forecast};
use firesteel_placement::advanced::index::Slot;
use firesteel_placement::advanced::reservation::{WorkerCapacity, reserve};
use firesteel_placement::explain::shortfall::Amounts;
use firesteel_placement::{Demand, ExecutorLimit, ExecutorSize, Offer};
use firesteel_protocol::ids::{AppId, ProfileId, WorkerId};
use firesteel_protocol::messages::{Blocker, MOST_KEPT, ReservedRoom};
use firesteel_protocol::scheduling::{Backfill, ServingOrder};
use firesteel_protocol::time::Timestamp;

use crate::scheduler::choice::choose;
use crate::scheduler::lifetimes::RunningTimes;
use crate::scheduler::waiting_queues::{GrantSize, QueueRank};
use crate::tables::applications::application::Application;
use crate::tables::workers::row::WorkerRow;
use crate::tables::workers::table::WorkerTable;
use crate::{Master, Note};

/// What scheduling by queues remembers from one pass to the next.
#[derive(Debug, Default)]
pub(crate) struct QueueScheduling {
    /// Whether the last pass was a pass by queues.
    pub(crate) active: bool,
    /// The reservations that the last pass made, in the order of serving. If there are several, all of them have a
    /// time.
    pub(crate) reservations: Vec<Reservation>,
    /// The gangs that can never fit, and for which this was logged.
    never_fit: BTreeSet<AppId>,
    /// When the next waiting gang of the last pass becomes impatient.
    pub(super) next_gang_timeout: Option<Timestamp>,
    /// The number of impatient gangs in this pass for which no executors could be ended.
    pub(super) gangs_in_vain: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(crate) app: AppId,
    pub(crate) profile: ProfileId,
    pub(crate) demand: Demand,
    /// When the gang is expected to fit. Known if enough running applications have estimated run times.
    pub(crate) at: Option<Timestamp>,
    /// When the gang is expected to end, if it has an estimated run time.
    pub(crate) until: Option<Timestamp>,
    pub(crate) reserved: BTreeMap<Slot, Reserved>,
}

/// The resources that are reserved on one Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reserved {
    /// The number of the gang's executors that will run on the Worker.
    pub(crate) executors: u64,
    /// The amounts that are kept free for these executors.
    pub(crate) amounts: Amounts,
    /// The number of these executors for which addresses are kept free. The other executors get addresses that should
    /// become free in time.
    with_addresses: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum Served {
    /// The application got executors that take these amounts together.
    With(Amounts),
    /// The application's executors do not fit, or it asks for none.
    Nothing,
    /// This number of executors of the profile does not fit at once.
    GangWaits { profile: ProfileId, demand: Demand, executors: u64 },
}

/// A copy of a reservation, for views and checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationView {
    pub app: AppId,
    /// When the application is expected to start. Other applications may use the reserved resources until then.
    pub at: Option<Timestamp>,
    /// The reserved resources by Worker, in the order of ids: the number of executors, and their amounts together.
    pub on: Vec<(WorkerId, u64, Amounts)>,
}

impl Master {
    /// Whether the next pass goes by queues. If the last pass by queues had made reservations, every application is
    /// considered once more.
    pub(super) fn schedules_by_queue(&mut self) -> bool {
        let ordered = !self.config.queues.is_empty()
            || self.config.order != ServingOrder::Registration
            || self.applications.has_special();
        if !ordered && std::mem::take(&mut self.queue_scheduling.active) {
            // If there was no reservation, no waiting application fits.
            if !std::mem::take(&mut self.queue_scheduling).reservations.is_empty() {
                self.applications.touch_all();
            }
        }
        self.queue_scheduling.active = ordered;
        ordered
    }

    /// The reservations that the last pass made, in the order of serving.
    #[must_use]
    pub fn reservations(&self) -> Vec<ReservationView> {
        let view = |Reservation { app, at, reserved, .. }: &Reservation| {
            let on = reserved.iter().map(|(slot, Reserved { executors, amounts, .. })| {
                (self.workers.row(*slot).description.id.clone(), *executors, amounts.clone())
            });
            let mut on: Vec<_> = on.collect();
            on.sort_by(|(one, ..), (other, ..)| one.cmp(other));
            ReservationView { app: app.clone(), at: *at, on }
        };
        self.queue_scheduling.reservations.iter().map(view).collect()
    }

    /// Restores the application of the first reservation from a snapshot. Nothing else of a reservation lasts longer
    /// than a pass.
    pub(crate) fn restore_reservation(&mut self, app: AppId) {
        let waits = |application: &&Application| application.gang_waits();
        let Some(application) = self.applications.get(&app).filter(waits) else { return };
        let profile = ProfileId::DEFAULT;
        let demand = application.demand(application.profile(profile));
        let reservation =
            Reservation { app, profile, demand, at: None, until: None, reserved: BTreeMap::new() };
        self.queue_scheduling.reservations.push(reservation);
    }

    /// The reservations, as clients see them.
    pub(crate) fn reserved_rooms(&self) -> Vec<ReservedRoom> {
        let room = |Reservation { app, at, reserved, .. }: &Reservation| {
            let executors = reserved.values().map(|reserved| reserved.executors).sum();
            ReservedRoom { app: app.clone(), at: *at, executors, workers: reserved.len() as u64 }
        };
        self.queue_scheduling.reservations.iter().map(room).collect()
    }

    /// Serves all waiting applications in order. Returns whether executors were ended for them.
    pub(super) fn serve_queues(&mut self, now: Timestamp) -> bool {
        let mut ended = false;
        let mut before = self.queue_scheduling.take_holders();
        self.queue_scheduling.next_gang_timeout = None;
        self.queue_scheduling.gangs_in_vain = 0;
        let mut waiting = self.waiting_queues(before.first());
        while let Some(next) = waiting.next() {
            let (app, size) = (&next.app, waiting.grant_size());
            match self.serve_around(now, app, size) {
                Served::With(amounts) => {
                    waiting.gave(&next, &amounts);
                    continue;
                }
                served => {
                    let preempted = self.preempt_for(now, app);
                    if !preempted.is_empty() {
                        ended = true;
                        // The freed resources may also help other applications, and the preempted applications may want
                        // executors again.
                        self.serve(now, app, size);
                        self.workers.release_withheld();
                        let holders = self.queue_scheduling.take_holders();
                        before = if holders.is_empty() { before } else { holders };
                        let first = before.first().filter(|first| *first != app);
                        waiting = self.wait_again(waiting, first, &next, &preempted);
                        continue;
                    }
                    if let Served::GangWaits { profile, demand, executors } = served {
                        let next = self.gang_timeout(self.applications.live(app)).filter(|at| *at > now);
                        let earlier = self.queue_scheduling.next_gang_timeout;
                        self.queue_scheduling.next_gang_timeout = [earlier, next].into_iter().flatten().min();
                        self.reserve_for(now, &before, app, profile, demand, executors);
                    }
                }
            }
            waiting.pass(next);
            if self.config.backfill == Backfill::Off && !self.queue_scheduling.reservations.is_empty() {
                break;
            }
        }
        self.workers.release_withheld();
        let applications = &self.applications;
        let waits = |app: &AppId| applications.get(app).is_some_and(Application::gang_waits);
        self.queue_scheduling.never_fit.retain(waits);
        ended
    }

    /// Serves an application. If its estimated end is before the start of a gang, it may use the resources that are
    /// reserved for the gang.
    fn serve_around(&mut self, now: Timestamp, app: &AppId, size: GrantSize) -> Served {
        let end = self.applications.live(app).told_end(now);
        let reservations = &self.queue_scheduling.reservations;
        if !reservations.iter().any(|reservation| reservation.begins_after(end)) {
            return self.serve(now, app, size);
        }
        let suspended = self.workers.suspend_withholding();
        for reservation in reservations.iter().filter(|reservation| !reservation.begins_after(end)) {
            reservation.withhold(&mut self.workers);
        }
        let served = self.serve(now, app, size);
        self.workers.withhold_again(suspended);
        served
    }

    fn serve(&mut self, now: Timestamp, app: &AppId, size: GrantSize) -> Served {
        let profiles: Vec<ProfileId> = self.applications.live(app).profiles.keys().copied().collect();
        let mut given = None::<Amounts>;
        for profile in profiles {
            let application = self.applications.live(app);
            let mut demand = application.demand(application.profile(profile));
            if !demand.allows_one_more() {
                continue;
            }
            let gang = application.gang(&demand);
            match (size, demand.size) {
                (GrantSize::One, ExecutorSize::Fixed(_)) => {
                    let most = demand.most_executors().min(gang.unwrap_or(1));
                    demand.limit = ExecutorLimit::AtMost(demand.held.saturating_add(most));
                }
                (GrantSize::One, ExecutorSize::OnePerWorker) | (GrantSize::Everything, _) => {}
            }
            let times = RunningTimes { now, applications: &self.applications, run_times: &self.run_times };
            let shares =
                choose(&self.config, (&mut self.workers, &mut self.memory), times, application, &demand);
            let executors = shares.iter().map(|share| share.executors).sum::<u64>();
            if let Some(needed) = gang.filter(|needed| executors < *needed) {
                return Served::GangWaits { profile, demand, executors: needed };
            }
            if executors == 0 {
                continue;
            }
            let cores = shares.iter().map(|share| share.total()).sum();
            given.get_or_insert_default().add(&Amounts::of_executors(&demand, executors, cores));
            self.launch(now, app, profile, &demand, shares);
            if size == GrantSize::One {
                break;
            }
        }
        given.map_or(Served::Nothing, Served::With)
    }

    /// Reserves resources for a waiting gang. The gang gets no reservation if there are too many, if it does not fit
    /// beside them, or if it can never fit. `before` lists the applications with reservations in the last pass.
    fn reserve_for(
        &mut self,
        now: Timestamp,
        before: &[AppId],
        app: &AppId,
        profile: ProfileId,
        demand: Demand,
        executors: u64,
    ) {
        let earlier = &self.queue_scheduling.reservations;
        if earlier.len() >= self.config.reservations || earlier.iter().any(|earlier| earlier.at.is_none()) {
            return;
        }
        let application = self.applications.live(app);
        let (slots, sites): (Vec<Slot>, Vec<WorkerCapacity<'_>>) = self.sites(application).unzip();
        if let Some((at, reserved)) = self.forecast_for(now, &demand, executors, (&slots, &sites)) {
            let until = application.run_time.map(|run_time| at + run_time);
            let (app, at) = (app.clone(), Some(at));
            return self.add_reservation(before, Reservation { app, profile, demand, at, until, reserved });
        }
        if !earlier.is_empty() {
            return;
        }
        let Some(reserved) = reserve(&demand, executors, &sites) else {
            let room = self.whole_room(application, &demand);
            if room < executors && self.queue_scheduling.never_fit.insert(app.clone()) {
                self.effects.note(Note::GangNeverFits { app: app.clone(), executors, room });
            }
            return;
        };
        self.queue_scheduling.never_fit.remove(app);
        let reserved = slots.into_iter().zip(reserved).filter(|(_, count)| *count > 0);
        let keep = |executors: u64| {
            let amounts = Amounts::needed(&demand, executors);
            Reserved { executors, amounts, with_addresses: executors }
        };
        let reserved = reserved.map(|(slot, count)| (slot, keep(count))).collect();
        let reservation = Reservation { app: app.clone(), profile, demand, at: None, until: None, reserved };
        self.add_reservation(before, reservation);
    }

    /// When a gang is expected to start, and the resources to keep for it. `None` if too few running applications have
    /// estimated run times.
    fn forecast_for(
        &self,
        now: Timestamp,
        demand: &Demand,
        executors: u64,
        (slots, sites): (&[Slot], &[WorkerCapacity<'_>]),
    ) -> Option<(Timestamp, BTreeMap<Slot, Reserved>)> {
        let numbers: BTreeMap<Slot, usize> = slots.iter().copied().zip(0..).collect();
        let mut endings = Vec::new();
        for other in self.applications.queue().filter(|other| !other.executors.is_empty()) {
            let Some(end) = other.told_end(now) else { continue };
            endings.extend(other.executors.iter().filter_map(|(_, executor)| {
                let worker = *numbers.get(&executor.slot)?;
                let crate::tables::capacity::Holding { cores, memory, resources } = executor.grant.amounts();
                Some(Ending { worker, at: end.millis(), cores, memory, resources })
            }));
        }
        let bookings = self.queue_scheduling.reservations.iter().flat_map(|it| it.bookings(&numbers));
        let endings = beside(&bookings.collect::<Vec<_>>(), endings);
        let Forecast { at, on } = forecast(demand, executors, sites, endings)?;
        let keep = |on: Planned| {
            let Planned { executors, kept: amounts, with_addresses, .. } = on;
            (slots[on.worker], Reserved { executors, amounts, with_addresses })
        };
        Some((Timestamp::from_millis(at).max(now), on.into_iter().map(keep).collect()))
    }

    /// Withholds the reserved resources until the end of the pass.
    fn add_reservation(&mut self, before: &[AppId], reservation: Reservation) {
        reservation.withhold(&mut self.workers);
        let Reservation { app, at, reserved, .. } = &reservation;
        self.queue_scheduling.never_fit.remove(app);
        if !before.contains(app) {
            let executors = reserved.values().map(|reserved| reserved.executors).sum();
            let (app, workers) = (app.clone(), reserved.len());
            self.effects.note(Note::Reserved { app, executors, workers, at: *at });
        }
        self.queue_scheduling.reservations.push(reservation);
    }

    /// The number of a demand's executors that the application could launch now. Counting may stop at the number that
    /// the application needs. Zero behind a reservation without backfill.
    pub(crate) fn open_room(&self, application: &Application, demand: &Demand) -> u64 {
        let reservations = &self.queue_scheduling.reservations;
        let mut reserved: Vec<_> =
            reservations.iter().filter(|reservation| !self.precedes(application, reservation)).collect();
        if !reserved.is_empty() && self.config.backfill == Backfill::Off {
            return 0;
        }
        let end = application.told_end(self.now);
        reserved.retain(|reservation| !reservation.begins_after(end));
        let free = |(slot, site): (Slot, WorkerCapacity<'_>)| {
            let reserved =
                reserved.iter().filter_map(|it| Some((it.reserved.get(&slot)?, &it.demand.resources)));
            let (mut free, mut resources) = (site.free, Cow::Borrowed(site.free.resources));
            for (Reserved { amounts, with_addresses, .. }, each) in reserved {
                (free.cores, free.memory) = (free.cores - amounts.cores, free.memory - amounts.memory);
                resources = Cow::Owned(resources.less(each, *with_addresses));
            }
            Offer { resources: &resources, ..free }.executors_that_fit(demand)
        };
        self.sites(application).map(free).fold(0, u64::saturating_add)
    }

    /// The number of a demand's executors that would fit if all Workers were empty. Workers that currently get no new
    /// executors count, too.
    fn whole_room(&self, application: &Application, demand: &Demand) -> u64 {
        let each = self.whole_offers(application).map(|offer| offer.executors_that_fit(demand));
        each.fold(0, u64::saturating_add)
    }

    /// What an application waits for, besides free resources for one more executor. Computed only on request.
    pub(crate) fn blocker(&self, application: &Application) -> Option<Blocker> {
        let served = self.queue_scheduling.active && application.link.is_here();
        let (_, demand) = application.asks().next().filter(|_| served)?;
        let room_for = self.open_room(application, &demand);
        let reservations = &self.queue_scheduling.reservations;
        let before = reservations.iter().find(|reservation| !self.precedes(application, reservation));
        match (application.gang(&demand), before) {
            (Some(executors), _) if self.whole_room(application, &demand) < executors => {
                Some(Blocker::NeverFits { executors, room: self.whole_room(application, &demand) })
            }
            (Some(executors), _) => {
                let own = reservations.iter().find(|it| it.app == application.id);
                let reserved = own.into_iter().flat_map(|it| &it.reserved).take(MOST_KEPT);
                let named = reserved.map(|(slot, reserved)| {
                    (self.workers.row(*slot).description.id.clone(), reserved.executors)
                });
                Some(Blocker::Gang { executors, room: room_for, kept: named.collect() })
            }
            (None, Some(reservation)) => {
                let free = self.sites(application).any(|(_, site)| site.free.executors_that_fit(&demand) > 0);
                let name = self.applications.live(&reservation.app).description.name.clone();
                let (app, backfill) = (reservation.app.clone(), self.config.backfill == Backfill::On);
                (free && room_for == 0).then_some(Blocker::Reserved { app, name, backfill })
            }
            (None, None) => None,
        }
    }

    /// Whether an application has this reservation, or comes before the application that has it.
    fn precedes(&self, application: &Application, reservation: &Reservation) -> bool {
        let holder = self.applications.live(&reservation.app);
        holder.queue == application.queue && application.queue_rank() <= holder.queue_rank()
    }

    /// The Workers that an application does not exclude. For each: its total amounts, and its free amounts without the
    /// withheld ones.
    pub(crate) fn sites<'a>(
        &'a self,
        application: &'a Application,
    ) -> impl Iterator<Item = (Slot, WorkerCapacity<'a>)> {
        let rows = self.workers.slots().filter(|(_, row)| row.serves());
        let eligible = rows.filter(|(slot, row)| !application.excludes(*slot, row));
        let amounts = |(slot, row): (Slot, &'a WorkerRow)| {
            (slot, WorkerCapacity { free: self.workers.open_offer(slot, row), total: row.whole_offer() })
        };
        eligible.map(amounts)
    }
}

impl QueueScheduling {
    /// Ends all reservations. Returns their applications, in the order of serving.
    fn take_holders(&mut self) -> Vec<AppId> {
        self.reservations.drain(..).map(|reservation| reservation.app).collect()
    }
}

impl Reservation {
    /// Whether the gang is expected to start at this time or later. Executors that end by this time may use the
    /// reserved resources.
    fn begins_after(&self, end: Option<Timestamp>) -> bool {
        self.at.zip(end).is_some_and(|(at, end)| end <= at)
    }

    fn withhold(&self, workers: &mut WorkerTable) {
        for (slot, Reserved { amounts, with_addresses, .. }) in &self.reserved {
            workers.withhold(*slot, amounts, &self.demand.resources, *with_addresses);
        }
    }

    /// The gang's use of Workers, if its reservation has a time. `numbers` has the number of each Worker.
    fn bookings<'a>(&'a self, numbers: &BTreeMap<Slot, usize>) -> impl Iterator<Item = Booking<'a>> {
        let until = self.until.map(Timestamp::millis);
        self.at.into_iter().flat_map(move |at| {
            self.reserved.iter().filter_map(move |(slot, reserved)| {
                Some(Booking {
                    worker: *numbers.get(slot)?,
                    at: at.millis(),
                    until,
                    demand: &self.demand,
                    executors: reserved.executors,
                    kept: &reserved.amounts,
                    with_addresses: reserved.with_addresses,
                })
            })
        })
    }
}

impl Application {
    pub(crate) fn queue_rank(&self) -> QueueRank {
        (Reverse(self.description.priority), self.turn, self.sequence)
    }
}
