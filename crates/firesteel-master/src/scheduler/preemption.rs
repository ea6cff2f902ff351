//! Preemption: executors are ended to free resources for applications of higher priority, and for gangs that have
//! waited long.
//!
//! If an application waits because too little is free, executors of lower priority in its own queue may be ended for
//! it. This happens only if its next executor then fits, or all the executors that it starts with. As few executors as
//! possible are ended. Those of the lowest priority end first, and among these the youngest, so that the least work is
//! lost. The settings limit their number for each application and interval. If ending executors does not help, none is
//! ended.
//!
//! For a gang that has waited long, executors of the same priority may also be ended. Their applications must come
//! after the gang and must not be gangs themselves. The executors must have been launched while the gang waited, or at
//! most `gangReach` before. Otherwise small executors would take all resources that become free, before there are
//! enough for the gang. The lost work took at most as long as the gang's wait and `gangReach` together.
//!
//! The resources are free at once, as after any other kill, and go to the waiting application. The preempted
//! applications want as many executors as before, and get them back when there are free resources.

use firesteel_protocol::ids::{AppId, ExecutorKey};
use firesteel_protocol::messages::{ExecutorState, LossReason, MasterToDriver, MasterToWorker};
use firesteel_protocol::scheduling::Preemption;
use firesteel_protocol::time::Timestamp;

use crate::scheduler::choice::is_indifferent;
use crate::scheduler::preemption_costs::PreemptionCosts;
use crate::scheduler::reach::Reach;
use crate::tables::applications::application::Application;
use crate::{Master, Note};

impl Master {
    /// When more executors may be ended for an application that has reached its limit, or when a gang becomes
    /// impatient.
    pub(crate) fn next_preemption(&self) -> Option<Timestamp> {
        let ended = match self.config.preemption {
            Preemption::AtMost { every, .. } => self.preempted.next(every),
            Preemption::Off => None,
        };
        let next = [ended, self.queue_scheduling.next_gang_timeout];
        next.into_iter().flatten().min()
    }

    /// When a waiting gang becomes impatient. `None` if the settings do not allow this.
    pub(super) fn gang_timeout(&self, application: &Application) -> Option<Timestamp> {
        let gang = self.config.gang_preemption.filter(|_| self.config.preemption != Preemption::Off)?;
        application.gang_waits().then_some(application.submitted + gang.patience)
    }

    /// Drops entries that are older than the interval. Returns whether there were any, or whether a gang has become
    /// impatient since.
    pub(crate) fn forget_preemptions(&mut self, now: Timestamp) -> bool {
        let Preemption::AtMost { every, .. } = self.config.preemption else { return false };
        let has_timed_out = self.queue_scheduling.next_gang_timeout.is_some_and(|at| at <= now);
        let applications = &self.applications;
        self.preempted.forget(now, every, |app| applications.get(app).is_some()) || has_timed_out
    }

    /// Ends executors so that an application's next demand fits, if that helps and is allowed. Returns the applications
    /// that lost executors. An application may be listed twice.
    pub(super) fn preempt_for(&mut self, now: Timestamp, app: &AppId) -> Vec<AppId> {
        let Preemption::AtMost { executors: most, .. } = self.config.preemption else { return Vec::new() };
        let most = (most as usize).saturating_sub(self.preempted.count(app));
        let victims = match most {
            0 => Vec::new(),
            most => self.victims_for(app, most),
        };
        for executor in &victims {
            self.preempt(now, executor, app);
        }
        victims.into_iter().map(|executor| executor.app).collect()
    }

    /// The executors that may be ended for an application now. For an impatient gang, more executors may be ended. But
    /// if this was in vain for several other gangs in this pass, it is not tried, because an attempt looks at all
    /// Workers.
    fn reach(&self, application: &Application) -> Reach {
        const MOST_IN_VAIN: usize = 4;
        let has_timed_out = self.gang_timeout(application).is_some_and(|at| at <= self.now);
        let reaches = has_timed_out && self.queue_scheduling.gangs_in_vain < MOST_IN_VAIN;
        match self.config.gang_preemption.filter(|_| reaches) {
            Some(gang) => Reach::AndLaunchedSince(application.submitted - gang.reach),
            None => Reach::Lower,
        }
    }

    /// The executors to end so that an application's next demand fits. Empty if more than `most` would have to end.
    fn victims_for(&mut self, app: &AppId, most: usize) -> Vec<ExecutorKey> {
        let mut kept = self.memory.take_preemption_costs(&mut self.workers);
        let application = self.applications.live(app);
        let reach = self.reach(application);
        let chosen = application.asks().find_map(|(_, demand)| {
            if reach == Reach::Lower
                && !self.applications.has_lower(application.queue, application.description.priority)
            {
                return None;
            }
            let executors = application.gang(&demand).unwrap_or(1);
            let choose = |costs: &mut PreemptionCosts| {
                costs.choose(self, application, reach, &demand, executors, most)
            };
            // The cached costs are the same for all applications of a kind. The costs for an impatient gang also depend
            // on how long it has waited.
            if reach != Reach::Lower || !is_indifferent(application, &self.workers) {
                return choose(&mut PreemptionCosts::default());
            }
            let chosen = choose(&mut kept);
            debug_assert_eq!(
                chosen,
                choose(&mut PreemptionCosts::default()),
                "the costs that are kept are those of all Workers"
            );
            chosen
        });
        self.memory.keep_preemption_costs(kept);
        if chosen.is_none() && reach != Reach::Lower {
            self.queue_scheduling.gangs_in_vain += 1;
        }
        chosen.unwrap_or_default()
    }

    fn preempt(&mut self, now: Timestamp, executor: &ExecutorKey, by: &AppId) {
        let driver = self.applications.live(&executor.app).link;
        let leaving = MasterToDriver::ExecutorLeaving { executor: executor.executor, host: None };
        self.tell_driver(driver, leaving);
        let state = ExecutorState::Lost(LossReason::Preempted { by: by.clone() });
        let (row, driver) = self.release_executor(now, executor, state.clone());
        let worker = row.link;
        self.effects.note(Note::ExecutorPreempted { executor: executor.clone(), by: by.clone() });
        self.tell_worker(worker, MasterToWorker::KillExecutor { executor: executor.clone() });
        let (executor, lost_host) = (executor.executor, None);
        self.tell_driver(driver, MasterToDriver::ExecutorUpdated { executor, state, lost_host });
    }
}
