//! Assigns waiting tasks to free cores.

use std::collections::BTreeSet;

use firesteel_placement::advanced::locality::{Locality, next_match};
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::DriverToExecutor;
use firesteel_protocol::time::Timestamp;

use super::delay::Pass;
use crate::driver::Driver;

impl Driver {
    /// Launches waiting tasks in this order. First, tasks bound to one executor. Second, tasks that failed before, each
    /// preferably where it has not failed. Last, all other tasks: on a preferred host, then in its rack, then anywhere.
    /// Within each group, tasks are taken in order, and executors in turn with one task each.
    ///
    /// A task runs at the nearest locality level that has enough free cores now. It may run at a farther level only
    /// after cores were kept free long enough for tasks with preferred hosts ([`Delay`](super::delay::Delay)). A small
    /// task does not wait for a larger task that needs more cores.
    pub(in crate::driver) fn offer(&mut self, now: Timestamp) {
        let changed = self.executors.take_changed();
        self.tasks.reconsider(&changed, self.executors.reach());
        while let Some((task, executor)) = self.next_bound() {
            self.launch_task(now, task, executor);
        }
        while let Some((task, executor)) = self.next_retry() {
            self.launch_task(now, task, executor);
        }
        let mut profiles: BTreeSet<_> = self.tasks.waiting().profiles().collect();
        profiles.extend(self.delays.profiles());
        for profile in profiles {
            self.offer_fresh(now, profile);
        }
    }

    /// Launches the tasks of one profile that have not failed before.
    fn offer_fresh(&mut self, now: Timestamp, profile: ProfileId) {
        loop {
            let pass = self.offer_by_level(now, profile);
            let waiting = self.tasks.waiting();
            let wanted = |level| waiting.fresh(profile).any(|(_, fresh)| fresh.wants(level));
            if !self.delays.of(profile).after(now, pass, wanted) {
                return;
            }
        }
    }

    fn offer_by_level(&mut self, now: Timestamp, profile: ProfileId) -> Pass {
        let waiting = self.tasks.waiting();
        let wanted = |level| waiting.fresh(profile).any(|(_, fresh)| fresh.wants(level));
        let farthest = self.delays.of(profile).level(now, wanted);
        let mut nearest = None;
        for level in Locality::ALL {
            while let Some((task, executor)) = self.next_fresh(profile, level, farthest) {
                if !self.tasks.sites(task).is_empty() {
                    nearest.get_or_insert(level);
                }
                self.launch_task(now, task, executor);
            }
        }
        let openings = self.executors.openings(profile);
        let near = self.tasks.waiting().fresh(profile).filter(|(_, fresh)| fresh.any_near());
        let mut near = near.peekable();
        if near.peek().is_none() {
            Pass::NoneWaits
        } else if near.any(|(needs, _)| openings.any_free(needs)) {
            Pass::Kept
        } else {
            Pass::NothingKept(nearest)
        }
    }

    fn next_bound(&self) -> Option<(TaskId, ExecutorId)> {
        let bound = self.tasks.waiting().bound();
        let fits = bound.filter(|(executor, needs, _)| self.executors.takes(*executor, needs));
        fits.map(|(executor, _, task)| (task, executor)).min()
    }

    fn next_retry(&self) -> Option<(TaskId, ExecutorId)> {
        let retries = self.tasks.waiting().failed().filter_map(|(needs, excludes, task)| {
            Some((task, self.executors.for_retry(needs, excludes, self.tasks.sites(task))?))
        });
        retries.min()
    }

    /// The next launch at this level. Considers tasks that can reach no nearer level, and tasks that may now run this
    /// far from their preferred hosts.
    fn next_fresh(
        &self,
        profile: ProfileId,
        level: Locality,
        farthest: Locality,
    ) -> Option<(TaskId, ExecutorId)> {
        let (next, openings) = (self.executors.next_in_rotation(profile), self.executors.openings(profile));
        let kinds = self.tasks.waiting().fresh(profile).filter(|(needs, _)| openings.any_free(needs));
        let pairs = kinds.flat_map(|(needs, fresh)| {
            let may = Locality::ALL
                .into_iter()
                .filter(move |best| *best == level || (*best < level && level <= farthest));
            let meet = move |best| {
                let fits = |executor| self.executors.has_room(executor, needs);
                let located = openings.located(needs);
                located.filter_map(move |located| next_match(fresh.at(best), located, level, next, fits))
            };
            may.flat_map(meet)
        });
        pairs.min_by_key(|(task, executor)| (*executor < next, *executor, *task))
    }

    fn launch_task(&mut self, now: Timestamp, task: TaskId, executor: ExecutorId) {
        let credit = self.config.output_credit.max(1);
        let (attempt, spec, needs) = self.tasks.launch(task, executor, credit);
        let resources = self.executors.occupy(executor, task, needs);
        self.tell_executor(executor, DriverToExecutor::LaunchTask { attempt, spec, resources, credit });
        self.begin_on(now, task, executor);
    }
}
