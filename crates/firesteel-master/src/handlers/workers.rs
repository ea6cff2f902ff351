//! How Workers register, report and are lost.

use std::collections::BTreeSet;
use std::time::Duration;

use firesteel_placement::advanced::index::Slot;
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{self, ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::last_seen::LATE;
use firesteel_protocol::messages::{
    DepartureCause, DriverReport, ExecutorReport, ExecutorState, Impairment, LossReason, MOST_CORES,
    MasterToDriver, MasterToWorker, RefusedRegistration, WorkerDescription, WorkerState,
};
use firesteel_protocol::time::{Timestamp, millis};

use crate::limits::MOST_MEMORY;
use crate::tables::executors::executor::Probation;
use crate::tables::link::{Absence, AbsenceCause, Link};
use crate::tables::workers::orders::Overdue;
use crate::tables::workers::silence::Silence;
use crate::tables::workers::unknown_processes::UnknownProcess;
use crate::{Effect, Ignored, Master, Note, Pass};

impl Master {
    /// Registers a Worker.
    ///
    /// Source: Spark Master, 4.0.1. Firesteel differs in two points. The message lists the Worker's executors, so that
    /// the Master notices a launch that was lost with an old connection. And a Worker that returns and shows its token
    /// is moved to its new connection.
    pub(crate) fn on_register_worker(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        worker: WorkerDescription,
        executors: Vec<ExecutorReport>,
        drivers: Vec<DriverReport>,
    ) {
        if let Some(own) = self.worker_of(peer).filter(|own| *own != worker.id) {
            let named = format!("{} on the connection of {own}", worker.id);
            return self.ignore(peer, Ignored::NotItsOwn { named });
        }
        if let Err(reason) = self.admits(peer, &worker, &executors, &drivers) {
            self.effects.note(Note::WorkerRefused { worker: worker.id, reason: reason.clone() });
            return self.tell_worker(peer, MasterToWorker::RegisterWorkerFailed(reason));
        }
        // What it has seen is compared, but is no part of the state.
        let mut worker = worker;
        let seen = std::mem::take(&mut worker.seen);
        if let Err((theirs, ours)) = self.compare_state(now, worker.id.as_str(), &seen) {
            let reason = RefusedRegistration::OtherState { theirs, ours };
            self.effects.note(Note::WorkerRefused { worker: worker.id, reason: reason.clone() });
            return self.tell_worker(peer, MasterToWorker::RegisterWorkerFailed(reason));
        }
        // A Worker registers only whole addresses.
        worker.resources = worker.resources.made_whole();
        let id = worker.id.clone();
        let old = self.workers.get(&id).map(|row| row.link);
        match old {
            None => {
                self.replace_absent(now, &worker);
                self.effects.note(Note::WorkerRegistered {
                    worker: id.clone(),
                    cores: worker.cores,
                    memory: worker.memory,
                });
                let number = self.workers.registered();
                self.add_worker(now, number, worker, peer.into());
                self.pass = Pass::Due;
            }
            Some(Link::Here(old)) if old == peer => {}
            Some(old) => {
                self.effects.note(Note::WorkerReconnected { worker: id.clone() });
                let hears_again = self.workers.move_to(&id, peer);
                if hears_again || !old.is_here() {
                    self.pass = Pass::Due;
                }
                if hears_again {
                    self.note_recovery(&id);
                }
                self.effects.extend(old.peer().map(|peer| Effect::Close { peer }));
            }
        }
        let slot = self.workers.slot(&id).expect("it was just registered");
        self.hear_worker(slot, now);
        let heartbeat_millis = millis(self.config.worker_timeout / 4);
        // A Worker that was away reports again the facts that the Master does not record.
        let (master_url, duplicate) = (self.config.url.clone(), old.is_some_and(Link::is_here));
        let (web_address, mark) = (self.config.web_address.clone(), self.mark());
        self.tell_worker(
            peer,
            MasterToWorker::RegisteredWorker { master_url, heartbeat_millis, duplicate, web_address, mark },
        );
        self.tell_to_leave(now, slot);
        // On the same connection, an order to launch may still be on its way, so a missing executor may yet appear.
        let is_elsewhere = old.is_some_and(|old| old != Link::Here(peer));
        if is_elsewhere {
            // A restarted Master may never have sent the order, so it chooses anew.
            let was_cut = old.and_then(Link::absence).is_none_or(|it| it.cause == AbsenceCause::Disconnected);
            let repeated = if was_cut { self.repeat_orders(now, slot, &executors) } else { Vec::new() };
            let row = self.workers.row_mut(slot);
            row.is_to_list = row.description.label.is_some();
            if !row.is_to_list {
                self.lose_unnamed(now, &id, executors.iter().map(|report| &report.executor).chain(&repeated));
            }
        }
        self.forget_unknown_processes(slot);
        for report in executors {
            self.reconcile(now, peer, &id, report);
        }
        self.reconcile_drivers(now, (peer, slot), drivers, is_elsewhere);
        self.note_unknown_processes(now, slot);
    }

    /// Handles the list of executors of a Worker that listed none when it registered.
    ///
    /// Source: Spark Master, 4.0.1: executors that the Master does not know are ended.
    pub(crate) fn on_worker_latest_state(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        worker: &WorkerId,
        executors: Vec<ExecutorReport>,
    ) {
        let Some(slot) = self.own_slot(peer, worker) else { return };
        if let Err(reason) = self.config.limits.check_executors(&executors) {
            return self.effects.note(Note::WorkerRefused { worker: worker.clone(), reason });
        }
        if std::mem::take(&mut self.workers.row_mut(slot).is_to_list) {
            self.lose_unnamed(now, worker, executors.iter().map(|report| &report.executor));
        }
        for report in executors {
            self.reconcile(now, peer, worker, report);
        }
        self.note_unknown_processes(now, slot);
    }

    /// Removes an absent Worker with the same address as a new one. The absent Worker must have ended, because its
    /// address is in use.
    ///
    /// Source: Spark Master, 4.0.1 ("Worker replaced by a new worker with same address").
    fn replace_absent(&mut self, now: Timestamp, worker: &WorkerDescription) {
        if let Some(other) = self.workers.at_address(&worker.address()).cloned() {
            self.remove_worker(now, &other, LossReason::NotBack);
        }
    }

    fn worker_of(&self, peer: PeerId) -> Option<WorkerId> {
        self.workers.of_peer(peer).map(|row| row.description.id.clone())
    }

    fn admits(
        &self,
        peer: PeerId,
        worker: &WorkerDescription,
        executors: &[ExecutorReport],
        drivers: &[DriverReport],
    ) -> Result<(), RefusedRegistration> {
        let WorkerDescription { cores, memory, .. } = *worker;
        if !ids::is_sound(worker.id.as_str()) {
            return Err(RefusedRegistration::UnsoundId);
        }
        let living = self.workers.get(&worker.id);
        if living.is_some_and(|row| row.link != Link::Here(peer) && row.description.token != worker.token) {
            return Err(RefusedRegistration::IdTaken);
        }
        if !(Cores(1)..=MOST_CORES).contains(&cores) || !(MiB(1)..=MOST_MEMORY).contains(&memory) {
            return Err(RefusedRegistration::UnsoundSize { cores, memory });
        }
        let limits = &self.config.limits;
        limits.check_worker(worker, executors)?;
        limits.check_drivers(drivers)?;
        if living.is_none() {
            limits.check_workers(self.workers.alive_count())?;
        }
        let address = firesteel_protocol::address::Address::new(worker.host.clone(), worker.port);
        match self.workers.at_address(&address) {
            Some(other) if *other != worker.id && self.workers.living(other).link.is_here() => {
                Err(RefusedRegistration::SameAddress { address: address.to_string(), other: other.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Repeats the orders to launch executors that a returned Worker does not list: the orders were lost with its old
    /// connection. Returns these executors.
    fn repeat_orders(&mut self, now: Timestamp, slot: Slot, listed: &[ExecutorReport]) -> Vec<ExecutorKey> {
        let listed: BTreeSet<&ExecutorKey> = listed.iter().map(|report| &report.executor).collect();
        let row = self.workers.row(slot);
        let (link, worker) = (row.link, row.description.id.clone());
        let unlisted = row.executors.iter().filter(|key| !listed.contains(key));
        let is_launching = |key: &&ExecutorKey| self.probation_of(key) == Some(Probation::Launching);
        let lost: Vec<ExecutorKey> = unlisted.filter(is_launching).cloned().collect();
        for executor in &lost {
            let row = self.workers.row(slot);
            let order = self.applications.live(&executor.app).order(executor.executor, row);
            self.tell_worker(link, MasterToWorker::LaunchExecutor(order));
            self.workers.row_mut(slot).orders.sent(now, executor.clone());
            self.effects.note(Note::OrderRepeated { executor: executor.clone(), worker: worker.clone() });
        }
        lost
    }

    /// Handles executors that a Worker does not list on a new connection: they were never launched, or their processes
    /// have ended.
    fn lose_unnamed<'a>(
        &mut self,
        now: Timestamp,
        worker: &WorkerId,
        named: impl Iterator<Item = &'a ExecutorKey>,
    ) {
        let row = self.workers.living(worker);
        let named: BTreeSet<&ExecutorKey> = named.collect();
        let unnamed: Vec<_> = row.executors.iter().filter(|key| !named.contains(key)).cloned().collect();
        for executor in unnamed {
            self.end_executor(now, &executor, ExecutorState::Lost(LossReason::LaunchLost));
        }
        self.forget_executors_on(worker, &named, &LossReason::LaunchLost);
    }

    /// Handles one executor that a Worker lists when it registers.
    fn reconcile(&mut self, now: Timestamp, peer: PeerId, worker: &WorkerId, report: ExecutorReport) {
        self.see_executor(now, worker.as_str(), &report.executor);
        if self.workers.living(worker).executors.contains(&report.executor) {
            self.update_executor(now, peer, report);
        } else if report.state.is_finished() {
            self.learn_end(now, worker, &report.executor, (&report.state, report.used));
            self.report_end(worker, &report.executor, &report.state);
        } else if self.is_held(&report.executor) {
            let slot = self.workers.slot(worker).expect("the Worker is alive");
            self.hold(slot, UnknownProcess::Executor(report.executor));
        } else {
            let (executor, worker) = (report.executor.clone(), worker.clone());
            let ended = self.applications.ended_executor(&executor);
            let note = match ended.and_then(|(_, record)| Some((record.state.clone(), record.ended?))) {
                Some((state, ended)) => Note::EndedExecutorReturned { executor, worker, state, ended },
                None => Note::UnknownExecutor { executor, worker },
            };
            self.effects.note(note);
            self.tell_worker(peer, MasterToWorker::KillExecutor { executor: report.executor });
        }
    }

    /// Handles a Worker's heartbeat. `arrived` is when the heartbeat arrived, and `last_order` is the last order that
    /// the Worker received. Unlike Spark's, this Master always asks an unknown Worker to register.
    pub(crate) fn on_heartbeat(
        &mut self,
        now: Timestamp,
        (peer, arrived): (PeerId, Timestamp),
        worker: &WorkerId,
        last_order: Option<&ExecutorKey>,
    ) {
        let Some(slot) = self.own_slot(peer, worker) else {
            if self.workers.of_peer(peer).is_none() {
                self.tell_worker(peer, MasterToWorker::ReconnectWorker);
            }
            return;
        };
        self.hear_worker(slot, arrived);
        let overdue = self.workers.row_mut(slot).orders.hear(arrived, last_order);
        if last_order.is_some() {
            self.hears_again(slot);
        }
        self.pursue(now, (slot, worker), overdue);
        self.repeat_driver_orders((slot, worker), arrived);
    }

    /// Records when a Worker last sent a message. If the Worker was late, it no longer counts as late.
    fn hear_worker(&mut self, slot: Slot, at: Timestamp) {
        if self.workers.hear(slot, at, self.config.worker_timeout) {
            let worker = self.workers.row(slot).description.id.clone();
            self.effects.note(Note::WorkerHeard { worker });
        }
    }

    /// Handles a Worker's report on an executor as the answer to the launch order. If the executor has started or was
    /// ended, the Worker evidently receives orders. This is true even if the Master had given up the order.
    pub(super) fn hear_of(&mut self, slot: Slot, report: &ExecutorReport) {
        let answers = self.workers.row_mut(slot).orders.answer(&report.executor);
        if answers || matches!(report.state, ExecutorState::Running | ExecutorState::Killed(_)) {
            self.hears_again(slot);
        }
    }

    /// Records that a Worker has answered. If it had not answered orders before, it gets executors again.
    fn hears_again(&mut self, slot: Slot) {
        if self.workers.set_deaf(slot, false) {
            let worker = self.workers.row(slot).description.id.clone();
            self.note_recovery(&worker);
            self.pass = Pass::Due;
        }
    }

    /// The slot of the Worker that a message names. If it is not the Worker of this connection, the message is ignored.
    pub(super) fn own_slot(&mut self, peer: PeerId, named: &WorkerId) -> Option<Slot> {
        match self.workers.slot_of_peer(peer) {
            None => self.ignore(peer, Ignored::NotRegistered),
            Some(slot) if self.workers.row(slot).description.id == *named => return Some(slot),
            Some(_) => self.ignore(peer, Ignored::NotItsOwn { named: named.to_string() }),
        }
        None
    }

    /// Repeats orders that a Worker did not answer. After too many repetitions, the Master takes the executor back and
    /// gives it to another Worker. Then the Worker gets no new executors until it answers.
    fn pursue(&mut self, now: Timestamp, (slot, worker): (Slot, &WorkerId), overdue: Overdue) {
        let link = self.workers.row(slot).link;
        for executor in overdue.repeated {
            if self.probation_of(&executor) == Some(Probation::Launching) {
                let order =
                    self.applications.live(&executor.app).order(executor.executor, self.workers.row(slot));
                self.tell_worker(link, MasterToWorker::LaunchExecutor(order));
                self.effects.note(Note::OrderRepeated { executor, worker: worker.clone() });
            }
        }
        for executor in overdue.given_up {
            if self.probation_of(&executor) == Some(Probation::Launching) {
                if self.workers.set_deaf(slot, true) {
                    let (worker, impairment) = (worker.clone(), Impairment::Deaf);
                    self.effects.note(Note::WorkerImpaired { worker, impairment });
                }
                self.tell_worker(link, MasterToWorker::KillExecutor { executor: executor.clone() });
                self.end_executor(now, &executor, ExecutorState::Lost(LossReason::Unanswered));
            }
        }
    }

    /// Handles a Worker's message about whether it can start executors. While it cannot, it gets none, and failures on
    /// it do not count.
    pub(crate) fn on_starts_checked(&mut self, peer: PeerId, worker: &WorkerId, error: Option<String>) {
        let Some(slot) = self.own_slot(peer, worker) else { return };
        if !self.workers.set_cannot_start(slot, error.clone()) {
            return;
        }
        match error {
            Some(error) => {
                let (worker, impairment) = (worker.clone(), Impairment::CannotStart(error));
                self.effects.note(Note::WorkerImpaired { worker, impairment });
            }
            None => self.note_recovery(worker),
        }
        self.pass = Pass::Due;
    }

    /// Logs that an impairment of a Worker is over. The note names the next impairment, or that the Worker gets
    /// executors again. For a Worker that is excluded or about to end, nothing is logged.
    fn note_recovery(&mut self, worker: &WorkerId) {
        let row = self.workers.living(worker);
        let worker = worker.clone();
        match row.impairment() {
            Some(impairment) => self.effects.note(Note::WorkerImpaired { worker, impairment }),
            None if row.serves() => self.effects.note(Note::WorkerRecovered { worker }),
            None => {}
        }
    }

    pub(crate) fn on_worker_disconnected(&mut self, now: Timestamp, peer: PeerId) {
        let Some(slot) = self.workers.slot_of_peer(peer) else { return };
        let row = self.workers.row(slot);
        let (worker, address) = (row.description.id.clone(), row.address());
        let Some(absence) = self.absence(now, &row.description.callback).filter(|_| !row.has_left()) else {
            return self.remove_worker(now, &worker, LossReason::Disconnected);
        };
        let executors = row.executors.len();
        self.workers.set_away(slot, absence);
        let Absence { since, until, .. } = absence;
        self.effects.note(Note::WorkerAway { worker: worker.clone(), executors, within: until.since(since) });
        self.effects.push(Effect::Probe { worker, address, since, until });
    }

    /// Removes a Worker that is away and whose process has ended. If the Worker has returned since the question was
    /// asked, nothing happens.
    pub(crate) fn on_worker_gone(&mut self, now: Timestamp, worker: &WorkerId, since: Timestamp) {
        let absence = self.workers.get(worker).and_then(|row| row.link.absence());
        if absence.is_some_and(|it| it.cause == AbsenceCause::Disconnected && it.since == since) {
            self.remove_worker(now, worker, LossReason::Disconnected);
        }
    }

    /// Removes every Worker whose heartbeat is overdue, and closes its connection. A Worker that was only slow will
    /// register again. A Worker is silent if no heartbeat arrived in time, and all messages that arrived until then
    /// have been handled. If the Master itself was suspended, it may not have received waiting heartbeats yet. Then the
    /// Workers' timeouts start again, once.
    pub(crate) fn remove_silent_workers(&mut self, now: Timestamp, heard_until: Timestamp) {
        let timeout = self.config.worker_timeout;
        let late = self.workers.next_look().map_or(Duration::ZERO, |due| now.since(due));
        if late > LATE {
            let workers = self.workers.excuse_silent(now, timeout);
            if workers > 0 {
                self.effects.note(Note::WorkersExcused { workers, late });
            }
        }
        while let Some(silence) = self.workers.next_silent(now, heard_until, timeout) {
            let id = match silence {
                Silence::Late { worker, last_seen } => {
                    self.effects.note(Note::WorkerLate { worker, silent: now.since(last_seen) });
                    continue;
                }
                Silence::Over(id) => id,
            };
            let link = self.workers.living(&id).link;
            self.remove_worker(now, &id, LossReason::HeartbeatTimeout { seconds: timeout.as_secs() });
            self.effects.extend(link.peer().map(|peer| Effect::Close { peer }));
        }
    }

    /// Removes a lost Worker with all its executors and cluster drivers.
    ///
    /// Source: Spark Master, 4.0.1. Executors that are lost in this way do not count as failed.
    pub(crate) fn remove_worker(&mut self, now: Timestamp, id: &WorkerId, reason: LossReason) {
        let row = self.workers.living(id);
        // Nobody knows what still runs on a Worker that was away.
        let has_left = reason == LossReason::Disconnected && row.link.is_here() && row.has_left();
        let cause = if has_left { row.departure_cause() } else { DepartureCause::Lost(reason) };
        self.take_out_worker(now, id, cause);
    }

    /// Removes a Worker that is lost, or has left in order.
    pub(crate) fn take_out_worker(&mut self, now: Timestamp, id: &WorkerId, cause: DepartureCause) {
        let reason = cause.loss();
        let row = self.workers.living(id);
        let (host, executors) = (row.description.host.clone(), row.executors.clone());
        let worker = id.clone();
        self.effects.note(match cause.state() {
            WorkerState::Left => Note::WorkerLeft { worker },
            _ => Note::WorkerRemoved { worker, reason: reason.clone(), executors: executors.len() },
        });
        for executor in &executors {
            self.end_executor(now, executor, ExecutorState::Lost(reason.clone()));
        }
        self.forget_executors_on(id, &BTreeSet::new(), &reason);
        let slot = self.workers.slot(id).expect("the Worker is alive");
        self.lose_drivers_on(now, slot, &reason);
        self.retire_worker(now, slot, cause);
        let drivers: Vec<Link> = self.applications.queue().map(|app| app.link).collect();
        for driver in drivers {
            let (worker, host, reason) = (id.clone(), host.clone(), reason.clone());
            self.tell_driver(driver, MasterToDriver::WorkerRemoved { worker, host, reason });
        }
        self.pass = Pass::Due;
    }
}
