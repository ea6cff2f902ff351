//! `wait --executors`, `request` and `kill`.

use std::cmp::Reverse;
use std::time::Duration;

use firesteel_placement::ExecutorLimit;
use firesteel_protocol::ids::{ExecutorId, ProfileId};
use firesteel_protocol::time::Timestamp;

use crate::driver::{Allocation, ExecutorView, Note, Replacement, View};
use crate::session::start::ready;
use crate::session::wait::{Inquiry, ReadyWait, TotalRequest, Wait};
use crate::session::{Answer, Complaint, Effect, Session, Surplus, TICK};

/// How long a command waits for requested executors.
const COME: Duration = Duration::from_secs(2);
/// How long a command waits for executors to end.
const GO: Duration = Duration::from_secs(15);

impl Session {
    pub(super) fn wait_for_executors(&mut self, count: usize, limit: Duration) {
        let until = self.now + limit;
        self.look(Inquiry::Ready(ReadyWait { count, limit, until }));
    }

    pub(super) fn count_ready(&mut self, wait: ReadyWait, view: &View) {
        let ReadyWait { count, limit, until } = wait;
        let ready = ready(view).count();
        if ready >= count {
            return self.finish(0);
        }
        if let Some(wanted) = self.wanted(view).filter(|wanted| *wanted < count as u64) {
            return self.fail(1, Complaint::FewerWanted { wanted, count });
        }
        if self.now >= until {
            self.complain(Complaint::NotReady { ready, count, limit });
            return self.why(1);
        }
        self.wait(Wait::Again { at: until.min(self.now + TICK), inquiry: Inquiry::Ready(wait) });
    }

    /// The number of requested executors in all profiles, if it is limited and changes only on
    /// request.
    fn wanted(&self, view: &View) -> Option<u64> {
        let totals = view.targets.iter().map(|(_, limit)| match limit {
            ExecutorLimit::AtMost(total) => Some(*total),
            ExecutorLimit::Unlimited => None,
        });
        totals.sum::<Option<u64>>().filter(|_| self.config.allocation == Allocation::Fixed)
    }

    pub(super) fn set_total(&mut self, total: u64, profile: ProfileId, surplus: Surplus) {
        self.look(Inquiry::Total(TotalRequest { total, profile, surplus }));
    }

    pub(super) fn request_total(&mut self, request: TotalRequest, view: View) {
        let TotalRequest { total, profile, .. } = request;
        if !view.targets.iter().any(|(known, _)| *known == profile) {
            return self.fail(1, Complaint::NoProfile(profile));
        }
        let before = view.executors.into_iter().filter(|executor| executor.profile == profile).collect();
        self.effects.push(Effect::RequestExecutors { profile, total });
        // A refusal comes before the driver's tables. The Master refuses nothing here.
        self.look(Inquiry::Requested { request, before, refusal: None });
    }

    pub(super) fn on_requested(
        &mut self,
        request: TotalRequest,
        mut before: Vec<ExecutorView>,
        refusal: Option<Note>,
        view: &View,
    ) {
        if let Some(note) = refusal {
            return self.fail(1, Complaint::Refused(note));
        }
        let wanted = usize::try_from(request.total).unwrap_or(usize::MAX);
        if before.len() <= wanted || request.surplus == Surplus::Stays {
            return self.count_coming(request, self.now + COME, view);
        }
        // Idle executors come first, then the youngest.
        before.sort_by_key(|executor| (executor.running.len(), Reverse(executor.id)));
        let surplus = before[..before.len() - wanted].iter().map(|executor| executor.id).collect();
        // The requested number is set already, so no replacements come.
        self.end_executors(surplus, Replacement::Wanted);
    }

    pub(super) fn count_coming(&mut self, request: TotalRequest, until: Timestamp, view: &View) {
        let TotalRequest { total, profile, .. } = request;
        let assigned = view.executors.iter().filter(|executor| executor.profile == profile).count();
        if (assigned as u64) < total && self.now < until {
            return self
                .wait(Wait::Again { at: self.now + TICK, inquiry: Inquiry::Coming { request, until } });
        }
        self.effects.push(Effect::Print(Answer::Requested { total, assigned }));
        match (assigned as u64) < total {
            true => self.why(0),
            false => self.finish(0),
        }
    }

    pub(super) fn kill(&mut self, executors: Vec<ExecutorId>, replacement: Replacement, view: &View) {
        let is_there = |id: &ExecutorId| view.executors.iter().any(|executor| executor.id == *id);
        match executors.iter().find(|id| !is_there(id)) {
            Some(&id) => self.fail(1, Complaint::NoExecutor(id)),
            None => self.end_executors(executors, replacement),
        }
    }

    /// Ends executors, and waits until they have ended.
    fn end_executors(&mut self, executors: Vec<ExecutorId>, replacement: Replacement) {
        self.effects.push(Effect::KillExecutors { executors: executors.clone(), replacement });
        self.look(Inquiry::Leaving { executors, replacement, until: self.now + GO });
    }

    pub(super) fn count_leaving(
        &mut self,
        executors: Vec<ExecutorId>,
        replacement: Replacement,
        until: Timestamp,
        view: &View,
    ) {
        let left = view.executors.iter().filter(|executor| executors.contains(&executor.id)).count();
        if left > 0 && self.now >= until {
            return self.fail(1, Complaint::NotEnded { left, limit: GO });
        }
        if left > 0 {
            let inquiry = Inquiry::Leaving { executors, replacement, until };
            return self.wait(Wait::Again { at: self.now + TICK, inquiry });
        }
        let wanted = match replacement {
            Replacement::Unwanted => self.wanted(view),
            Replacement::Wanted => None,
        };
        self.print(Answer::Ended { executors, wanted });
    }
}
