//! A long sorted list of ids.

/// The maximum number of ids in a chunk.
const CHUNK: usize = 128;

/// Ids in order, without duplicates. A list may contain every Worker of a large cluster, and ids are mostly added in
/// rising or falling order. So ids are stored in chunks instead of one long vector. A tree would leave its nodes half
/// empty.
#[derive(Clone, Debug)]
pub(crate) struct LongSorted<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for LongSorted<T> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<T: Ord> LongSorted<T> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    pub(crate) fn insert(&mut self, id: T) {
        // Ids that are added in order belong at one of the ends.
        let (first, last) = (self.chunks.first(), self.chunks.last());
        let chunk = match (first.and_then(|ids| ids.first()), last.and_then(|ids| ids.last())) {
            (Some(first), _) if id < *first => 0,
            (_, Some(last)) if *last < id => self.chunks.len() - 1,
            _ => self.chunks.partition_point(|ids| ids[0] <= id).saturating_sub(1),
        };
        let Some(ids) = self.chunks.get_mut(chunk) else { return self.chunks.push(vec![id]) };
        let at = match ids.as_slice() {
            [.., last] if *last < id => ids.len(),
            [first, ..] if id < *first => 0,
            _ => match ids.binary_search(&id) {
                Ok(_) => return,
                Err(at) => at,
            },
        };
        if ids.len() < CHUNK {
            return ids.insert(at, id);
        }
        // A full chunk is split only if the id belongs inside it.
        match at {
            0 => self.chunks.insert(chunk, vec![id]),
            CHUNK => self.chunks.insert(chunk + 1, vec![id]),
            at => {
                let upper = ids.split_off(at);
                ids.push(id);
                self.chunks.insert(chunk + 1, upper);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_list_is_an_ordered_set_whatever_the_order_of_insertions() {
        let scattered = |n: u32| n.wrapping_mul(2_654_435_761) % 1_000;
        let orders: [Vec<u32>; 3] =
            [(0..1_000).collect(), (0..1_000).rev().collect(), (0..3_000).map(scattered).collect()];
        for order in orders {
            let (mut list, mut set) = (LongSorted::default(), BTreeSet::new());
            for id in order {
                list.insert(id);
                set.insert(id);
                assert!(list.chunks.iter().all(|ids| (1..=CHUNK).contains(&ids.len())));
            }
            assert!(list.iter().eq(&set));
        }
    }

    #[test]
    fn ids_that_come_in_order_fill_their_chunks() {
        for falls in [false, true] {
            let mut list = LongSorted::default();
            (0..1_000).for_each(|n| list.insert(if falls { 1_000 - n } else { n }));
            assert_eq!(list.chunks.len(), 1_000_usize.div_ceil(CHUNK));
        }
    }
}
