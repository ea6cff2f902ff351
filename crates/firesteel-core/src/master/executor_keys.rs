//! The ids of the executors on one Worker.

use crate::ids::ExecutorKey;

/// The ids of the executors on one Worker, in order. Few Workers have more than hundreds, and there are many Workers: a list
/// takes half of the memory of a tree.
#[derive(Clone, Debug, Default)]
pub(super) struct ExecutorKeys(Vec<ExecutorKey>);

impl ExecutorKeys {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, ExecutorKey> {
        self.0.iter()
    }

    pub(super) fn contains(&self, key: &ExecutorKey) -> bool {
        self.0.binary_search(key).is_ok()
    }

    pub(super) fn insert(&mut self, key: ExecutorKey) {
        if let Err(at) = self.0.binary_search(&key) {
            self.0.insert(at, key);
        }
    }

    /// Takes out a key if it is there. A list that becomes empty takes no memory.
    pub(super) fn remove(&mut self, key: &ExecutorKey) {
        if let Ok(at) = self.0.binary_search(key) {
            self.0.remove(at);
        }
        if self.0.is_empty() {
            self.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        self.0 = Vec::new();
    }
}

impl IntoIterator for ExecutorKeys {
    type Item = ExecutorKey;
    type IntoIter = std::vec::IntoIter<ExecutorKey>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a ExecutorKeys {
    type Item = &'a ExecutorKey;
    type IntoIter = std::slice::Iter<'a, ExecutorKey>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AppId, ExecutorId};

    #[test]
    fn keys_are_in_order_and_each_is_there_once() {
        let key = |app: &str, number| ExecutorKey { app: AppId::new(app), executor: ExecutorId(number) };
        let mut keys = ExecutorKeys::default();
        for (app, number) in [("app-2", 0), ("app-1", 10), ("app-1", 9), ("app-2", 0)] {
            keys.insert(key(app, number));
        }
        assert!(keys.iter().eq(&[key("app-1", 9), key("app-1", 10), key("app-2", 0)]));
        assert!(keys.contains(&key("app-1", 9)) && !keys.contains(&key("app-1", 0)));
        keys.remove(&key("app-1", 0));
        assert_eq!(keys.len(), 3);
        for gone in keys.clone() {
            keys.remove(&gone);
        }
        assert_eq!(keys.0.capacity(), 0);
    }
}
