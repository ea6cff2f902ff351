//! A short sorted list of ids.

/// Ids in order, without duplicates. There are very many lists, and most have at most some hundreds of ids. A list
/// takes half of the memory of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Sorted<T>(Vec<T>);

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Ord> Sorted<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    pub(crate) fn contains(&self, id: &T) -> bool {
        self.0.binary_search(id).is_ok()
    }

    pub(crate) fn insert(&mut self, id: T) {
        if let Err(at) = self.0.binary_search(&id) {
            self.0.insert(at, id);
        }
    }

    /// Removes an id if it is there. A list that becomes empty takes no memory.
    pub(crate) fn remove(&mut self, id: &T) {
        if let Ok(at) = self.0.binary_search(id) {
            self.0.remove(at);
        }
        if self.0.is_empty() {
            self.clear();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0 = Vec::new();
    }
}

impl<T> IntoIterator for Sorted<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Sorted<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey};

    use super::*;

    #[test]
    fn ids_are_in_order_and_each_is_there_once() {
        let key = |app: &str, number| ExecutorKey { app: AppId::new(app), executor: ExecutorId(number) };
        let mut keys = Sorted::default();
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
