//! `wait --executors`, `request`, `kill`, `why` and `profile add`.

use std::cmp::Reverse;
use std::time::Duration;

use firesteel_placement::ExecutorLimit;
use firesteel_protocol::ids::{ExecutorId, ProfileId};
use firesteel_protocol::messages::ResourceProfile;

use crate::driver::{Allocation, Replacement, View};
use crate::session::course::{Course, Failure, INTERRUPTED, Outcome, TICK, fail, fail_with, ready};
use crate::session::state::{Reason, Refusal, Wait};
use crate::session::{
    AddedProfile, Answer, AnswerState, Complaint, Effect, Event, Shortfalls, Surplus, TaskShare,
};

/// How long a command waits for requested executors.
const COME: Duration = Duration::from_secs(2);
/// How long a command waits for executors to end.
const GO: Duration = Duration::from_secs(15);
/// Timeout for the Master's answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Why the Master has not answered.
enum NoAnswer {
    Silent,
    Interrupted,
}

impl Course {
    pub(super) async fn wait_for_executors(&self, count: usize, limit: Duration) -> Outcome {
        let until = self.now() + limit;
        loop {
            let view = self.look().await;
            let ready = ready(&view).count();
            if ready >= count {
                return Ok(0);
            }
            if let Some(wanted) = self.wanted(&view).filter(|wanted| *wanted < count as u64) {
                return fail(Complaint::FewerWanted { wanted, count });
            }
            if self.now() >= until {
                self.complain(Complaint::NotReady { ready, count, limit });
                return self.why(1).await;
            }
            self.sleep(until.min(self.now() + TICK)).await?;
        }
    }

    /// The number of requested executors in all profiles. `None` if it is unlimited or changes by itself.
    fn wanted(&self, view: &View) -> Option<u64> {
        let totals = view.targets.iter().map(|(_, limit)| match limit {
            ExecutorLimit::AtMost(total) => Some(*total),
            ExecutorLimit::Unlimited => None,
        });
        totals.sum::<Option<u64>>().filter(|_| self.state().config.allocation == Allocation::Fixed)
    }

    pub(super) async fn set_total(&self, total: u64, profile: ProfileId, surplus: Surplus) -> Outcome {
        let view = self.look().await;
        if !view.targets.iter().any(|(known, _)| *known == profile) {
            return fail(Complaint::NoProfile(profile));
        }
        let mut before = view.executors;
        before.retain(|executor| executor.profile == profile);
        self.request(Effect::RequestExecutors(profile, total));
        // A refusal comes before the driver's tables. The Master refuses nothing here.
        let mut view = self.look().await;
        self.refusal()?;
        let wanted = usize::try_from(total).unwrap_or(usize::MAX);
        if before.len() > wanted && surplus == Surplus::Ends {
            // Idle executors come first, then the youngest.
            before.sort_by_key(|executor| (executor.running.len(), Reverse(executor.id)));
            let surplus = before[..before.len() - wanted].iter().map(|executor| executor.id).collect();
            // The requested number is set already, so no replacements come.
            return self.end_executors(surplus, Replacement::Wanted).await;
        }
        let until = self.now() + COME;
        loop {
            let assigned = view.executors.iter().filter(|executor| executor.profile == profile).count();
            let is_missing = (assigned as u64) < total;
            if !is_missing || self.now() >= until {
                self.push(Effect::Print(Answer::Requested(total, assigned)));
                return if is_missing { self.why(0).await } else { Ok(0) };
            }
            self.sleep(self.now() + TICK).await?;
            view = self.look().await;
        }
    }

    pub(super) async fn kill(&self, executors: Vec<ExecutorId>, replacement: Replacement) -> Outcome {
        let view = self.look().await;
        let is_there = |id: &ExecutorId| view.executors.iter().any(|executor| executor.id == *id);
        match executors.iter().find(|id| !is_there(id)) {
            Some(&id) => fail(Complaint::NoExecutor(id)),
            None => self.end_executors(executors, replacement).await,
        }
    }

    /// Ends executors, and waits until they have ended.
    async fn end_executors(&self, executors: Vec<ExecutorId>, replacement: Replacement) -> Outcome {
        self.push(Effect::KillExecutors(executors.clone(), replacement));
        let until = self.now() + GO;
        loop {
            let view = self.look().await;
            let left = view.executors.iter().filter(|executor| executors.contains(&executor.id)).count();
            if left == 0 {
                let wanted = self.wanted(&view).filter(|_| replacement == Replacement::Unwanted);
                return self.print(Answer::Ended(executors, wanted));
            }
            if self.now() >= until {
                return fail(Complaint::NotEnded(left, GO));
            }
            self.sleep(self.now() + TICK).await?;
        }
    }

    /// Sends a request that the driver or the Master may refuse.
    fn request(&self, effect: Effect) {
        self.state().refusal = Refusal::Possible;
        self.push(effect);
    }

    /// Returns an error if the request was refused.
    fn refusal(&self) -> Result<(), Failure> {
        match std::mem::replace(&mut self.state().refusal, Refusal::Unexpected) {
            Refusal::Came(note) => fail(Complaint::Refused(note)),
            Refusal::Possible | Refusal::Unexpected => Ok(()),
        }
    }

    /// Asks the Master which executors are missing. `None` if no Master has the application.
    async fn ask_master(&self) -> Result<Option<Shortfalls>, NoAnswer> {
        self.push(Effect::AskMaster);
        let until = Some((self.now() + ANSWER, Reason::MasterSilent));
        let answer = self.unless_interrupted(Wait::Master, until, |event| match event {
            Event::MasterAnswered(answer) => Some(Ok(answer)),
            Event::Deadline => Some(Err(NoAnswer::Silent)),
            _ => None,
        });
        let answer = answer.await.unwrap_or(Err(NoAnswer::Interrupted));
        answer.inspect_err(|_| self.push(Effect::Forget))
    }

    /// Reports why executors are missing. The exit code is `code`, unless `code` is 0 and the Master does not answer.
    pub(super) async fn why(&self, code: u8) -> Outcome {
        let failure = |complaint| fail_with(code.max(1), complaint);
        match self.ask_master().await {
            Ok(Some(shortfalls)) => {
                let view = self.look().await;
                self.push(Effect::Print(Answer::Why(shortfalls, view)));
                Ok(code)
            }
            Ok(None) => failure(Complaint::NoMaster),
            Err(NoAnswer::Silent) => failure(Complaint::MasterSilent(ANSWER)),
            Err(NoAnswer::Interrupted) => {
                Err(Failure::Interrupted(if code == 0 { INTERRUPTED } else { code }))
            }
        }
    }

    pub(super) async fn add_profile(&self, needs: ResourceProfile, task: TaskShare, total: u64) -> Outcome {
        let view = self.look().await;
        let last = view.targets.iter().map(|(profile, _)| profile.0).max().unwrap_or(0);
        let id = ProfileId(last.saturating_add(1));
        self.request(Effect::AddProfile(id, needs.clone(), total));
        // A refusal comes before the Master's answer.
        let answer = self.ask_master().await;
        self.refusal()?;
        self.state().profiles.push(AddedProfile { id, needs: needs.clone(), task });
        let answer_state = match answer {
            Ok(Some(_)) => AnswerState::Answered,
            Ok(None) | Err(NoAnswer::Silent) => AnswerState::Unanswered,
            Err(NoAnswer::Interrupted) => return Err(Failure::Interrupted(INTERRUPTED)),
        };
        self.print(Answer::ProfileAdded(id, needs, total, answer_state))
    }
}
