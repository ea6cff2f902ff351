//! Checks each message that the Master sends against the books, and enters the message.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_master::{Event, Inbound};
use firesteel_placement::{Cores, ExecutorLimit};
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, ExecutorLaunch, ExecutorState, MasterToDriver, MasterToWorker, WorkerDescription,
    WorkerToMaster,
};
use firesteel_protocol::scheduling::ServingOrder;
use firesteel_protocol::scheduling::run_time;
use firesteel_protocol::wire;

use super::super::entrance::PLAUSIBLE;
use super::books::{AppBook, Availability};
use super::queue_order::Launched;
use super::{EventOutcome, Ledger, Order, budget};

impl Ledger {
    pub(super) fn on_worker_message(
        &mut self,
        peer: PeerId,
        message: &MasterToWorker,
        event: &Event,
        added: &mut BTreeSet<ExecutorKey>,
        launched: &mut Vec<Launched>,
        released: &mut BTreeSet<ExecutorKey>,
    ) -> Result<(), String> {
        match message {
            MasterToWorker::LaunchExecutor(launch) if self.is_repeated(peer, launch, event) => {}
            MasterToWorker::LaunchExecutor(launch) => {
                self.launch(peer, launch)?;
                launched.extend(self.worker_of.get(&peer).map(|worker| (worker.clone(), launch.clone())));
                added.insert(launch.executor.clone());
            }
            MasterToWorker::RegisteredWorker { .. } => {
                let is_answer = matches!(event, Event::Received { peer: asker,
                    message: Inbound::Worker(WorkerToMaster::RegisterWorker { .. }), .. } if *asker == peer);
                if !is_answer {
                    return Err(format!("peer {peer} is registered as a Worker without having asked"));
                }
                if let Event::Received { message: Inbound::Worker(message), .. } = event
                    && let WorkerToMaster::RegisterWorker { worker, .. } = message
                {
                    self.check_claim(worker)?;
                }
            }
            MasterToWorker::KillExecutor { executor } if self.is_on(peer, executor) => {
                // The executor was launched and preempted in the same event.
                self.release(executor, released);
                let taken = launched.extract_if(.., |(_, launch)| launch.executor == *executor);
                self.taken.extend(taken.map(|(worker, launch)| (worker, launch.executor.app)));
            }
            MasterToWorker::LaunchDriver(launch) => self.launch_driver(peer, launch, event)?,
            MasterToWorker::RegisterWorkerFailed(_)
            | MasterToWorker::ReconnectWorker
            | MasterToWorker::KillExecutor { .. }
            | MasterToWorker::ApplicationFinished { .. }
            | MasterToWorker::ExecutorEndNoted { .. }
            | MasterToWorker::DecommissionWorker { .. }
            | MasterToWorker::KillDriver { .. }
            | MasterToWorker::DriverEndNoted { .. } => {}
        }
        Ok(())
    }

    /// Checks a Worker's description when it is registered.
    fn check_claim(&self, worker: &WorkerDescription) -> Result<(), String> {
        if self.workers.get(&worker.id).is_some_and(|book| book.total.token != worker.token) {
            return Err(format!("{} is taken over by a Worker without its token", worker.id));
        }
        if worker.cores > PLAUSIBLE {
            return Err(format!("{} is believed to have {} cores", worker.id, worker.cores));
        }
        Ok(())
    }

    /// Whether the Worker of this connection holds the executor in the books.
    pub(crate) fn is_on(&self, peer: PeerId, executor: &ExecutorKey) -> bool {
        let book = self.worker_of.get(&peer).and_then(|worker| self.workers.get(worker));
        book.is_some_and(|book| book.grants.contains_key(executor))
    }

    /// Whether an order repeats an earlier order that the Worker's heartbeat did not confirm, or that a returned Worker
    /// does not list.
    fn is_repeated(&self, peer: PeerId, launch: &ExecutorLaunch, event: &Event) -> bool {
        let Event::Received { peer: worker, message: Inbound::Worker(message), .. } = event else {
            return false;
        };
        let is_unanswered = match message {
            WorkerToMaster::Heartbeat { .. } => true,
            WorkerToMaster::RegisterWorker { executors, .. } => {
                executors.iter().all(|listed| listed.executor != launch.executor)
            }
            _ => false,
        };
        let book = self.worker_of.get(&peer).and_then(|worker| self.workers.get(worker));
        *worker == peer
            && is_unanswered
            && book.and_then(|book| book.grants.get(&launch.executor)) == Some(launch)
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
        app.launched.insert(key.executor, self.now);
        let book = self.workers.get_mut(worker).ok_or("a Worker's connection outlives it")?;
        if book.availability == Availability::Decommissioning {
            return Err(format!(
                "executor {key} is launched on {worker}, which has said that it is about to end"
            ));
        }
        if book.cannot_start {
            return Err(format!(
                "executor {key} is launched on {worker}, which has said that it can start none"
            ));
        }
        if let Some(asked) = app.asked.get(&launch.profile) {
            book.check_share(launch, asked)?;
        }
        book.grants.insert(key.clone(), launch.clone());
        book.check(worker)?;
        self.check_excluded(worker, launch)?;
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

    pub(super) fn on_driver_message(
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
                self.on_registered(peer, app, order, outcome)
            }
            MasterToDriver::ExecutorAdded { executor, worker, .. } => {
                self.on_added(peer, *executor, worker, added, outcome)
            }
            MasterToDriver::ExecutorUpdated { executor, state, .. } => {
                self.on_updated(peer, *executor, state, released, outcome)
            }
            MasterToDriver::ExecutorsGone { app } => match self.leaving.remove(&peer) {
                Some((ended, executors)) if ended == *app && executors.is_empty() => Ok(()),
                other => Err(format!("a driver is told that nothing of {app} is left: {other:?}")),
            },
            MasterToDriver::WorkerRemoved { .. }
            | MasterToDriver::ApplicationRemoved(_)
            | MasterToDriver::ExecutorLeaving { .. }
            | MasterToDriver::ExecutorsRequested { .. }
            | MasterToDriver::ExecutorsKilled { .. }
            | MasterToDriver::Shortfalls(_) => Ok(()),
        }
    }

    fn on_registered(
        &mut self,
        peer: PeerId,
        app: &AppId,
        order: &Order<'_>,
        outcome: &mut EventOutcome,
    ) -> Result<(), String> {
        if self.app_of.get(&peer) == Some(app) {
            return Ok(());
        }
        let Some(candidate) = self.candidates.get(&peer) else {
            return Err(format!("peer {peer} is registered as {app} without having asked"));
        };
        if self.apps.contains_key(app) {
            return self.on_resumed(peer, app, outcome);
        }
        let description = &candidate.description;
        let limits = BTreeMap::from([(ProfileId::DEFAULT, description.initial_limit)]);
        let asked = BTreeMap::from([(ProfileId::DEFAULT, description.profile.resources.clone())]);
        let max_cores = description.max_cores.unwrap_or(Cores::UNLIMITED);
        let (relaunch, executors) = (description.relaunch, BTreeMap::new());
        let queue = order.queues.find(description.queue.as_deref()).map_err(|error| error.to_string())?;
        let run_time = run_time::told(description.command.environment());
        let book = AppBook {
            run_time,
            due: due(description, run_time, order),
            peer: Some(peer),
            away_until: None,
            token: description.token.clone(),
            max_cores,
            limits,
            asked,
            relaunch,
            executors,
            next: 0,
            launched: BTreeMap::new(),
            user: description.user.clone(),
            described: budget::weight(wire::length(description)),
            preferred: 0,
            queue,
            priority: description.priority,
            gang: description.gang,
            since: order.now,
            is_fixed: description.profile.cores.is_some(),
            order: self.registered,
            begun: false,
            avoids: false,
        };
        self.registered += 1;
        self.leaving.remove(&peer);
        self.apps.insert(app.clone(), book);
        self.app_of.insert(peer, app.clone());
        outcome.registered.push((app.clone(), peer));
        Ok(())
    }

    fn on_added(
        &self,
        peer: PeerId,
        executor: ExecutorId,
        worker: &WorkerId,
        added: &mut BTreeSet<ExecutorKey>,
        outcome: &mut EventOutcome,
    ) -> Result<(), String> {
        let Some(app) = self.app_of.get(&peer) else {
            return Err(format!("peer {peer}, which is no driver, is told of executor {executor}"));
        };
        let key = ExecutorKey { app: app.clone(), executor };
        let place = self.apps.get(app).and_then(|book| book.executors.get(&executor));
        let is_news = outcome.resumed.as_mut().is_some_and(|resumed| resumed.hear_of(peer, executor));
        // A driver that returned is told the ends of executors that it did not know.
        if (is_news && place.is_none()) || (added.remove(&key) || is_news) && place == Some(worker) {
            return Ok(());
        }
        Err(format!("a driver is told that executor {key} was added on {worker}: it was not"))
    }

    fn on_updated(
        &mut self,
        peer: PeerId,
        executor: ExecutorId,
        state: &ExecutorState,
        released: &BTreeSet<ExecutorKey>,
        outcome: &mut EventOutcome,
    ) -> Result<(), String> {
        if let Some((app, executors)) = self.leaving.get_mut(&peer)
            && state.is_finished()
            && executors.remove(&executor)
        {
            let key = ExecutorKey { app: app.clone(), executor };
            outcome.gone.extend((!matches!(state, ExecutorState::Lost(_))).then_some(key));
            return Ok(());
        }
        let Some(app) = self.app_of.get(&peer).or(outcome.former.get(&peer)) else {
            return Err(format!("peer {peer}, which is no driver, is told of executor {executor}"));
        };
        let key = ExecutorKey { app: app.clone(), executor };
        let is_held = self.apps.get(app).is_some_and(|book| book.executors.contains_key(&executor));
        if !is_held && outcome.resumed.as_mut().is_some_and(|resumed| resumed.hear_of_end(peer, executor)) {
            return Ok(());
        }
        if !is_held && !released.contains(&key) {
            return Err(format!("a driver is told of executor {key}, which it does not have"));
        }
        Ok(())
    }
}

/// The deadline of an application that is registered now, in milliseconds.
fn due(description: &ApplicationDescription, run_time: Option<Duration>, order: &Order<'_>) -> u64 {
    match order.serving {
        ServingOrder::Registration => 0,
        ServingOrder::Shortest => {
            let limit = match description.initial_limit {
                ExecutorLimit::AtMost(limit) => limit,
                ExecutorLimit::Unlimited => u64::MAX,
            };
            let affordable = match (description.max_cores, description.profile.cores) {
                (Some(max), Some(each)) => u64::try_from(max.0 / each.0.max(1)).unwrap_or(0),
                (None, _) | (_, None) => u64::MAX,
            };
            let one_by_one = match limit.min(affordable) {
                u64::MAX => 1,
                executors => executors.max(1),
            };
            let hour = 3_600_000;
            let each = run_time.map_or(hour, |told| u64::try_from(told.as_millis()).unwrap_or(u64::MAX));
            let (executors, later) =
                if description.gang > 1 { (description.gang, 0) } else { (one_by_one, hour) };
            order.now.saturating_add(each.saturating_mul(executors)).saturating_add(later)
        }
    }
}
