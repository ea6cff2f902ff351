//! The registration, the loss and the absence of executors.

use firesteel_placement::{Resources, Shortfall};
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId, ProfileId};
use firesteel_protocol::messages::{
    DriverToExecutor, DriverToMaster, ExecutorState, LossReason, RefusedExecutor,
};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::secret::Secret;
use firesteel_protocol::time::Timestamp;

use super::executor::{Assigned, Executor};
use crate::applicant::starvation::Asked;
use crate::driver::tasks::TaskPhase;
use crate::driver::tasks::unfit::MAX_ADDRESSES;
use crate::driver::{Answer, Driver, ExecutorLoss, FailureCause, MasterStatus, Note};

/// The maximum number of executors that wait for the Master to announce them.
const MOST_EARLY: usize = 4096;

/// The contents of an executor's registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::driver) struct NewExecutor {
    pub(in crate::driver) app: AppId,
    pub(in crate::driver) executor: ExecutorId,
    pub(in crate::driver) assigned: Assigned,
    /// How many messages of the driver the executor has received on earlier connections. `None`: the executor does not
    /// return after its connection broke.
    pub(in crate::driver) received: Option<u64>,
}

impl Driver {
    /// An executor registers. It is accepted only if it knows the secret and a Master has announced it. If it registers
    /// before the Master has announced it, it waits for the Master's message.
    pub(in crate::driver) fn on_register_executor(
        &mut self,
        now: Timestamp,
        peer: PeerId,
        new_executor: NewExecutor,
        secret: &Secret,
    ) {
        let executor = new_executor.executor;
        if *secret != self.config.secret {
            self.refuse(peer, executor, RefusedExecutor::WrongSecret);
        } else if addresses_length(&new_executor.assigned.resources) > MAX_ADDRESSES {
            self.refuse(peer, executor, RefusedExecutor::TooManyAddresses);
        } else {
            self.receive(now, peer, new_executor);
        }
    }

    /// Accepts an executor, refuses it, or lets it wait until the Master announces it.
    fn receive(&mut self, now: Timestamp, peer: PeerId, new_executor: NewExecutor) {
        let executor = new_executor.executor;
        let mine = self.registration.app() == Some(&new_executor.app);
        if !mine && self.registration.master().is_some() {
            self.refuse(peer, executor, RefusedExecutor::OtherApplication);
        } else if mine && self.executors.is_known(executor) {
            self.admit(now, peer, new_executor);
        } else if self.early.len() < MOST_EARLY {
            if mine {
                // A later attempt of the Master must not give this number to another executor.
                self.registration.see(executor);
            }
            self.early.insert(peer, new_executor);
        } else {
            self.refuse(peer, executor, RefusedExecutor::Unannounced);
        }
    }

    /// The Master has named the application. Executors that waited for this are checked again. Numbers below `first`
    /// belong to an earlier attempt at the application, whose executors have ended.
    pub(in crate::driver) fn receive_early(&mut self, now: Timestamp, first: ExecutorId) {
        for (peer, new_executor) in std::mem::take(&mut self.early) {
            if new_executor.executor < first {
                self.executors.remove(new_executor.executor);
            }
            self.receive(now, peer, new_executor);
        }
    }

    /// The Master has announced an executor. The executor may already be waiting for this.
    pub(in crate::driver) fn receive_announced(&mut self, now: Timestamp, executor: ExecutorId) {
        let waits = |(_, new_executor): &(&PeerId, &NewExecutor)| new_executor.executor == executor;
        let peers: Vec<PeerId> = self.early.iter().filter(waits).map(|(peer, _)| *peer).collect();
        for peer in peers {
            if let Some(new_executor) = self.early.remove(&peer) {
                self.receive(now, peer, new_executor);
            }
        }
    }

    fn admit(&mut self, now: Timestamp, peer: PeerId, new_executor: NewExecutor) {
        let NewExecutor { app: _, executor, assigned, received } = new_executor;
        if received.is_some_and(|received| self.take_back(now, peer, executor, &assigned, received)) {
            return;
        }
        let (profile, host, cores) = (assigned.profile, assigned.host.clone(), assigned.cores);
        let (topology, look) = (&self.config.topology, now + self.config.heartbeats.timeout);
        if self.executors.register(executor, peer, assigned, topology, now, look) {
            self.health.started(&host);
            self.effects.note(Note::ExecutorRegistered { executor, profile, host, cores });
            self.begin_heartbeats(now);
            if received.is_some() && !self.config.away_timeout.is_zero() {
                self.executors.begin_exchange(executor);
            }
            self.confirm(peer, executor);
        } else {
            self.refuse(peer, executor, RefusedExecutor::NumberTaken);
        }
    }

    /// An executor's process runs, but the executor did not register in time. The driver requests another executor. The
    /// failed start counts against the executor's host.
    pub(in crate::driver) fn replace_absent(&mut self, executor: ExecutorId) {
        let host = self.executors.live(executor).host.clone();
        self.executors.kill(executor);
        self.health.start_failed(&host);
        self.effects.note(Note::ExecutorAbsent { executor, host, waited: self.config.executor_timeout });
        self.send_kills(vec![executor]);
    }

    /// Removes a lost executor and runs its tasks again. Asks the Master to end and replace the executor, unless the
    /// Master already knows of the end.
    pub(in crate::driver) fn lose_executor(&mut self, id: ExecutorId, loss: ExecutorLoss) {
        // The end of an executor may be reported twice: by the Master and by its connection.
        let Some(executor) = self.executors.remove(id) else { return };
        let (host, tasks) = (executor.host.clone(), executor.running().len() + executor.interrupted);
        if executor.is_to_come() && ended_by_itself(&loss) {
            self.health.start_failed(&host);
        }
        self.effects.note(Note::ExecutorLost { executor: id, host, loss: loss.clone(), tasks });
        if let Some(peer) = executor.peer() {
            self.send_executor(peer, DriverToExecutor::StopExecutor);
            self.close(peer);
        }
        self.lose_tasks(id, &executor, &loss);
        self.health.executor_ended(id);
        self.end_bound_to(id);
        match loss {
            // The Master knows of it, or ends the executor itself.
            ExecutorLoss::Ended(_) | ExecutorLoss::ApplicationReplaced => {}
            ExecutorLoss::Disconnected | ExecutorLoss::HeartbeatTimeout { .. } | ExecutorLoss::Misbehaved => {
                self.executors.abandon(id);
                self.send_kills(vec![id]);
            }
        }
    }

    /// A new attempt at the application has begun. The executors of earlier attempts have ended.
    pub(in crate::driver) fn lose_executors_before(&mut self, first: ExecutorId) {
        let gone: Vec<_> = self.executors.iter().map(|(id, _)| id).filter(|id| *id < first).collect();
        for id in gone {
            self.lose_executor(id, ExecutorLoss::ApplicationReplaced);
        }
        self.executors.forget_abandoned(first);
    }

    /// The Master registered the application as a new one. The Master ends the executors of the old one, and executor
    /// numbers start again.
    pub(in crate::driver) fn lose_all_executors(&mut self) {
        let all: Vec<_> = self.executors.iter().map(|(id, _)| id).collect();
        for id in all {
            self.lose_executor(id, ExecutorLoss::ApplicationReplaced);
        }
        self.executors.forget_numbers();
        self.tasks.forget_executors();
        self.health.forget_executors();
    }

    pub(in crate::driver) fn request_shortfall(&mut self, why: Asked) {
        if let Some(app) = self.registration.app().cloned() {
            self.starvation.asked(why);
            self.send_master(DriverToMaster::RequestShortfall { app });
        }
    }

    pub(in crate::driver) fn on_shortfalls(
        &mut self,
        now: Timestamp,
        shortfalls: Vec<(ProfileId, Shortfall)>,
    ) {
        self.answer_open(&Answer::Shortfalls(shortfalls.clone()));
        match self.starvation.answered() {
            Asked::Nothing => {}
            Asked::AtOnce => {
                for (profile, shortfall) in shortfalls {
                    if shortfall.reason.lasts() {
                        self.effects.note(Note::NeverFits { profile, shortfall });
                    }
                }
            }
            Asked::Starving => {
                let master = self.registration.master().map(|(_, master)| master.clone());
                if let (Some(waited), Some(master)) = (self.starvation.waited(now), master) {
                    if waited < self.config.starvation_timeout {
                        self.say_why_none_came(shortfalls);
                        return;
                    }
                    if self.give_back_idle(&shortfalls) {
                        return;
                    }
                    let waiting = self.tasks.waiting().profiles();
                    let unwanted = waiting.filter(|profile| self.targets.wants_none(*profile)).collect();
                    let master = MasterStatus::Registered { master, shortfalls, unwanted };
                    self.effects.note(Note::NoExecutor { waited, master });
                }
            }
        }
    }

    /// Notes early why there is no executor. Executors that are already assigned need a moment to start: then nothing
    /// is noted. A permanent reason was noted before.
    fn say_why_none_came(&mut self, mut shortfalls: Vec<(ProfileId, Shortfall)>) {
        shortfalls.retain(|(_, shortfall)| !shortfall.reason.lasts());
        if self.executors.iter().next().is_none() && !shortfalls.is_empty() {
            self.effects.note(Note::StillWaiting { shortfalls });
        }
    }

    /// Writes a note if tasks wait and no executor has come for too long. Before that, asks the Master for the reason.
    pub(in crate::driver) fn complain(&mut self, now: Timestamp) {
        let Some(waited) = self.starvation.due(now) else { return };
        if self.tasks.tally().waiting == 0 {
            return;
        }
        if self.registration.master().is_some() {
            self.request_shortfall(Asked::Starving);
        } else if waited >= self.config.starvation_timeout {
            self.effects.note(Note::NoExecutor { waited, master: MasterStatus::Lost });
        }
    }

    fn refuse(&mut self, peer: PeerId, executor: ExecutorId, reason: RefusedExecutor) {
        self.effects.note(Note::ExecutorRefused { executor, reason });
        self.send_executor(peer, DriverToExecutor::RegisterExecutorFailed(reason));
        self.close(peer);
    }

    /// Reruns the tasks of a lost executor. The executor's death counts as a failure only of tasks that may have caused
    /// it.
    fn lose_tasks(&mut self, id: ExecutorId, executor: &Executor, loss: &ExecutorLoss) {
        let cause = match loss {
            ExecutorLoss::Ended(state) => {
                died_by_itself(state).then(|| FailureCause::ExecutorDied(state.clone()))
            }
            ExecutorLoss::Disconnected
            | ExecutorLoss::HeartbeatTimeout { .. }
            | ExecutorLoss::ApplicationReplaced
            | ExecutorLoss::Misbehaved => None,
        };
        for task in executor.running() {
            match (&self.tasks.live(task).phase, &cause) {
                (&TaskPhase::Running { attempt, .. }, Some(cause)) => {
                    self.fail_attempt(attempt, id, &executor.host, cause.clone());
                }
                (&TaskPhase::Running { attempt, .. }, None) => self.repeat_attempt(attempt),
                (TaskPhase::Cancelling { .. }, _) => self.end_cancelled(task),
                (TaskPhase::Waiting, _) => unreachable!("a task that an executor runs does not wait"),
            }
        }
    }
}

/// The maximum number of bytes that these addresses take on the wire.
fn addresses_length(resources: &Resources) -> usize {
    // The length before each text takes at most 5 bytes.
    let text = |text: &str| text.len() + 5;
    let all =
        resources.words().map(|(name, words)| text(name) + 5 + words.map(|word| text(&word)).sum::<usize>());
    all.sum()
}

/// Whether the executor's process failed to start, or ended without a request.
fn ended_by_itself(loss: &ExecutorLoss) -> bool {
    match loss {
        ExecutorLoss::Ended(ExecutorState::Exited(_) | ExecutorState::Failed(_)) => true,
        ExecutorLoss::Ended(
            ExecutorState::Launching
            | ExecutorState::Running
            | ExecutorState::Killed(_)
            | ExecutorState::Lost(_),
        )
        | ExecutorLoss::Disconnected
        | ExecutorLoss::HeartbeatTimeout { .. }
        | ExecutorLoss::ApplicationReplaced
        | ExecutorLoss::Misbehaved => false,
    }
}

/// Whether the process ended by itself with a failure.
///
/// Source: Spark's driver, 4.0.1. In Spark, ends for known reasons outside the application do not count either.
fn died_by_itself(state: &ExecutorState) -> bool {
    match state {
        ExecutorState::Exited(status) => *status != ExitStatus::SUCCESS,
        ExecutorState::Lost(LossReason::OverLimit { .. }) => true,
        ExecutorState::Launching
        | ExecutorState::Running
        | ExecutorState::Killed(_)
        | ExecutorState::Failed(_)
        | ExecutorState::Lost(_) => false,
    }
}
