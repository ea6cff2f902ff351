//! The ledger: an independent record of the resources that the Master gives to each application. The ledger shares no
//! code with the Master. It reads every event that the Master receives and every message that the Master sends.
//!
//! - `books`: the rows of the ledger, for Workers and applications.
//! - `workers`, `drivers`: Workers, and cluster drivers.
//! - `messages`: the check of messages to Workers and drivers.
//! - `reading`: queries of the ledger, and its comparison with the Master's tables.
//! - `answers`, `pages`: the check of answers to status clients.
//! - `resumption`: restarts of the Master, and the peers that return to it.
//! - `absences`: peers whose connections ended, and their returns or losses.
//! - `budget`: the memory for what applications and cluster drivers describe.
//! - `presence`: the check of Workers that left or are late.
//! - `exclusions`: the check of excluded Workers, and of applications that end because their executors fail.
//! - `queue_order`: the check of the order in which applications are served.
//! - `users`: the limit of cores for each user.

mod absences;
mod answers;
mod books;
mod budget;
mod drivers;
mod exclusions;
mod messages;
mod pages;
mod presence;
mod queue_order;
mod reading;
mod resumption;
mod users;
mod workers;

use std::collections::{BTreeMap, BTreeSet};

use firesteel_master::{Effect, Event, Inbound, Outbound};
use firesteel_placement::ExecutorLimit;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationEnd, ClientToMaster, DriverToMaster, ExecutorState, LossReason, MasterToDriver,
    MasterToWorker, Outcome, Rights,
};
use firesteel_protocol::wire;

use self::books::{AppBook, WorkerBook};
use self::drivers::DriverBooks;
use self::exclusions::EarlyEnds;
use self::pages::Reading;
use self::presence::Presence;
use self::queue_order::Preempted;
use self::resumption::{Candidate, Numbers, Resumed};

pub(crate) use self::queue_order::Order;

/// The books for one Master, from its start to its end.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    workers: BTreeMap<WorkerId, WorkerBook>,
    apps: BTreeMap<AppId, AppBook>,
    worker_of: BTreeMap<PeerId, WorkerId>,
    app_of: BTreeMap<PeerId, AppId>,
    /// The descriptions with which peers asked to register, until the Master answers.
    candidates: BTreeMap<PeerId, Candidate>,
    registered: u64,
    /// The times at which executors were ended for each application, within the counted period.
    preempted: BTreeMap<AppId, Vec<u64>>,
    /// Applications that got an executor on a Worker in the current event, and immediately lost this executor to
    /// preemption.
    taken: BTreeSet<(WorkerId, AppId)>,
    /// Applications that have ended, by their drivers' connections, each with the executors whose end was
    /// not reported.
    leaving: BTreeMap<PeerId, (AppId, BTreeSet<ExecutorId>)>,
    /// The outcomes that drivers reported when they finished.
    told: BTreeMap<AppId, Outcome>,
    /// The reading of the Master's state in progress, page by page.
    reading: Option<Reading>,
    /// The time of the current event, in milliseconds.
    now: u64,
    /// When the processes of held executors were reported to run, in milliseconds.
    started: BTreeMap<ExecutorKey, u64>,
    early_ends: EarlyEnds,
    presence: Presence,
    drivers: DriverBooks,
    /// The Workers and applications to which numbers in the Master's records refer.
    numbers: Numbers,
}

/// The changes of the books by one event.
#[derive(Debug, Default)]
pub(crate) struct EventOutcome {
    /// The applications that ended, and their reasons.
    pub(crate) ended: Vec<ApplicationEnd>,
    /// The applications that registered, each with its driver's connection.
    pub(crate) registered: Vec<(AppId, PeerId)>,
    /// The applications of connections that the event ended.
    former: BTreeMap<PeerId, AppId>,
    /// Executors that were taken from a live Worker. The Worker must be told to end them.
    victims: BTreeSet<ExecutorKey>,
    /// Executors that a Worker was told to end.
    killed: BTreeSet<ExecutorKey>,
    /// For each executor in `killed`, its Worker.
    killed_on: BTreeMap<ExecutorKey, WorkerId>,
    /// Executors that were ended to free resources for other applications.
    preempted: Vec<Preempted>,
    /// Executors of ended applications whose drivers were told that the processes have ended.
    pub(crate) gone: Vec<ExecutorKey>,
    /// The driver that returned.
    resumed: Option<Resumed>,
}

impl EventOutcome {
    /// Notes an executor that a Worker was told to end for another application.
    fn see_preempted(&mut self, key: &ExecutorKey, state: &ExecutorState) {
        if let ExecutorState::Lost(LossReason::Preempted { by }) = state
            && let Some(worker) = self.killed_on.get(key).cloned()
        {
            self.preempted.push(Preempted { executor: key.clone(), worker, by: by.clone() });
        }
    }
}

impl Ledger {
    /// Enters one event and the Master's effects.
    ///
    /// # Errors
    /// The Master broke a law. The text describes it.
    pub(crate) fn enter(
        &mut self,
        event: &Event,
        effects: &[Effect],
        order: &Order<'_>,
    ) -> Result<EventOutcome, String> {
        self.now = order.now;
        self.taken.clear();
        let mut outcome = EventOutcome::default();
        let before = self.holdings(event);
        let mut released = BTreeSet::new();
        self.on_event(event, effects, &mut released, &mut outcome);
        for effect in effects {
            if let Effect::Send { peer, message: Outbound::Driver(MasterToDriver::ApplicationRemoved(end)) } =
                effect
                && matches!(end, ApplicationEnd::ExecutorsFailed { .. })
            {
                self.check_failed(*peer)?;
            }
        }
        for effect in effects {
            self.on_release(effect, &mut released, &mut outcome);
        }
        effects.iter().try_for_each(|effect| self.check_log(event, effect))?;
        self.lose_absent(event, effects, &mut released, &mut outcome)?;
        self.release_drivers(event, effects);
        for effect in effects {
            if let Effect::Persist(records) = effect {
                self.on_records(records, &mut released, &mut outcome);
            }
        }
        self.check_asked(effects)?;
        let mut added = BTreeSet::new();
        let mut launched = Vec::new();
        for effect in effects {
            if let Effect::Send { peer, message } = effect {
                match message {
                    Outbound::Worker(message) => {
                        let (launched, released) = (&mut launched, &mut released);
                        self.on_worker_message(*peer, message, event, &mut added, launched, released)?;
                    }
                    Outbound::Driver(message) => {
                        self.on_driver_message(*peer, message, order, &mut added, &released, &mut outcome)?;
                    }
                    Outbound::Client(answer) => self.check_answer(event, answer, &before)?,
                }
            }
        }
        for effect in effects {
            if let Effect::Send {
                message: Outbound::Worker(MasterToWorker::KillExecutor { executor }), ..
            } = effect
            {
                outcome.victims.remove(executor);
            }
        }
        self.check_driver_kills(event, effects)?;
        self.check_budget(event, effects, order.budget)?;
        if let Some(executor) = outcome.victims.first() {
            return Err(format!("executor {executor} is taken back, and its Worker is not told to end it"));
        }
        if let Some((app, _)) = self.leaving.values().find(|(_, executors)| executors.is_empty()) {
            return Err(format!("nothing of {app} is left, and its driver is not told"));
        }
        if let Some(resumed) = &outcome.resumed {
            self.check_news(resumed)?;
        }
        if let Some(executor) = added.first() {
            return Err(format!("the driver of executor {executor} is not told that it was added"));
        }
        let preempted = std::mem::take(&mut outcome.preempted);
        self.check_users(&launched, order.user_cores)?;
        self.check_turns(&launched, &preempted, order)?;
        Ok(outcome)
    }

    /// Enters the ends that the event itself causes.
    fn on_event(
        &mut self,
        event: &Event,
        effects: &[Effect],
        released: &mut BTreeSet<ExecutorKey>,
        outcome: &mut EventOutcome,
    ) {
        match event {
            Event::Received { peer, arrived, message: Inbound::Worker(message) } => {
                self.hear(*peer, arrived.millis(), message);
                self.on_worker_event(*peer, message, effects, released);
            }
            Event::Received { peer, message: Inbound::Driver(message), .. } => {
                self.on_driver_event(*peer, message, released, outcome);
            }
            Event::Received { message: Inbound::Client(message), .. } => {
                if let ClientToMaster::DecommissionWorkers { which, by, .. } = message
                    && by.rights() == Rights::Admin
                {
                    for worker in self.named(which) {
                        self.let_leave(&worker);
                        self.workers.get_mut(&worker).expect("it was named").is_asked = true;
                    }
                }
            }
            Event::Deadline { .. } | Event::WorkerGone { .. } | Event::LogRead { .. } => {}
            Event::Disconnected { peer } => {
                self.candidates.remove(peer);
                self.leaving.remove(peer);
                self.hang_up(*peer, effects, released);
            }
        }
    }

    fn on_driver_event(
        &mut self,
        peer: PeerId,
        message: &DriverToMaster,
        released: &mut BTreeSet<ExecutorKey>,
        outcome: &mut EventOutcome,
    ) {
        match message {
            DriverToMaster::UnregisterApplication { app, outcome: told } => {
                if self.app_of.get(&peer) == Some(app) {
                    let end = ApplicationEnd::Finished { outcome: told.clone() };
                    self.end_app(peer, end, released, outcome);
                }
            }
            DriverToMaster::RegisterApplication(description) => {
                self.candidates.insert(peer, Candidate::new(description));
            }
            DriverToMaster::ResumeApplication(resumption) => {
                self.candidates.insert(peer, Candidate::returning(resumption));
            }
            DriverToMaster::RequestExecutors { app, targets } => {
                if self.app_of.get(&peer) == Some(app)
                    && let Some(book) = self.apps.get_mut(app)
                {
                    let limits =
                        targets.iter().map(|target| (target.id, ExecutorLimit::AtMost(target.total)));
                    book.limits.extend(limits);
                    for target in targets {
                        // The needs of a profile are fixed when it is first named.
                        let asked = || target.profile.resources.clone();
                        book.asked.entry(target.id).or_insert_with(asked);
                    }
                }
            }
            DriverToMaster::PreferHosts { app, preferences } => {
                if self.app_of.get(&peer) == Some(app)
                    && let Some(book) = self.apps.get_mut(app)
                {
                    book.avoids |= !preferences.avoided.is_empty();
                    book.preferred = book.preferred.max(budget::weight(wire::length(preferences)));
                }
            }
            DriverToMaster::KillExecutors { .. } | DriverToMaster::RequestShortfall { .. } => {}
        }
    }

    /// Enters the executors and applications that an effect ends.
    fn on_release(
        &mut self,
        effect: &Effect,
        released: &mut BTreeSet<ExecutorKey>,
        outcome: &mut EventOutcome,
    ) {
        let Effect::Send { peer, message } = effect else { return };
        match message {
            Outbound::Worker(MasterToWorker::KillExecutor { executor }) => {
                if let Some(worker) = self.worker_of.get(peer)
                    && self.workers.get(worker).is_some_and(|book| book.grants.contains_key(executor))
                {
                    outcome.killed.insert(executor.clone());
                    outcome.killed_on.insert(executor.clone(), worker.clone());
                    self.release(executor, released);
                }
            }
            Outbound::Driver(MasterToDriver::ExecutorUpdated { executor, state, .. }) => {
                if let (true, Some(app)) = (state.is_finished(), self.app_of.get(peer)) {
                    let key = ExecutorKey { app: app.clone(), executor: *executor };
                    let must_end = self.is_on_a_worker_that_is_here(&key);
                    outcome.see_preempted(&key, state);
                    self.release(&key, released);
                    let is_taken_back = matches!(
                        state,
                        ExecutorState::Killed(_) | ExecutorState::Lost(LossReason::Preempted { .. })
                    );
                    if must_end && is_taken_back {
                        outcome.victims.insert(key);
                    }
                }
            }
            Outbound::Driver(MasterToDriver::ApplicationRemoved(end)) => {
                self.end_app(*peer, end.clone(), released, outcome);
            }
            Outbound::Driver(MasterToDriver::WorkerRemoved { worker, .. }) => {
                self.remove_worker(worker, released);
            }
            Outbound::Worker(_) | Outbound::Driver(_) | Outbound::Client(_) => {}
        }
    }

    pub(super) fn release(&mut self, key: &ExecutorKey, released: &mut BTreeSet<ExecutorKey>) {
        let Some(app) = self.apps.get_mut(&key.app) else { return };
        let Some(worker) = app.executors.remove(&key.executor) else { return };
        if let Some(book) = self.workers.get_mut(&worker) {
            book.grants.remove(key);
        }
        released.insert(key.clone());
    }

    /// Releases the executors of an application that has ended. Their Workers must be told to end them, if they are
    /// connected.
    fn release_all(
        &mut self,
        app: &AppId,
        executors: BTreeMap<ExecutorId, WorkerId>,
        released: &mut BTreeSet<ExecutorKey>,
        outcome: &mut EventOutcome,
    ) {
        for (executor, worker) in executors {
            let key = ExecutorKey { app: app.clone(), executor };
            if let Some(book) = self.workers.get_mut(&worker) {
                book.grants.remove(&key);
                outcome.victims.extend(book.peer.map(|_| key.clone()));
            }
            released.insert(key);
        }
    }

    fn end_app(
        &mut self,
        peer: PeerId,
        end: ApplicationEnd,
        released: &mut BTreeSet<ExecutorKey>,
        outcome: &mut EventOutcome,
    ) {
        let Some(id) = self.app_of.remove(&peer) else {
            if end.is_refusal() {
                outcome.ended.push(end);
            }
            return;
        };
        let Some(app) = self.apps.remove(&id) else { return };
        if let ApplicationEnd::Finished { outcome: Some(told) } = &end {
            self.told.insert(id.clone(), told.clone());
        }
        let killed = outcome.killed.iter().filter(|key| key.app == id).map(|key| key.executor);
        let leaving = app.executors.keys().copied().chain(killed).collect();
        self.release_all(&id, app.executors, released, outcome);
        match end {
            ApplicationEnd::DriverLost | ApplicationEnd::NotBack => {}
            _ => drop(self.leaving.insert(peer, (id.clone(), leaving))),
        }
        outcome.former.insert(peer, id);
        outcome.ended.push(end);
    }
}

/// Whether the effects registered a peer as a Worker. If so, contains whether the Master already knew this Worker.
fn registration(peer: PeerId, effects: &[Effect]) -> Option<bool> {
    effects.iter().find_map(|effect| match effect {
        Effect::Send {
            peer: to,
            message: Outbound::Worker(MasterToWorker::RegisteredWorker { duplicate, .. }),
        } if *to == peer => Some(*duplicate),
        _ => None,
    })
}
