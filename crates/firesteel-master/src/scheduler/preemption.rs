//! Preemption: executors are ended to make room for applications of higher priority, and for gangs that have waited
//! long.
//!
//! An application that waits without room may end executors of lower priority in its own queue, if its next executor
//! then fits, or all executors that it starts with. As few executors as possible are ended: those of the lowest
//! priority, and among those the youngest, so that the least work is lost. The settings limit their number for each
//! application and interval. If ending executors does not help, none is ended.
//!
//! A gang that has waited long may also end executors of its own priority. Their applications must come after it and be
//! no gangs, and the executors must have been launched while it waited, or at most `gangReach` before. Otherwise small
//! executors would take each piece of room that becomes free, before there is enough for the gang. The work that is
//! lost took at most as long as the gang has waited and `gangReach` together.
//!
//! The room is free at once, as after any other kill, and goes to the application that waits. The preempted
//! applications want as many executors as before, and get them back when there is room.

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
    /// When an application at its limit may end executors again, or when a gang becomes impatient.
    pub(crate) fn next_preemption(&self) -> Option<Timestamp> {
        let ended = match self.config.preemption {
            Preemption::AtMost { every, .. } => self.preempted.next(every),
            Preemption::Off => None,
        };
        let next = [ended, self.queue_scheduling.next_gang_timeout];
        next.into_iter().flatten().min()
    }

    /// When a waiting gang becomes impatient. `None` if it never does.
    pub(super) fn gang_timeout(&self, application: &Application) -> Option<Timestamp> {
        let gang = self.config.gang_preemption.filter(|_| self.config.preemption != Preemption::Off)?;
        application.gang_waits().then_some(application.submitted + gang.patience)
    }

    /// Drops entries that have left the interval. Returns whether there were any, or whether a gang has become
    /// impatient since.
    pub(crate) fn forget_preemptions(&mut self, now: Timestamp) -> bool {
        let Preemption::AtMost { every, .. } = self.config.preemption else { return false };
        let has_timed_out = self.queue_scheduling.next_gang_timeout.is_some_and(|at| at <= now);
        let applications = &self.applications;
        self.preempted.forget(now, every, |app| applications.get(app).is_some()) || has_timed_out
    }

    /// Ends executors to make room for an application's next need, if that helps and is allowed. Returns the
    /// applications that lost executors. An application may be listed twice.
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

    /// Which executors an application may end now. An impatient gang reaches further, unless this was in vain for
    /// several other gangs in this pass, since each attempt looks at all Workers.
    fn reach(&self, application: &Application) -> Reach {
        const MOST_IN_VAIN: usize = 4;
        let has_timed_out = self.gang_timeout(application).is_some_and(|at| at <= self.now);
        let reaches = has_timed_out && self.queue_scheduling.gangs_in_vain < MOST_IN_VAIN;
        match self.config.gang_preemption.filter(|_| reaches) {
            Some(gang) => Reach::AndLaunchedSince(application.submitted - gang.reach),
            None => Reach::Lower,
        }
    }

    /// The executors to end so that an application's next need fits. Empty if more than `most` would have to end.
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
            // The cached costs are for all applications of a kind. These depend on how long the gang has waited.
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
