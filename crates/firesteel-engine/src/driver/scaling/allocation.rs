//! Decides how many executors of a profile are wanted for its tasks, and which executors have been idle too long.
//!
//! Source: Spark's `ExecutorAllocationManager`, 4.0.1, which runs every 100 ms. Here the decision is made at every
//! event; a deadline is set only if the decision may change at that time.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_protocol::ids::ExecutorId;
use firesteel_protocol::time::Timestamp;

use crate::driver::config::DynamicAllocation;

/// How the number of executors of one profile rises while tasks wait.
///
/// ```text
///            tasks wait for the backlog time-out          they still wait after the sustained one
///  STEP 1 -----------------------------------> +1 -> STEP 2 -----------> +2 -> STEP 4 -> ..
///    ^                                                                            |
///    `---- nothing waits, fewer are needed, or not all of a step could be added --'
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::driver) struct Ramp {
    /// The number of executors to add next; 0 stands for 1.
    step: u64,
    /// When executors are added, if tasks still wait at that time.
    add_at: Option<Timestamp>,
    /// Whether the target is below the number needed.
    has_room: bool,
}

/// The tasks of a profile and the executors for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct ProfileLoad {
    /// The number of executors wanted now.
    pub(in crate::driver) target: u64,
    /// The number of executors that the unfinished tasks could keep busy.
    pub(super) needed: u64,
    pub(in crate::driver) waiting: u64,
    /// The number of executors that take tasks.
    pub(in crate::driver) executors: u64,
    /// Whether the initial target still applies. Until it ends, the target must not fall.
    pub(in crate::driver) holds: bool,
}

impl Ramp {
    /// Returns the new target.
    pub(in crate::driver) fn next(
        &mut self,
        now: Timestamp,
        bounds: &DynamicAllocation,
        at: ProfileLoad,
    ) -> u64 {
        let useful = bounds.clamp(at.needed);
        let target = bounds.clamp(at.target);
        self.has_room = target < useful;
        if at.waiting == 0 {
            *self = Self::default();
        } else {
            self.add_at.get_or_insert(now + bounds.backlog_timeout);
        }
        if useful < target {
            self.step = 1;
            return if at.holds { target } else { useful };
        }
        match self.add_at {
            Some(due) if due <= now => {
                self.add_at = Some(now + bounds.sustained_timeout);
                let step = self.step.max(1);
                let next = target.max(at.executors).saturating_add(step).min(useful).max(target);
                self.step = if next - target == step { step.saturating_mul(2) } else { 1 };
                self.has_room = next < useful;
                next
            }
            Some(_) | None => target,
        }
    }

    /// When executors are added, if no event comes earlier.
    pub(in crate::driver) fn due(&self) -> Option<Timestamp> {
        self.add_at.filter(|_| self.has_room)
    }
}

/// The idle executors, each with the time since which it has been idle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::driver) struct Idle {
    since: BTreeMap<ExecutorId, Timestamp>,
    in_order: BTreeSet<(Timestamp, ExecutorId)>,
}

impl Idle {
    /// An executor has got a task again, or has ended.
    pub(in crate::driver) fn remove(&mut self, id: ExecutorId) {
        if let Some(since) = self.since.remove(&id) {
            self.in_order.remove(&(since, id));
        }
    }

    pub(in crate::driver) fn insert(&mut self, id: ExecutorId, now: Timestamp) {
        self.remove(id);
        self.since.insert(id, now);
        self.in_order.insert((now, id));
    }

    /// The idle executors, the longest idle first.
    pub(in crate::driver) fn iter(&self) -> impl Iterator<Item = (Timestamp, ExecutorId)> {
        self.in_order.iter().copied()
    }

    /// The numbers of the idle executors, in order.
    pub(in crate::driver) fn ids(&self) -> impl Iterator<Item = ExecutorId> {
        self.since.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const BOUNDS: DynamicAllocation = DynamicAllocation {
        min: 1,
        max: 20,
        initial: 1,
        backlog_timeout: Duration::from_secs(1),
        sustained_timeout: Duration::from_secs(2),
        idle_timeout: Duration::from_secs(60),
        ratio: crate::driver::Ratio::ONE,
    };

    fn at(target: u64, needed: u64) -> ProfileLoad {
        ProfileLoad { target, needed, waiting: needed, executors: target, holds: false }
    }

    fn seconds(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    /// The targets of one ramp, one target for each second.
    fn climb(needed: &[u64]) -> Vec<u64> {
        let (mut ramp, mut target) = (Ramp::default(), 1);
        let step = |(second, &needed): (u64, &u64)| {
            target = ramp.next(seconds(second), &BOUNDS, at(target, needed));
            target
        };
        (0..).zip(needed).map(step).collect()
    }

    #[test]
    fn the_target_doubles_its_steps_while_tasks_wait_and_stops_at_what_is_needed() {
        assert_eq!(climb(&[15; 10]), [1, 2, 2, 4, 4, 8, 8, 15, 15, 15]);
        assert_eq!(climb(&[100; 10]), [1, 2, 2, 4, 4, 8, 8, 16, 16, 20], "and at the maximum");
    }

    #[test]
    fn a_backlog_that_goes_begins_anew() {
        let mut ramp = Ramp::default();
        assert_eq!(ramp.next(seconds(0), &BOUNDS, at(1, 9)), 1);
        assert_eq!(ramp.next(seconds(1), &BOUNDS, at(1, 9)), 2);
        let worked = ProfileLoad { waiting: 0, ..at(2, 9) };
        assert_eq!(ramp.next(seconds(2), &BOUNDS, worked), 2);
        assert_eq!(ramp.next(seconds(3), &BOUNDS, at(2, 9)), 2);
        assert_eq!((ramp.due(), ramp.step), (Some(seconds(4)), 0));
        assert_eq!(ramp.next(seconds(4), &BOUNDS, at(2, 9)), 3);
    }

    #[test]
    fn the_target_falls_at_once_to_what_is_needed_and_never_below_the_minimum() {
        let mut ramp = Ramp::default();
        assert_eq!(ramp.next(seconds(0), &BOUNDS, ProfileLoad { holds: true, ..at(9, 3) }), 9);
        assert_eq!(ramp.next(seconds(0), &BOUNDS, at(9, 3)), 3);
        assert_eq!(ramp.next(seconds(0), &BOUNDS, at(3, 0)), 1);
        assert_eq!(ramp.due(), None);
    }

    #[test]
    fn executors_that_are_there_already_are_not_waited_for() {
        let mut ramp = Ramp { add_at: Some(seconds(0)), ..Ramp::default() };
        assert_eq!(ramp.next(seconds(0), &BOUNDS, ProfileLoad { executors: 5, ..at(2, 9) }), 6);
    }
}
