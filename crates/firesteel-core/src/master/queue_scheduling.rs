//! The scheduling pass where there are queues, priorities or gangs.
//!
//! Without them a pass is Spark's, and considers only what has changed (see `settle`). With them it considers
//! every application that waits:
//!
//! - **Queues.** The next queue is the one with the smallest dominant share of the cluster, divided by its
//!   weight, among those with waiting applications. While several queues wait, each grant is one executor, or
//!   one gang. (An application whose executors have no fixed size gets all that fits.) So no queue gets more
//!   than one grant ahead of another that could use the room. A queue that waits alone may have everything.
//! - **Priorities.** Within a queue, higher priorities come first, and then earlier registrations. An
//!   application that cannot use what is free does not block the next one.
//! - **Gangs.** An application with a gang that has not started is given that many executors at once, or
//!   none. With several resource profiles it starts with the first one that asks for executors, with at most
//!   as many as it asks for. The first gang that does not fit now, but would fit empty Workers, gets a
//!   *reservation*: what is free on those Workers, and what becomes free there, is withheld from all later
//!   applications until the gang starts. Until then only applications before it in its own queue are served
//!   earlier. A gang that can never fit gets no reservation.
//!   If enough of what runs says how long it runs, the reservation has a time: the first at which the gang fits if everything ends
//!   as it says. Then only what does not become free by that time is withheld, and applications that say that they end before may
//!   use that, too. What runs longer than it said counts with twice its estimate, and so on: the time moves, the rule stays.
//! - **Backfill.** Applications after a reservation may use what is not reserved; without backfill, nothing.
//! - **Order.** With `firesteel.master.order=shortest`, applications of a priority come in another order (see `turn`).
//!
//! The cost of a pass is one placement for each waiting application. A pass that makes a reservation also
//! looks at every Worker.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use firesteel_placement::forecast::{Ending, Forecast, Planned, forecast};
use firesteel_placement::index::Slot;
use firesteel_placement::reservation::{WorkerAmounts, reserve};
use firesteel_placement::shortfall::Amounts;
use firesteel_placement::{Cores, Demand, ExecutorLimit, ExecutorSize, Offer, ResourceAmounts};

use super::application::Application;
use super::choice::choose;
use super::waiting_queues::{GrantSize, QueueRank};
use super::{Master, Note};
use crate::ids::{AppId, ProfileId, WorkerId};
use crate::messages::{Hindrance, MOST_KEPT, ReservedRoom};
use crate::scheduling::{Backfill, ServingOrder};
use crate::time::Timestamp;

/// What scheduling by queues remembers between passes.
#[derive(Debug, Default)]
pub(super) struct QueueScheduling {
    /// Whether the last pass was one by queues.
    pub(super) active: bool,
    /// The reservation that the last pass made.
    pub(super) reservation: Option<Reservation>,
    /// The gangs that can never fit, for which a note was written.
    never_fit: BTreeSet<AppId>,
    /// When the next of the gangs that waited in the last pass has waited for long.
    pub(super) next_impatience: Option<Timestamp>,
}

/// Room that is reserved for a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reservation {
    pub(super) app: AppId,
    pub(super) profile: ProfileId,
    /// The resources of each executor.
    pub(super) resources: ResourceAmounts,
    /// When the gang is expected to fit, if enough of what runs says when it ends.
    pub(super) at: Option<Timestamp>,
    /// The reserved room by Worker.
    pub(super) kept: BTreeMap<Slot, Kept>,
}

/// The room that is reserved on one Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// The number of executors of the gang that are to run there.
    pub(super) executors: u64,
    /// What is kept free for them.
    pub(super) amounts: Amounts,
    /// The number of these executors for which addresses are kept free. The others get addresses that are expected to be
    /// given back in time.
    pub(super) with_addresses: u64,
}

/// The result of serving an application.
#[derive(Debug, PartialEq, Eq)]
enum Served {
    /// It was given executors that take these amounts together.
    With(Amounts),
    /// It has no room, or asks for nothing.
    Nothing,
    /// It has no room for that many executors of the profile at once.
    GangWaits { profile: ProfileId, demand: Demand, executors: u64 },
}

/// A reservation, for views and checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationView {
    /// The application's id.
    pub app: AppId,
    /// When the application is expected to start. What has ended by then may use the reserved room before.
    pub at: Option<Timestamp>,
    /// The reserved room by Worker, in the order of ids: the number of executors, and what they take
    /// together.
    pub on: Vec<(WorkerId, u64, Amounts)>,
}

impl Master {
    /// Whether the next pass is one by queues. After the last such pass, every application is considered once if room was
    /// reserved.
    pub(super) fn schedules_by_queue(&mut self) -> bool {
        let ordered = !self.config.queues.is_empty()
            || self.config.order != ServingOrder::Registration
            || self.applications.has_special();
        if !ordered && std::mem::take(&mut self.queue_scheduling.active) {
            // Without a reservation nothing that waits has room.
            if std::mem::take(&mut self.queue_scheduling).reservation.is_some() {
                self.applications.touch_all();
            }
        }
        self.queue_scheduling.active = ordered;
        ordered
    }

    /// The reservation that the last pass made, if any.
    #[must_use]
    pub fn reservation(&self) -> Option<ReservationView> {
        let Reservation { app, at, kept, .. } = self.queue_scheduling.reservation.as_ref()?;
        let on = kept.iter().map(|(slot, Kept { executors, amounts, .. })| {
            (self.workers.row(*slot).description.id.clone(), *executors, amounts.clone())
        });
        let mut on: Vec<_> = on.collect();
        on.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        Some(ReservationView { app: app.clone(), at: *at, on })
    }

    /// What clients are told of the reservation.
    pub(super) fn reserved_room(&self) -> Option<ReservedRoom> {
        let Reservation { app, at, kept, .. } = self.queue_scheduling.reservation.as_ref()?;
        let executors = kept.values().map(|kept| kept.executors).sum();
        Some(ReservedRoom { app: app.clone(), at: *at, executors, workers: kept.len() as u64 })
    }

    /// Serves all waiting applications in order.
    pub(super) fn serve_queues(&mut self, now: Timestamp) {
        let mut before = self.queue_scheduling.reservation.take().map(|reservation| reservation.app);
        self.queue_scheduling.next_impatience = None;
        let mut waiting = self.waiting_queues(before.as_ref());
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
                        // The freed room may also help others, and the preempted applications may want more
                        // again.
                        self.serve(now, app, size);
                        self.workers.release_withheld();
                        let reservation = self.queue_scheduling.reservation.take();
                        before = reservation.map(|reservation| reservation.app).or(before);
                        let first = before.as_ref().filter(|before| *before != app);
                        waiting = self.wait_again(waiting, first, &next, &preempted);
                        continue;
                    }
                    if let Served::GangWaits { profile, demand, executors } = served {
                        let next = self.impatience(self.applications.live(app)).filter(|at| *at > now);
                        let kept = self.queue_scheduling.next_impatience;
                        self.queue_scheduling.next_impatience = [kept, next].into_iter().flatten().min();
                        self.reserve_for(now, before.as_ref(), app, profile, &demand, executors);
                    }
                }
            }
            waiting.pass(next);
            if self.config.backfill == Backfill::Off && self.queue_scheduling.reservation.is_some() {
                break;
            }
        }
        self.workers.release_withheld();
        let applications = &self.applications;
        let waits = |app: &AppId| applications.get(app).is_some_and(Application::gang_waits);
        self.queue_scheduling.never_fit.retain(waits);
    }

    /// Serves an application. One that says that it will have ended before the gang with the reservation can start may use what
    /// is reserved.
    fn serve_around(&mut self, now: Timestamp, app: &AppId, size: GrantSize) -> Served {
        if !self.ends_in_time(now, self.applications.live(app)) {
            return self.serve(now, app, size);
        }
        let lifted = self.workers.lift_withheld();
        let served = self.serve(now, app, size);
        self.workers.withhold_again(lifted);
        served
    }

    /// Whether an application says that it will have ended before the gang with the reservation is expected to start.
    fn ends_in_time(&self, now: Timestamp, application: &Application) -> bool {
        let start = self.queue_scheduling.reservation.as_ref().and_then(|reservation| reservation.at);
        start.is_some_and(|start| application.told_end(now).is_some_and(|end| end <= start))
    }

    /// Gives an application executors, profile by profile.
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
            let rest = self.rest_for_policy(now, application);
            let shares = choose(&self.config, &mut self.workers, application, &demand, &rest);
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

    /// Reserves room for a gang that waits, unless there is a reservation already or the gang can never fit.
    /// `before` is the application that had the reservation of the last pass.
    fn reserve_for(
        &mut self,
        now: Timestamp,
        before: Option<&AppId>,
        app: &AppId,
        profile: ProfileId,
        demand: &Demand,
        executors: u64,
    ) {
        if self.queue_scheduling.reservation.is_some() {
            return;
        }
        let application = self.applications.live(app);
        let (slots, sites): (Vec<Slot>, Vec<WorkerAmounts<'_>>) = self.sites(application).unzip();
        if let Some(reservation) = self.forecast_for(now, app, profile, demand, executors, (&slots, &sites)) {
            return self.set_reservation(before, reservation);
        }
        let Some(kept) = reserve(demand, executors, &sites) else {
            let room = sites.iter().map(|site| site.total.executors_that_fit(demand)).sum();
            // With the Workers that are excluded now, it may fit.
            if self.workers.excluded() == 0 && self.queue_scheduling.never_fit.insert(app.clone()) {
                self.effects.note(Note::GangNeverFits { app: app.clone(), executors, room });
            }
            return;
        };
        self.queue_scheduling.never_fit.remove(app);
        let step = demand.size.step().0;
        let amounts = |count: u64| {
            let cores = step.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX));
            Amounts::of_executors(demand, count, Cores(cores))
        };
        let kept = slots.into_iter().zip(kept).filter(|(_, count)| *count > 0);
        let keep = |count: u64| Kept { executors: count, amounts: amounts(count), with_addresses: count };
        let kept = kept.map(|(slot, count)| (slot, keep(count))).collect();
        let resources = demand.resources.clone();
        self.set_reservation(before, Reservation { app: app.clone(), profile, resources, at: None, kept });
    }

    /// The reservation of a gang with the time at which it is expected to start. `None` if too little of what runs says when it
    /// ends.
    fn forecast_for(
        &self,
        now: Timestamp,
        app: &AppId,
        profile: ProfileId,
        demand: &Demand,
        executors: u64,
        (slots, sites): (&[Slot], &[WorkerAmounts<'_>]),
    ) -> Option<Reservation> {
        let numbers: BTreeMap<Slot, usize> = slots.iter().copied().zip(0..).collect();
        let mut endings = Vec::new();
        for other in self.applications.queue().filter(|other| !other.executors.is_empty()) {
            let Some(end) = other.told_end(now) else { continue };
            endings.extend(other.executors.iter().filter_map(|(_, executor)| {
                let worker = *numbers.get(&executor.slot)?;
                let super::capacity::Amounts { cores, memory, resources } = executor.grant.amounts();
                Some(Ending { worker, at: end.millis(), cores, memory, resources })
            }));
        }
        let Forecast { at, on } = forecast(demand, executors, sites, endings)?;
        let keep = |on: Planned| {
            let Planned { executors, kept: amounts, with_addresses, .. } = on;
            (slots[on.worker], Kept { executors, amounts, with_addresses })
        };
        let kept = on.into_iter().map(keep).collect();
        let (at, resources) = (Some(Timestamp::from_millis(at).max(now)), demand.resources.clone());
        Some(Reservation { app: app.clone(), profile, resources, at, kept })
    }

    /// Withholds what is reserved until the end of the pass.
    fn set_reservation(&mut self, before: Option<&AppId>, reservation: Reservation) {
        let Reservation { app, resources, at, kept, .. } = &reservation;
        self.queue_scheduling.never_fit.remove(app);
        for (slot, Kept { amounts, with_addresses, .. }) in kept {
            self.workers.withhold(*slot, amounts, resources, *with_addresses);
        }
        if before != Some(app) {
            let executors = kept.values().map(|kept| kept.executors).sum();
            let (app, workers) = (app.clone(), kept.len());
            self.effects.note(Note::Reserved { app, executors, workers, at: *at });
        }
        self.queue_scheduling.reservation = Some(reservation);
    }

    /// The number of executors of a demand for which the application has room now. It may be counted only up
    /// to what the application needs to know. Zero behind a reservation without backfill.
    pub(super) fn open_room(&self, application: &Application, demand: &Demand) -> u64 {
        let reserved =
            self.queue_scheduling.reservation.as_ref().filter(|it| !self.precedes(application, it));
        let is_in_time = self.ends_in_time(self.now, application);
        if reserved.is_some() && self.config.backfill == Backfill::Off {
            return 0;
        }
        let reserved = reserved.filter(|_| !is_in_time);
        let kept = |slot| reserved.and_then(|it| Some((&it.resources, it.kept.get(&slot)?)));
        let free = |(slot, site): (Slot, WorkerAmounts<'_>)| match kept(slot) {
            None => site.free.executors_that_fit(demand),
            Some((each, Kept { amounts, with_addresses, .. })) => {
                beside(demand, &site.free, amounts, each, *with_addresses)
            }
        };
        self.sites(application).map(free).fold(0, u64::saturating_add)
    }

    /// What an application waits for besides room for one more executor. Computed only for requests.
    pub(super) fn hindrance(&self, application: &Application) -> Option<Hindrance> {
        let served = self.queue_scheduling.active && application.may_be_served();
        let (_, demand) = application.asks().next().filter(|_| served)?;
        let whole = || {
            self.sites(application)
                .map(|(_, site)| site.total.executors_that_fit(&demand))
                .fold(0, u64::saturating_add)
        };
        let room_for = self.open_room(application, &demand);
        let reservation = self.queue_scheduling.reservation.as_ref();
        match (application.gang(&demand), reservation) {
            (Some(executors), _) if self.workers.excluded() == 0 && whole() < executors => {
                Some(Hindrance::NeverFits { executors, room: whole() })
            }
            (Some(executors), reservation) => {
                let own = reservation.filter(|it| it.app == application.id);
                let kept = own.into_iter().flat_map(|it| &it.kept).take(MOST_KEPT);
                let named =
                    kept.map(|(slot, kept)| (self.workers.row(*slot).description.id.clone(), kept.executors));
                Some(Hindrance::Gang { executors, room: room_for, kept: named.collect() })
            }
            (None, Some(reservation)) => {
                let free = self.sites(application).any(|(_, site)| site.free.executors_that_fit(&demand) > 0);
                let name = self.applications.live(&reservation.app).description.name.clone();
                let (app, backfill) = (reservation.app.clone(), self.config.backfill == Backfill::On);
                (free && room_for == 0).then_some(Hindrance::Reserved { app, name, backfill })
            }
            (None, None) => None,
        }
    }

    /// Whether an application comes before the one with the reservation, or is that one.
    fn precedes(&self, application: &Application, reservation: &Reservation) -> bool {
        let holder = self.applications.live(&reservation.app);
        holder.queue == application.queue && application.queue_rank() <= holder.queue_rank()
    }

    /// The Workers that an application does not shun, each as it is and as it would be empty.
    pub(super) fn sites<'a>(
        &'a self,
        application: &'a Application,
    ) -> impl Iterator<Item = (Slot, WorkerAmounts<'a>)> {
        let rows = self.workers.slots().filter(|(_, row)| row.serves());
        let welcome = rows.filter(|(slot, row)| !application.shuns(*slot, row));
        welcome.map(|(slot, row)| (slot, WorkerAmounts { free: row.offer(), total: row.whole_offer() }))
    }
}

/// The number of executors that fit an offer without what is reserved of it: these amounts, for this number of executors
/// with these resources each.
fn beside(demand: &Demand, offer: &Offer<'_>, kept: &Amounts, each: &ResourceAmounts, executors: u64) -> u64 {
    let resources = offer.resources.less(each, executors);
    let (cores, memory) = (offer.cores - kept.cores, offer.memory - kept.memory);
    Offer { cores, memory, resources: &resources, ..*offer }.executors_that_fit(demand)
}

impl Application {
    /// Its rank in its queue.
    pub(super) fn queue_rank(&self) -> QueueRank {
        (Reverse(self.description.priority), self.turn, self.sequence)
    }
}
