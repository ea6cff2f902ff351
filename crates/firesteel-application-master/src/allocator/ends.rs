//! The ends of executors: by themselves, together with their containers, or on the driver's request.

use std::sync::Arc;

use firesteel_protocol::ids::{ContainerId, ExecutorId};
use firesteel_protocol::time::Timestamp;

use super::Allocator;
use super::cause::{Cause, CountsAgainst};
use super::containers::{Residue, Stage};
use super::effect::Effect;
use super::event::Completed;
use super::health::Verdict;
use super::loss::Loss;
use super::note::Note;

impl Allocator {
    /// Handles the end of a container. If its executor was live, the cause decides whether the end counts as a failure.
    /// The end of a container that was given back does not count.
    pub(super) fn on_completed(&mut self, now: Timestamp, completed: Completed) {
        let Completed { container: id, status, diagnostics } = completed;
        let Some(stage) = self.containers.get(&id).map(|container| container.stage) else {
            return self.effects.note(Note::UnknownEnd { container: id });
        };
        if stage.live().is_some() {
            self.leave(&id, stage);
        }
        let container = self.containers.remove(&id).expect("it was found above");
        match stage {
            Stage::Launching(executor) | Stage::Running(executor) => {
                let cause = match self.driver_is_stopping {
                    true => Cause::DriverStopping,
                    false => Cause::of(status, &diagnostics),
                };
                self.unexpected_ends += 1;
                self.count_end(now, &container.host, cause.counts_against());
                self.lose(executor, container.host, Loss::Ended { cause, diagnostics });
            }
            Stage::Released(Residue::Executor(executor)) => {
                self.lose(executor, container.host, Loss::Killed);
            }
            Stage::Released(Residue::Nothing) => {}
        }
    }

    /// Handles a failed start: gives the container back, and counts the failure for its host.
    ///
    /// Source: Spark on YARN, 4.0.1, where a failed start does not count. So Spark tries for ever to start an
    /// application that cannot be started anywhere.
    pub(super) fn on_start_failed(&mut self, now: Timestamp, id: &ContainerId, error: String) {
        // Meanwhile the container may have been given back, or may have ended.
        let Some(container) = self.containers.get(id) else { return };
        let (stage, host) = (container.stage, Arc::clone(&container.host));
        let Stage::Launching(executor) = stage else { return };
        self.leave(id, stage);
        self.containers.release(id, Residue::Nothing);
        self.effects.note(Note::NotStarted { executor, host: Arc::clone(&host), error: error.clone() });
        if !self.driver_is_stopping {
            self.count_end(now, &host, CountsAgainst::Host);
        }
        self.lose(executor, host, Loss::NotStarted { error });
    }

    /// Ends an executor at the driver's request. Its end is reported when the manager reports the end of the container.
    pub(super) fn kill(&mut self, executor: ExecutorId) {
        let found = self.containers.of(executor).cloned();
        let stage = |id: &ContainerId| Some(self.containers.get(id)?.stage);
        let live = found.and_then(|id| Some((stage(&id).filter(|stage| stage.live().is_some())?, id)));
        let Some((stage, id)) = live else {
            return self.effects.note(Note::UnknownExecutor { executor });
        };
        self.leave(&id, stage);
        self.containers.release(&id, Residue::Executor(executor));
    }

    /// Handles the driver's question why an executor has ended. If the executor has not ended yet, the answer comes
    /// when it ends.
    pub(super) fn on_question(&mut self, now: Timestamp, question: u64, executor: ExecutorId) {
        // The manager may already know the answer, so it is called soon.
        self.pace.wake(now);
        if self.containers.of(executor).is_some() && self.losses.ask(executor, question) {
            return;
        }
        let loss = self.losses.tell(executor);
        self.effects.push(Effect::AnswerLoss { question, executor, loss });
    }

    /// Subtracts an executor from the counts of its profile.
    fn leave(&mut self, id: &ContainerId, stage: Stage) {
        let container = self.containers.get(id).expect("the container was found");
        let profile = self.profiles.get_mut(&container.profile).expect("an executor's profile is known");
        match stage {
            Stage::Launching(_) => profile.starting -= 1,
            Stage::Running(_) => profile.running -= 1,
            Stage::Released(_) => return,
        }
        let count = profile.on_host.get_mut(&container.host).expect("an executor is counted on its host");
        *count -= 1;
        if *count == 0 {
            profile.on_host.remove(&container.host);
        }
    }

    fn count_end(&mut self, now: Timestamp, host: &Arc<str>, counts_against: CountsAgainst) {
        match self.health.failed(now, host, counts_against) {
            Verdict::Nothing => {}
            Verdict::Excluded { failures } => {
                self.effects.note(Note::HostExcluded { host: Arc::clone(host), failures });
            }
        }
    }

    /// Reports an executor's end once, and answers the questions about it.
    fn lose(&mut self, executor: ExecutorId, host: Arc<str>, loss: Loss) {
        for question in self.losses.lose(executor, &loss) {
            let loss = Some(loss.clone());
            self.effects.push(Effect::AnswerLoss { question, executor, loss });
        }
        self.effects.push(Effect::ExecutorEnded { executor, host, loss });
    }
}
