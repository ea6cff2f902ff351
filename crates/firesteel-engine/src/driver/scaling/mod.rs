//! Dynamic allocation: the number of executors wanted follows the tasks, and idle executors end.

mod allocation;
mod giving_back;
pub(super) mod hints;
pub(super) mod targets;

use std::collections::BTreeMap;

use firesteel_placement::advanced::resources::TaskAmount;
use firesteel_placement::{Amount, ExecutorLimit};
use firesteel_protocol::ids::{ExecutorId, ProfileId};
use firesteel_protocol::time::Timestamp;

use self::allocation::{Idle, ProfileLoad, Ramp};
use super::config::{Allocation, DynamicAllocation};
use super::tasks::waiting::Needs;
use super::{Driver, Note, Ratio, Reason, Replacement};
use crate::applicant::starvation::Asked;

#[derive(Clone, Debug)]
pub(super) struct Scaling {
    ramps: BTreeMap<ProfileId, Ramp>,
    idle: Idle,
    start: Start,
    /// When an idle executor next reaches the idle timeout, and the executor's number.
    idle_due: Option<(Timestamp, ExecutorId)>,
}

/// When the initial target ends: executors for the first task have had time to start, or an executor has reached the
/// idle timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    NoTaskYet,
    Until(Timestamp),
    Over,
}

impl Scaling {
    pub(super) fn new() -> Self {
        Self { ramps: BTreeMap::new(), idle: Idle::default(), start: Start::NoTaskYet, idle_due: None }
    }

    /// The next time at which targets or executors change without an event, and the reason.
    pub(super) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        let start = match self.start {
            Start::Until(at) => Some((at, Reason::InitialTarget)),
            Start::NoTaskYet | Start::Over => None,
        };
        let ramps = self.ramps.iter().filter_map(|(&id, ramp)| Some((ramp.due()?, Reason::Backlog(id))));
        let idle = self.idle_due.map(|(at, id)| (at, Reason::IdleExecutor(id)));
        ramps.chain(start).chain(idle).min()
    }

    /// The executors that count as idle, in order.
    pub(super) fn idle(&self) -> impl Iterator<Item = ExecutorId> {
        self.idle.ids()
    }

    /// Whether the initial target still applies.
    fn holds(&mut self, now: Timestamp, config: &DynamicAllocation, tasks_came: bool) -> bool {
        let waited = self.idle.iter().next().is_some_and(|(since, _)| since + config.idle_timeout <= now);
        self.start = match self.start {
            Start::NoTaskYet if waited => Start::Over,
            Start::NoTaskYet if tasks_came => Start::Until(now + config.backlog_timeout),
            Start::Until(at) if at <= now => Start::Over,
            other => other,
        };
        self.start != Start::Over
    }
}

impl Driver {
    /// Updates the targets and ends idle executors. With a fixed number of executors, restores lowered targets if
    /// needed. Called at the end of each event, after tasks were launched, so that a task that comes at the same moment
    /// prevents an idle timeout.
    pub(super) fn scale(&mut self, now: Timestamp) {
        let touched = self.executors.take_touched();
        let config = match self.config.allocation {
            Allocation::Fixed => return self.restore_targets(),
            Allocation::Dynamic(config) => config,
        };
        for id in touched {
            match self.executors.get(id).is_some_and(|row| row.is_idle()) {
                true => self.scaling.idle.insert(id, now),
                false => self.scaling.idle.remove(id),
            }
        }
        let holds = self.scaling.holds(now, &config, self.tasks.tally().submitted > 0);
        let mut totals = BTreeMap::new();
        for (profile, target) in self.targets.iter().collect::<Vec<_>>() {
            let ExecutorLimit::AtMost(target) = target else { continue };
            let situation = ProfileLoad {
                target,
                needed: self.needed(profile, &config),
                waiting: self.tasks.waiting().unbound(profile) as u64,
                executors: self.executors.offering(profile),
                holds,
            };
            let next = self.scaling.ramps.entry(profile).or_default().next(now, &config, situation);
            if next != target {
                totals.insert(profile, next);
                // The first executor is wanted: asks for permanent shortfalls at once.
                if target == 0 {
                    self.request_shortfall(Asked::AtOnce);
                }
            }
        }
        self.set_targets(&totals);
        self.end_idle(now, &config);
    }

    /// Ends draining executors as soon as they have no task, so that the Master replaces them.
    pub(super) fn end_drained(&mut self) {
        let drained = self.executors.drained();
        if !drained.is_empty() {
            self.on_kill_executors(drained, Replacement::Wanted);
        }
    }

    /// Ends executors that have reached the idle timeout, while there are more executors than wanted.
    fn end_idle(&mut self, now: Timestamp, config: &DynamicAllocation) {
        self.scaling.idle_due = None;
        if self.registration.master().is_none() {
            return;
        }
        let mut spare = BTreeMap::new();
        let mut over = Vec::new();
        for (since, id) in self.scaling.idle.iter() {
            let profile = self.executors.live(id).profile;
            let left = spare.entry(profile).or_insert_with(|| self.spare(profile));
            let due = since + config.idle_timeout;
            // While the initial target stands, an idle timeout ends it.
            if *left == 0 && self.scaling.start != Start::NoTaskYet {
                continue;
            }
            if due > now {
                self.scaling.idle_due = Some((due, id));
                break;
            }
            if *left > 0 {
                *left -= 1;
                over.push(id);
            }
        }
        if !over.is_empty() {
            for &id in &over {
                self.executors.kill(id);
                self.scaling.idle.remove(id);
            }
            self.effects
                .note(Note::IdleExecutorsKilled { executors: over.clone(), idle: config.idle_timeout });
            self.send_kills(over);
        }
    }

    /// By how many executors a profile exceeds its target.
    fn spare(&self, profile: ProfileId) -> u64 {
        let target = self.targets.iter().find(|(id, _)| *id == profile).map(|(_, target)| target);
        match target {
            Some(ExecutorLimit::AtMost(target)) => self.executors.offering(profile).saturating_sub(target),
            Some(ExecutorLimit::Unlimited) | None => 0,
        }
    }

    /// The number of executors that the unfinished tasks of a profile could keep busy.
    fn needed(&self, profile: ProfileId, config: &DynamicAllocation) -> u64 {
        // Tasks that fit no executor need no executor.
        let share = |(needs, count): (&Needs, u64)| {
            let slots = u128::from(self.slots(needs));
            config.ratio.of(count).checked_div(slots).map_or(0, |share| share.max(1))
        };
        let share: u128 = self.tasks.unfinished(profile).map(share).sum();
        u64::try_from(share.div_ceil(u128::from(Ratio::ONE.0))).unwrap_or(u64::MAX)
    }

    /// How many tasks with these needs one executor of their profile can run at the same time, as far as the driver
    /// knows.
    fn slots(&self, needs: &Needs) -> u64 {
        let profile = needs.profile;
        let size = needs.cores.0.max(1);
        let cores = match (self.targets.cores(profile), self.executors.last_cores(profile)) {
            (Some(fixed), _) => fixed.0 / size,
            // Another executor may be larger or smaller.
            (None, Some(last)) => (last.0 / size).max(1),
            (None, None) => 1,
        };
        let amounts = self.targets.resources(profile);
        let each = |name: &str| amounts.map_or(Amount::NONE, |amounts| TaskAmount::of_amounts(amounts, name));
        let addresses = needs.resources.iter().filter_map(|(name, amount)| amount.tasks_on(each(name)));
        addresses.chain([u64::try_from(cores).unwrap_or(0)]).min().unwrap_or(0)
    }
}
