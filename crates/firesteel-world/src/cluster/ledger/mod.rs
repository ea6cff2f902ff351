//! The ledger: what the Master has given to each application. It is a second set of books that shares no
//! code with the Master. It reads every event that the Master is told and every message that the Master
//! sends.
//!
//! - `books`: the rows of the ledger, for Workers and applications.
//! - `reading`: queries of the ledger, and its comparison with the Master's tables.
//! - `answers`: the check of answers to status clients.
//! - `queue_order`: the check of the order in which applications are served.

mod answers;
mod books;
mod queue_order;
mod reading;

use std::collections::{BTreeMap, BTreeSet};

use firesteel_core::ids::{AppId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_core::master::{Effect, Event, Inbound, Outbound};
use firesteel_core::messages::{
    ApplicationDescription, ApplicationEnd, DriverToMaster, ExecutorLaunch, ExecutorReport, ExecutorState,
    LossReason, MasterToDriver, MasterToWorker, Outcome, Relaunch, WorkerDescription, WorkerToMaster,
};
use firesteel_placement::{Cores, ExecutorLimit};

use self::books::{AppBook, Availability, WorkerBook};
use self::queue_order::{Launched, Preempted};

pub(crate) use self::queue_order::Order;

/// The books of one Master's life.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    workers: BTreeMap<WorkerId, WorkerBook>,
    apps: BTreeMap<AppId, AppBook>,
    worker_of: BTreeMap<PeerId, WorkerId>,
    app_of: BTreeMap<PeerId, AppId>,
    /// The description with which a peer asked to register, until the Master answers.
    candidates: BTreeMap<PeerId, ApplicationDescription>,
    /// The number of applications that have registered.
    registered: u64,
    /// The times at which executors were ended for each application, within the counted period.
    preempted: BTreeMap<AppId, Vec<u64>>,
    /// Applications that have ended, by their drivers' connections, each with the executors whose end was
    /// not reported.
    leaving: BTreeMap<PeerId, (AppId, BTreeSet<ExecutorId>)>,
    /// What drivers said of their work when they were done.
    told: BTreeMap<AppId, Outcome>,
}

/// What one event changed in the books.
#[derive(Debug, Default)]
pub(crate) struct EventOutcome {
    /// The applications that ended, and how.
    pub(crate) ended: Vec<ApplicationEnd>,
    /// The applications that registered, each with its driver's connection.
    pub(crate) registered: Vec<(AppId, PeerId)>,
    /// The applications of connections that the event ended.
    former: BTreeMap<PeerId, AppId>,
    /// The executors that were taken back from a living Worker, which must be told to end them.
    doomed: BTreeSet<ExecutorKey>,
    /// The executors that a Worker was told to end.
    killed: BTreeSet<ExecutorKey>,
    /// The Worker of each of those executors.
    killed_on: BTreeMap<ExecutorKey, WorkerId>,
    /// The executors that were ended for other applications.
    preempted: Vec<Preempted>,
    /// The executors of ended applications whose drivers were told that the processes have ended.
    pub(crate) gone: Vec<ExecutorKey>,
}

impl Ledger {
    /// Enters one event and the Master's effects.
    ///
    /// # Errors
    /// The Master broke a law; the text says which.
    pub(crate) fn enter(
        &mut self,
        event: &Event,
        effects: &[Effect],
        order: &Order<'_>,
    ) -> Result<EventOutcome, String> {
        let mut outcome = EventOutcome::default();
        let before = self.holdings(event);
        let mut released = BTreeSet::new();
        self.on_event(event, effects, &mut released, &mut outcome);
        for effect in effects {
            self.on_release(effect, &mut released, &mut outcome);
        }
        let mut added = BTreeSet::new();
        let mut launched = Vec::new();
        for effect in effects {
            if let Effect::Send { peer, message } = effect {
                match message {
                    Outbound::Worker(message) => {
                        self.on_worker_message(*peer, message, event, &mut added, &mut launched)?;
                    }
                    Outbound::Driver(message) => {
                        self.on_driver_message(*peer, message, order, &mut added, &released, &mut outcome)?;
                    }
                    Outbound::Client(answer) => self.check_answer(answer, &before)?,
                }
            }
        }
        for effect in effects {
            if let Effect::Send {
                message: Outbound::Worker(MasterToWorker::KillExecutor { executor }), ..
            } = effect
            {
                outcome.doomed.remove(executor);
            }
        }
        if let Some(executor) = outcome.doomed.first() {
            return Err(format!("executor {executor} is taken back, and its Worker is not told to end it"));
        }
        if let Some((app, _)) = self.leaving.values().find(|(_, executors)| executors.is_empty()) {
            return Err(format!("nothing of {app} is left, and its driver is not told"));
        }
        if let Some(executor) = added.first() {
            return Err(format!("the driver of executor {executor} is not told that it was added"));
        }
        let preempted = std::mem::take(&mut outcome.preempted);
        self.check_turns(&launched, &preempted, order)?;
        Ok(outcome)
    }

    /// Enters what the event itself ends.
    fn on_event(
        &mut self,
        event: &Event,
        effects: &[Effect],
        released: &mut BTreeSet<ExecutorKey>,
        outcome: &mut EventOutcome,
    ) {
        match event {
            Event::Received {
                peer,
                message: Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report)),
            } => {
                self.end_reported(*peer, report, released);
            }
            Event::Received {
                peer,
                message: Inbound::Worker(WorkerToMaster::RegisterWorker { worker, executors }),
            } => {
                if let Some(duplicate) = registration(*peer, effects) {
                    self.register_worker(*peer, worker, duplicate, released);
                    for report in executors {
                        self.end_reported(*peer, report, released);
                    }
                }
            }
            Event::Received {
                peer,
                message: Inbound::Worker(WorkerToMaster::WorkerDecommissioning { worker }),
            } => {
                if self.worker_of.get(peer) == Some(worker)
                    && let Some(book) = self.workers.get_mut(worker)
                {
                    book.availability = Availability::Decommissioning;
                }
            }
            Event::Received {
                peer,
                message: Inbound::Driver(DriverToMaster::UnregisterApplication { app, outcome: told }),
            } => {
                if self.app_of.get(peer) == Some(app) {
                    self.end_app(
                        *peer,
                        ApplicationEnd::Finished { outcome: told.clone() },
                        released,
                        outcome,
                    );
                }
            }
            Event::Received {
                peer,
                message: Inbound::Driver(DriverToMaster::RegisterApplication(description)),
            } => {
                self.candidates.insert(*peer, description.clone());
            }
            Event::Received {
                peer,
                message: Inbound::Driver(DriverToMaster::RequestExecutors { app, targets }),
            } => {
                if self.app_of.get(peer) == Some(app)
                    && let Some(book) = self.apps.get_mut(app)
                {
                    let limits =
                        targets.iter().map(|target| (target.id, ExecutorLimit::AtMost(target.total)));
                    book.limits.extend(limits);
                }
            }
            Event::Received { .. } | Event::Deadline => {}
            Event::Disconnected { peer } => {
                self.candidates.remove(peer);
                self.leaving.remove(peer);
                if let Some(worker) = self.worker_of.remove(peer) {
                    self.remove_worker(&worker, released);
                }
                self.end_app(*peer, ApplicationEnd::DriverLost, released, outcome);
            }
        }
    }

    fn register_worker(
        &mut self,
        peer: PeerId,
        worker: &WorkerDescription,
        duplicate: bool,
        released: &mut BTreeSet<ExecutorKey>,
    ) {
        if let Some(former) = self.worker_of.remove(&peer)
            && former != worker.id
        {
            self.remove_worker(&former, released);
        }
        let same = duplicate.then(|| self.workers.get_mut(&worker.id)).flatten();
        match same {
            Some(book) => {
                if book.peer != peer {
                    book.availability = Availability::Serving;
                }
                self.worker_of.remove(&book.peer);
                book.peer = peer;
            }
            None => {
                self.remove_worker(&worker.id, released);
                let book = WorkerBook {
                    total: worker.clone(),
                    peer,
                    availability: Availability::Serving,
                    grants: BTreeMap::new(),
                };
                self.workers.insert(worker.id.clone(), book);
            }
        }
        self.worker_of.insert(peer, worker.id.clone());
    }

    fn end_reported(&mut self, peer: PeerId, report: &ExecutorReport, released: &mut BTreeSet<ExecutorKey>) {
        let Some(worker) = self.worker_of.get(&peer) else { return };
        // Only a Master can consider an executor lost.
        let counts = match report.state {
            ExecutorState::Killed(_) | ExecutorState::Failed(_) | ExecutorState::Exited(_) => true,
            ExecutorState::Launching | ExecutorState::Running | ExecutorState::Lost(_) => false,
        };
        let launch = self.workers.get(worker).and_then(|book| book.grants.get(&report.executor)).cloned();
        if let (true, Some(launch)) = (counts, launch) {
            self.release(&report.executor.clone(), released);
            self.count_final_end(&report.executor, &report.state, &launch);
        }
    }

    /// Counts the end of an executor that ended by itself, if only lost executors are replaced.
    fn count_final_end(&mut self, key: &ExecutorKey, end: &ExecutorState, launch: &ExecutorLaunch) {
        let by_itself = matches!(end, ExecutorState::Exited(_) | ExecutorState::Failed(_));
        let Some(book) = self.apps.get_mut(&key.app) else { return };
        if !by_itself || book.relaunch == Relaunch::WhenEnded {
            return;
        }
        let others = book.executors.keys().filter_map(|number| {
            let key = ExecutorKey { app: key.app.clone(), executor: *number };
            self.workers.values().find_map(|worker| worker.grants.get(&key))
        });
        let held = others.filter(|other| other.profile == launch.profile).count() as u64;
        let has_maximum = book.max_cores < Cores::UNLIMITED;
        if has_maximum {
            book.max_cores -= launch.cores;
        }
        if let Some(limit) = book.limits.get_mut(&launch.profile) {
            *limit = match *limit {
                ExecutorLimit::AtMost(most) => ExecutorLimit::AtMost(most.saturating_sub(1)),
                ExecutorLimit::Unlimited if has_maximum => ExecutorLimit::Unlimited,
                ExecutorLimit::Unlimited => ExecutorLimit::AtMost(held),
            };
        }
    }

    /// Enters what an effect ends.
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
                    let was_held = self.holds(&key);
                    if let ExecutorState::Lost(LossReason::Preempted { by }) = state
                        && let Some(worker) = outcome.killed_on.get(&key).cloned()
                    {
                        outcome.preempted.push(Preempted { executor: key.clone(), worker, by: by.clone() });
                    }
                    self.release(&key, released);
                    let is_taken_back = matches!(
                        state,
                        ExecutorState::Killed(_) | ExecutorState::Lost(LossReason::Preempted { .. })
                    );
                    if was_held && is_taken_back {
                        outcome.doomed.insert(key);
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

    fn on_worker_message(
        &mut self,
        peer: PeerId,
        message: &MasterToWorker,
        event: &Event,
        added: &mut BTreeSet<ExecutorKey>,
        launched: &mut Vec<Launched>,
    ) -> Result<(), String> {
        match message {
            MasterToWorker::LaunchExecutor(launch) => {
                self.launch(peer, launch)?;
                launched.extend(self.worker_of.get(&peer).map(|worker| (worker.clone(), launch.clone())));
                added.insert(launch.executor.clone());
            }
            MasterToWorker::RegisteredWorker { .. } => {
                let is_answer = matches!(event, Event::Received { peer: asker,
                    message: Inbound::Worker(WorkerToMaster::RegisterWorker { .. }) } if *asker == peer);
                if !is_answer {
                    return Err(format!("peer {peer} is registered as a Worker without having asked"));
                }
            }
            MasterToWorker::RegisterWorkerFailed(_)
            | MasterToWorker::ReconnectWorker
            | MasterToWorker::KillExecutor { .. }
            | MasterToWorker::ApplicationFinished { .. }
            | MasterToWorker::ExecutorEndNoted { .. } => {}
        }
        Ok(())
    }

    fn launch(&mut self, peer: PeerId, launch: &ExecutorLaunch) -> Result<(), String> {
        let key = &launch.executor;
        let Some(worker) = self.worker_of.get(&peer) else {
            return Err(format!("executor {key} is launched on peer {peer}, which is no living Worker"));
        };
        let Some(app) = self.apps.get_mut(&key.app) else {
            return Err(format!("executor {key} is launched for an application that is not live"));
        };
        if key.executor.0 < app.next {
            return Err(format!("executor id {key} is used again"));
        }
        app.next = key.executor.0 + 1;
        app.executors.insert(key.executor, worker.clone());
        let book = self.workers.get_mut(worker).ok_or("a Worker's connection outlives it")?;
        if book.availability == Availability::Decommissioning {
            return Err(format!(
                "executor {key} is launched on {worker}, which has said that it is about to end"
            ));
        }
        book.grants.insert(key.clone(), launch.clone());
        book.check(worker)?;
        self.check_app(&key.app, launch.profile)
    }

    fn check_app(&self, id: &AppId, profile: ProfileId) -> Result<(), String> {
        let Some(app) = self.apps.get(id) else { return Ok(()) };
        let launches = app.executors.iter().filter_map(|(number, worker)| {
            let key = ExecutorKey { app: id.clone(), executor: *number };
            self.workers.get(worker)?.grants.get(&key)
        });
        let (mut cores, mut held) = (Cores::ZERO, 0);
        for launch in launches {
            cores += launch.cores;
            held += u64::from(launch.profile == profile);
        }
        if cores > app.max_cores {
            return Err(format!("application {id} holds {cores}, its maximum is {}", app.max_cores));
        }
        match app.limits.get(&profile) {
            Some(ExecutorLimit::AtMost(limit)) if held > *limit => Err(format!(
                "application {id} holds {held} executors of profile {profile}, its limit is {limit}"
            )),
            Some(_) => Ok(()),
            None => Err(format!(
                "application {id} is given an executor of profile {profile}, which it never named"
            )),
        }
    }

    fn on_driver_message(
        &mut self,
        peer: PeerId,
        message: &MasterToDriver,
        order: &Order<'_>,
        added: &mut BTreeSet<ExecutorKey>,
        released: &BTreeSet<ExecutorKey>,
        outcome: &mut EventOutcome,
    ) -> Result<(), String> {
        match message {
            MasterToDriver::RegisteredApplication { app, .. } => {
                if self.app_of.get(&peer) == Some(app) {
                    return Ok(());
                }
                if self.apps.contains_key(app) {
                    return Err(format!("application id {app} is used again"));
                }
                let Some(description) = self.candidates.get(&peer) else {
                    return Err(format!("peer {peer} is registered as {app} without having asked"));
                };
                let limits = BTreeMap::from([(ProfileId::DEFAULT, description.initial_limit)]);
                let max_cores = description.max_cores.unwrap_or(Cores::UNLIMITED);
                let (relaunch, executors) = (description.relaunch, BTreeMap::new());
                let queue =
                    order.queues.find(description.queue.as_deref()).map_err(|error| error.to_string())?;
                let book = AppBook {
                    peer,
                    max_cores,
                    limits,
                    relaunch,
                    executors,
                    next: 0,
                    queue,
                    priority: description.priority,
                    gang: description.gang,
                    is_fixed: description.profile.cores.is_some(),
                    order: self.registered,
                    begun: false,
                };
                self.registered += 1;
                self.leaving.remove(&peer);
                self.apps.insert(app.clone(), book);
                self.app_of.insert(peer, app.clone());
                outcome.registered.push((app.clone(), peer));
            }
            MasterToDriver::ExecutorAdded { executor, worker, .. } => {
                let Some(app) = self.app_of.get(&peer) else {
                    return Err(format!("peer {peer}, which is no driver, is told of executor {executor}"));
                };
                let key = ExecutorKey { app: app.clone(), executor: *executor };
                let place = self.apps.get(app).and_then(|book| book.executors.get(executor));
                if !added.remove(&key) || place != Some(worker) {
                    return Err(format!(
                        "a driver is told that executor {key} was added on {worker}: it was not"
                    ));
                }
            }
            MasterToDriver::ExecutorUpdated { executor, state, .. } => {
                if let Some((app, executors)) = self.leaving.get_mut(&peer)
                    && state.is_finished()
                    && executors.remove(executor)
                {
                    let key = ExecutorKey { app: app.clone(), executor: *executor };
                    outcome.gone.extend((!matches!(state, ExecutorState::Lost(_))).then_some(key));
                    return Ok(());
                }
                let Some(app) = self.app_of.get(&peer).or(outcome.former.get(&peer)) else {
                    return Err(format!("peer {peer}, which is no driver, is told of executor {executor}"));
                };
                let key = ExecutorKey { app: app.clone(), executor: *executor };
                let is_held = self.apps.get(app).is_some_and(|book| book.executors.contains_key(executor));
                if !is_held && !released.contains(&key) {
                    return Err(format!("a driver is told of executor {key}, which it does not have"));
                }
            }
            MasterToDriver::ExecutorsGone { app } => match self.leaving.remove(&peer) {
                Some((ended, executors)) if ended == *app && executors.is_empty() => {}
                other => return Err(format!("a driver is told that nothing of {app} is left: {other:?}")),
            },
            MasterToDriver::WorkerRemoved { .. }
            | MasterToDriver::ApplicationRemoved(_)
            | MasterToDriver::ExecutorsRequested { .. }
            | MasterToDriver::ExecutorsKilled { .. }
            | MasterToDriver::Shortfalls(_) => {}
        }
        Ok(())
    }

    fn release(&mut self, key: &ExecutorKey, released: &mut BTreeSet<ExecutorKey>) {
        let Some(app) = self.apps.get_mut(&key.app) else { return };
        let Some(worker) = app.executors.remove(&key.executor) else { return };
        if let Some(book) = self.workers.get_mut(&worker) {
            book.grants.remove(key);
        }
        released.insert(key.clone());
    }

    fn remove_worker(&mut self, id: &WorkerId, released: &mut BTreeSet<ExecutorKey>) {
        let Some(book) = self.workers.remove(id) else { return };
        self.worker_of.remove(&book.peer);
        for key in book.grants.into_keys() {
            if let Some(app) = self.apps.get_mut(&key.app) {
                app.executors.remove(&key.executor);
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
        for (executor, worker) in app.executors {
            let key = ExecutorKey { app: id.clone(), executor };
            if let Some(book) = self.workers.get_mut(&worker) {
                book.grants.remove(&key);
            }
            outcome.doomed.insert(key.clone());
            released.insert(key);
        }
        if end != ApplicationEnd::DriverLost {
            self.leaving.insert(peer, (id.clone(), leaving));
        }
        outcome.former.insert(peer, id);
        outcome.ended.push(end);
    }
}

/// Whether a peer was registered as a Worker, and if so, whether the Master knew it already.
fn registration(peer: PeerId, effects: &[Effect]) -> Option<bool> {
    effects.iter().find_map(|effect| match effect {
        Effect::Send {
            peer: to,
            message: Outbound::Worker(MasterToWorker::RegisteredWorker { duplicate, .. }),
        } if *to == peer => Some(*duplicate),
        Effect::Send { .. } | Effect::Close { .. } | Effect::Note(_) => None,
    })
}
