//! Preemption: executors are ended to make room for applications of higher priority, and for gangs that wait for long.
//!
//! An application that waits without room may have executors of lower priority in its own queue ended, if
//! that makes its next executor fit, or all executors that it starts with. The fewest executors that suffice
//! are ended, of the lowest priority, and among those the youngest, so that the least has to be done again. The settings limit their number for each
//! application and interval. If ending executors does not help, none is ended.
//!
//! A gang that has waited for long may have executors of its own priority ended, too, if their applications come after it and
//! are no gangs, and they were launched while it waited, or at most `gangReach` before. Otherwise small executors take each piece of
//! room that becomes free, before it is enough for the gang. What is ended, and has to be done again, took at most as long as the gang
//! has waited and `gangReach` together.
//!
//! What they held is free at once, as after any other kill, and goes to the application that waits. Their own
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
    /// When an application that has reached the limit may have executors ended again, or a gang has waited for long.
    pub(crate) fn next_preemption(&self) -> Option<Timestamp> {
        let ended = match self.config.preemption {
            Preemption::AtMost { every, .. } => self.preempted.next(every),
            Preemption::Off => None,
        };
        let next = [ended, self.queue_scheduling.next_impatience];
        next.into_iter().flatten().min()
    }

    /// When a gang that waits has waited for long. `None` if it never has.
    pub(super) fn impatience(&self, application: &Application) -> Option<Timestamp> {
        let gang = self.config.gang_preemption.filter(|_| self.config.preemption != Preemption::Off)?;
        application.gang_waits().then_some(application.submitted + gang.patience)
    }

    /// Drops entries that have left the interval. Returns whether there were any, or a gang has waited for long since.
    pub(crate) fn forget_preemptions(&mut self, now: Timestamp) -> bool {
        let Preemption::AtMost { every, .. } = self.config.preemption else { return false };
        let is_impatient = self.queue_scheduling.next_impatience.is_some_and(|at| at <= now);
        let applications = &self.applications;
        self.preempted.forget(now, every, |app| applications.get(app).is_some()) || is_impatient
    }

    /// Ends executors to make room for what an application needs next, if that helps and is allowed. Returns
    /// their applications, some of them more than once.
    pub(super) fn preempt_for(&mut self, now: Timestamp, app: &AppId) -> Vec<AppId> {
        let Preemption::AtMost { executors: most, .. } = self.config.preemption else { return Vec::new() };
        let most = (most as usize).saturating_sub(self.preempted.count(app));
        let doomed = match most {
            0 => Vec::new(),
            most => self.victims_for(app, most),
        };
        for executor in &doomed {
            self.preempt(now, executor, app);
        }
        doomed.into_iter().map(|executor| executor.app).collect()
    }

    /// Whose executors may be ended for an application now. A gang that has waited for long reaches further, unless that was in
    /// vain for some others in this pass: for each of them all Workers are looked at.
    fn reach(&self, application: &Application) -> Reach {
        const MOST_IN_VAIN: usize = 4;
        let is_impatient = self.impatience(application).is_some_and(|at| at <= self.now);
        let reaches = is_impatient && self.queue_scheduling.gangs_in_vain < MOST_IN_VAIN;
        match self.config.gang_preemption.filter(|_| reaches) {
            Some(gang) => Reach::AndLaunchedSince(application.submitted - gang.reach),
            None => Reach::Lower,
        }
    }

    /// The executors to end so that an application's next need fits. Empty if that takes more than `most`.
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
            // What is kept is for all applications of a kind, and this depends on since when the gang waits.
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
