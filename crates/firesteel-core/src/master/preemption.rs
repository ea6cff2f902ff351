//! Executors that end so that applications of higher priority have room.
//!
//! An application that waits, and for which there is no room, may have executors of applications of lower priority in its
//! own queue ended: only if that makes its next executor fit, or, where it begins with several, all of them; the fewest
//! that do, of the lowest priority, and of these the youngest; and no more for one application within an interval than
//! the Master's settings allow. When it cannot help, nobody is ended.
//!
//! What they held is free at once, as after any other kill, and goes to the application that they ended for. Their own
//! applications want as many as before, and get them back when there is room.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use firesteel_placement::index::Slot;
use firesteel_placement::preemption::{Stand, Victim, victims};
use firesteel_placement::shortfall::Amounts;

use super::{Master, Note, Preemption};
use crate::ids::{AppId, ExecutorKey};
use crate::messages::{ExecutorState, LossReason, MasterToDriver, MasterToWorker};
use crate::time::Timestamp;

/// For whom executors were ended, and when, as far as it still counts.
#[derive(Debug, Default)]
pub(super) struct Preempted {
    by: BTreeMap<AppId, VecDeque<Timestamp>>,
}

impl Preempted {
    /// How many were ended for an application.
    pub(super) fn count(&self, app: &AppId) -> usize {
        self.by.get(app).map_or(0, VecDeque::len)
    }

    fn add(&mut self, app: &AppId, now: Timestamp) {
        self.by.entry(app.clone()).or_default().push_back(now);
    }

    /// When the first of them counts no longer.
    fn next(&self, preemption: Preemption) -> Option<Timestamp> {
        let Preemption::AtMost { every, .. } = preemption else { return None };
        self.by.values().filter_map(|times| Some(*times.front()? + every)).min()
    }
}

impl Master {
    /// When an application may have executors ended again that was too quick.
    pub(super) fn next_preemption(&self) -> Option<Timestamp> {
        self.preempted.next(self.config.preemption)
    }

    /// Forgets what is too long ago to count; whether there was any.
    pub(super) fn forget_preemptions(&mut self, now: Timestamp) -> bool {
        let Preemption::AtMost { every, .. } = self.config.preemption else { return false };
        let before: usize = self.preempted.by.values().map(VecDeque::len).sum();
        self.preempted.by.retain(|app, times| {
            times.retain(|time| *time + every > now);
            !times.is_empty() && self.applications.get(app).is_some()
        });
        before != self.preempted.by.values().map(VecDeque::len).sum::<usize>()
    }

    /// Has executors ended so that an application has room for what it needs next, if that helps and is allowed. Whether
    /// it was done.
    pub(super) fn preempt_for(&mut self, now: Timestamp, app: &AppId) -> bool {
        let Preemption::AtMost { executors: most, .. } = self.config.preemption else { return false };
        let most = (most as usize).saturating_sub(self.preempted.count(app));
        let doomed = match most {
            0 => Vec::new(),
            most => self.victims_for(app, most),
        };
        for executor in &doomed {
            self.preempt(now, executor, app);
        }
        !doomed.is_empty()
    }

    /// Whose end makes room for what an application needs next; nobody's, if that takes more than so many.
    fn victims_for(&self, app: &AppId, most: usize) -> Vec<ExecutorKey> {
        let application = self.applications.live(app);
        let lower = self.applications.queue().filter(|other| {
            other.queue == application.queue && other.description.priority < application.description.priority
        });
        let mut by_worker: BTreeMap<Slot, Vec<_>> = BTreeMap::new();
        for other in lower {
            for (number, executor) in &other.executors {
                let age = (
                    other.description.priority,
                    Reverse(executor.launched),
                    Reverse(other.sequence),
                    Reverse(*number),
                );
                by_worker.entry(executor.slot).or_default().push((age, &other.id, executor));
            }
        }
        if by_worker.is_empty() {
            return Vec::new();
        }
        let mut keys: Vec<Vec<ExecutorKey>> = Vec::new();
        let mut stands: Vec<Stand> = Vec::new();
        for (slot, _) in self.sites(application) {
            let row = self.workers.row(slot);
            let mut here = by_worker.remove(&slot).unwrap_or_default();
            here.sort_by_key(|(age, ..)| *age);
            let mut stand = Stand::new(&self.workers.open_offer(slot, row));
            stand.victims.extend(here.iter().map(|((priority, ..), _, executor)| {
                let share = executor.grant.amounts();
                let (cores, memory, resources) = (share.cores, share.memory, share.resources.amounts());
                Victim { priority: *priority, amounts: Amounts { cores, memory, resources } }
            }));
            let key = |id: &AppId, executor| ExecutorKey { app: id.clone(), executor };
            keys.push(here.iter().map(|((.., Reverse(number)), id, _)| key(id, *number)).collect());
            stands.push(stand);
        }
        let chosen = application.asks().find_map(|(_, demand)| {
            let executors = application.gang(&demand).unwrap_or(1);
            victims(&demand, executors, most, &stands)
        });
        let numbers = chosen.into_iter().flatten().zip(keys);
        numbers
            .flat_map(|(numbers, keys)| numbers.into_iter().map(move |number| keys[number].clone()))
            .collect()
    }

    fn preempt(&mut self, now: Timestamp, executor: &ExecutorKey, by: &AppId) {
        let state = ExecutorState::Lost(LossReason::Preempted { by: by.clone() });
        let (row, driver) = self.release_executor(now, executor, state.clone());
        let worker = row.peer;
        self.preempted.add(by, now);
        self.effects.note(Note::ExecutorPreempted { executor: executor.clone(), by: by.clone() });
        self.tell_worker(worker, MasterToWorker::KillExecutor { executor: executor.clone() });
        let (executor, lost_host) = (executor.executor, None);
        self.tell_driver(driver, MasterToDriver::ExecutorUpdated { executor, state, lost_host });
    }
}
