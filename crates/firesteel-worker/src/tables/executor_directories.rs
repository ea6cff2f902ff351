//! The directories of ended executors, oldest end first.
//!
//! If a limit is exceeded, the oldest directories are removed until a tenth of the limit is free. So directories are
//! removed in batches, not one by one. The latest directory is always kept.

use std::collections::BTreeMap;

use firesteel_protocol::ids::{AppId, ExecutorKey};
use firesteel_protocol::machine::{Violation, ensure};

use crate::{Cleanup, EarlierDirectory};

/// The place of the first executor that ended under this Worker. Executors of earlier Workers come before it.
const FIRST_PLACE: u64 = 1 << 32;

#[derive(Debug)]
pub(crate) struct ExecutorDirectories {
    /// The directories by place, each with the length of its files in bytes.
    oldest_first: BTreeMap<u64, (ExecutorKey, u64)>,
    places: BTreeMap<ExecutorKey, u64>,
    /// The sum of the lengths. It cannot overflow.
    bytes: u128,
    next_place: u64,
}

impl Default for ExecutorDirectories {
    fn default() -> Self {
        Self { oldest_first: BTreeMap::new(), places: BTreeMap::new(), bytes: 0, next_place: FIRST_PLACE }
    }
}

impl ExecutorDirectories {
    /// Adds the directory of an executor that has just ended.
    pub(crate) fn add(&mut self, executor: ExecutorKey, bytes: u64) {
        self.forget(&executor);
        let place = self.next_place;
        self.next_place += 1;
        self.insert(place, executor, bytes);
    }

    /// Adds directories that are older than all others. Known directories keep their places.
    pub(crate) fn add_earlier(&mut self, mut directories: Vec<EarlierDirectory>) {
        directories.sort_by(|a, b| (a.last_written, &a.executor).cmp(&(b.last_written, &b.executor)));
        for (place, EarlierDirectory { executor, bytes, .. }) in (0..FIRST_PLACE).zip(directories) {
            if !self.places.contains_key(&executor) && !self.oldest_first.contains_key(&place) {
                self.insert(place, executor, bytes);
            }
        }
    }

    fn insert(&mut self, place: u64, executor: ExecutorKey, bytes: u64) {
        self.places.insert(executor.clone(), place);
        self.oldest_first.insert(place, (executor, bytes));
        self.bytes += u128::from(bytes);
    }

    /// Drops a directory that is in use again, or removed.
    pub(crate) fn forget(&mut self, executor: &ExecutorKey) {
        if let Some(place) = self.places.remove(executor)
            && let Some((_, bytes)) = self.oldest_first.remove(&place)
        {
            self.bytes -= u128::from(bytes);
        }
    }

    /// Drops all directories of an application.
    pub(crate) fn forget_application(&mut self, app: &AppId) {
        let first = ExecutorKey { app: app.clone(), executor: Default::default() };
        let of_app = self.places.range(first..).map(|(executor, _)| executor);
        let of_app: Vec<ExecutorKey> = of_app.take_while(|executor| executor.app == *app).cloned().collect();
        of_app.iter().for_each(|executor| self.forget(executor));
    }

    /// Removes the oldest directories from the table if there are too many. Returns them, oldest first.
    pub(crate) fn take_surplus(&mut self, most: &Cleanup) -> Vec<ExecutorKey> {
        let exceeds = |kept: &Self, executors: usize, bytes: u64| {
            kept.oldest_first.len() > executors.max(1)
                || (kept.bytes > u128::from(bytes) && kept.oldest_first.len() > 1)
        };
        let mut surplus = Vec::new();
        if !exceeds(self, most.max_executors, most.max_bytes) {
            return surplus;
        }
        let executors = most.max_executors - most.max_executors / 10;
        let bytes = most.max_bytes - most.max_bytes / 10;
        while exceeds(self, executors, bytes)
            && let Some((_, (executor, bytes))) = self.oldest_first.pop_first()
        {
            self.bytes -= u128::from(bytes);
            self.places.remove(&executor);
            surplus.push(executor);
        }
        surplus
    }

    pub(crate) fn executors(&self) -> impl Iterator<Item = &ExecutorKey> {
        self.places.keys()
    }

    pub(crate) fn check(&self) -> Result<(), Violation> {
        let (places, rows) = (self.places.len(), self.oldest_first.len());
        ensure!(
            "worker",
            places == rows,
            "{rows} directories are kept, but {places} executors have a position"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use firesteel_protocol::ids::ExecutorId;
    use firesteel_protocol::time::Timestamp;

    use super::*;

    fn key(app: &str, executor: u32) -> ExecutorKey {
        ExecutorKey { app: AppId::new(app), executor: ExecutorId(executor) }
    }

    fn limits(max_executors: usize, max_bytes: u64) -> Cleanup {
        Cleanup { interval: Duration::ZERO, keep: Duration::ZERO, max_executors, max_bytes }
    }

    /// Adds executors 0, 1, .. with directories of these lengths, and returns those that are removed.
    fn removed(limits: &Cleanup, lengths: &[u64]) -> Vec<u32> {
        let mut kept = ExecutorDirectories::default();
        let mut removed = Vec::new();
        for (executor, bytes) in (0..).zip(lengths) {
            kept.add(key("a", executor), *bytes);
            removed.extend(kept.take_surplus(limits).into_iter().map(|gone| gone.executor.0));
            kept.check().expect("the tables agree");
        }
        let left = kept.executors().map(|left| u128::from(lengths[left.executor.0 as usize]));
        assert_eq!(kept.bytes, left.sum());
        removed
    }

    #[test]
    fn the_oldest_directories_go_first_beyond_a_number_or_a_size() {
        let plenty = u64::MAX;
        for (limits, lengths, expected) in [
            (limits(3, plenty), &[1, 1, 1][..], &[][..]),
            (limits(3, plenty), &[1, 1, 1, 1, 1], &[0, 1]),
            // A tenth of the limit is freed at once.
            (limits(20, plenty), &[1; 21], &[0, 1, 2]),
            (limits(20, plenty), &[1; 23], &[0, 1, 2]),
            (limits(20, plenty), &[1; 24], &[0, 1, 2, 3, 4, 5]),
            (limits(100, 100), &[60, 40, 1], &[0]),
            (limits(100, 100), &[50, 45, 5, 50], &[0, 1]),
            (limits(100, 100), &[10, 10, 80, 1], &[0, 1]),
            // The latest directory is kept, even if it is too large by itself.
            (limits(100, 100), &[200], &[]),
            (limits(100, 100), &[200, 300, 1], &[0, 1]),
            (limits(0, 0), &[0, 0, 5], &[0, 1]),
            (limits(2, 100), &[plenty, plenty, 1], &[0, 1]),
        ] {
            assert_eq!(removed(&limits, lengths), expected, "{limits:?} {lengths:?}");
        }
    }

    #[test]
    fn directories_of_earlier_workers_are_older_than_all_others() {
        let mut kept = ExecutorDirectories::default();
        kept.add(key("b", 1), 1);
        let earlier = |app, executor, millis| EarlierDirectory {
            executor: key(app, executor),
            last_written: Timestamp::from_millis(millis),
            bytes: 1,
        };
        kept.add_earlier(vec![
            earlier("a", 2, 20),
            earlier("c", 0, 10),
            earlier("b", 1, 0),
            earlier("a", 1, 20),
        ]);
        kept.check().expect("the tables agree");
        kept.add(key("b", 2), 1);
        let order = [key("c", 0), key("a", 1), key("a", 2), key("b", 1)];
        assert_eq!(kept.take_surplus(&limits(1, 100)), order);
    }

    #[test]
    fn what_is_in_use_again_or_removed_is_forgotten() {
        let mut kept = ExecutorDirectories::default();
        for (app, executor) in [("a", 1), ("a", 2), ("aa", 1), ("b", 1)] {
            kept.add(key(app, executor), 10);
        }
        kept.forget(&key("a", 9));
        kept.forget_application(&AppId::new("a"));
        kept.forget(&key("b", 1));
        kept.check().expect("the tables agree");
        assert_eq!(kept.executors().collect::<Vec<_>>(), [&key("aa", 1)]);
        assert_eq!(kept.bytes, 10);
    }
}
