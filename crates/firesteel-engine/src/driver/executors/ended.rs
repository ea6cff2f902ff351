//! The numbers of ended executors. These numbers are never used again.

use std::collections::BTreeSet;

use firesteel_protocol::ids::ExecutorId;

/// The set of numbers of ended executors. All numbers below `floor` have ended; `above` lists the others. The Master
/// counts from 0, so `above` stays small.
#[derive(Clone, Debug, Default)]
pub(in crate::driver) struct Ended {
    floor: u32,
    above: BTreeSet<u32>,
}

impl Ended {
    pub(in crate::driver) fn contains(&self, id: ExecutorId) -> bool {
        id.0 < self.floor || self.above.contains(&id.0)
    }

    pub(in crate::driver) fn insert(&mut self, id: ExecutorId) {
        if id.0 >= self.floor {
            self.above.insert(id.0);
            while self.above.remove(&self.floor) {
                self.floor = self.floor.saturating_add(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_numbers_are_remembered_in_little_space() {
        let mut ended = Ended::default();
        for id in [2, 0, 1, 5] {
            ended.insert(ExecutorId(id));
        }
        assert_eq!((ended.floor, ended.above.len()), (3, 1));
        assert_eq!((0..7).map(|id| ended.contains(ExecutorId(id))).filter(|&ended| ended).count(), 4);
    }
}
