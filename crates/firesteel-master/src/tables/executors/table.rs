//! The live executors of one application.

use firesteel_protocol::ids::ExecutorId;

use crate::tables::executors::executor::Executor;

/// The maximum number of rows in a chunk.
const CHUNK: usize = 32;

/// The live executors of one application, by number.
///
/// There are very many executors, and nearly all are added in the order of their numbers. In this case a B-tree would
/// leave its nodes half empty. Here the rows are in chunks, which become full.
#[derive(Debug, Default)]
pub(crate) struct ExecutorTable {
    /// Chunks by number. No chunk is empty, and none reserves memory for future rows.
    chunks: Vec<Chunk>,
    len: usize,
}

type Chunk = Vec<(ExecutorId, Executor)>;

impl ExecutorTable {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn get(&self, id: ExecutorId) -> Option<&Executor> {
        let (chunk, at) = self.place(id).ok()?;
        Some(&self.chunks[chunk][at].1)
    }

    pub(crate) fn last(&self) -> Option<&Executor> {
        let (_, executor) = self.chunks.last()?.last()?;
        Some(executor)
    }

    pub(crate) fn get_mut(&mut self, id: ExecutorId) -> Option<&mut Executor> {
        let (chunk, at) = self.place(id).ok()?;
        Some(&mut self.chunks[chunk][at].1)
    }

    pub(crate) fn insert(&mut self, id: ExecutorId, executor: Executor) {
        let Err((mut chunk, mut at)) = self.place(id) else {
            unreachable!("an executor's number is not given twice")
        };
        if self.chunks.get(chunk).is_none_or(|rows| rows.len() == CHUNK) {
            let last = chunk + 1 >= self.chunks.len();
            if last && (self.chunks.is_empty() || at == CHUNK) {
                chunk = self.chunks.len();
                at = 0;
                self.chunks.push(Vec::new());
            } else {
                let upper = self.chunks[chunk].split_off(CHUNK / 2);
                self.chunks.insert(chunk + 1, upper);
                if at > CHUNK / 2 {
                    (chunk, at) = (chunk + 1, at - CHUNK / 2);
                }
            }
        }
        self.chunks[chunk].insert(at, (id, executor));
        self.len += 1;
    }

    /// Removes an executor, and frees the memory that its chunk no longer needs.
    pub(crate) fn remove(&mut self, id: ExecutorId) -> Option<Executor> {
        let (chunk, at) = self.place(id).ok()?;
        let rows = &mut self.chunks[chunk];
        let (_, executor) = rows.remove(at);
        if rows.is_empty() {
            self.chunks.remove(chunk);
        } else if rows.len() <= rows.capacity() / 4 {
            rows.shrink_to(rows.len() * 2);
        }
        self.len -= 1;
        Some(executor)
    }

    pub(crate) fn from(&self, id: ExecutorId) -> impl Iterator<Item = (ExecutorId, &Executor)> {
        let (chunk, at) = self.place(id).unwrap_or_else(|place| place);
        let (first, others) =
            self.chunks[chunk.min(self.chunks.len())..].split_at_checked(1).unwrap_or_default();
        let first = first.iter().flat_map(move |rows| &rows[at..]);
        first.chain(others.iter().flatten()).map(|(id, executor)| (*id, executor))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ExecutorId, &Executor)> {
        self.chunks.iter().flatten().map(|(id, executor)| (*id, executor))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Executor> {
        self.iter().map(|(_, executor)| executor)
    }

    /// The index of the chunk with this executor, and the executor's position in the chunk. If the executor is not in
    /// the table, returns the place where it belongs.
    fn place(&self, id: ExecutorId) -> Result<(usize, usize), (usize, usize)> {
        let chunk = self.chunks.partition_point(|rows| rows[0].0 <= id).saturating_sub(1);
        let Some(rows) = self.chunks.get(chunk) else { return Err((chunk, 0)) };
        match rows.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(at) => Ok((chunk, at)),
            Err(at) => Err((chunk, at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use firesteel_placement::advanced::index::Index;
    use firesteel_placement::{Cores, MiB, ResourceAmounts, Resources, WorkerOrder};
    use firesteel_protocol::ids::ProfileId;
    use firesteel_protocol::time::Timestamp;

    use super::*;
    use crate::tables::capacity::{Capacity, Holding};
    use crate::tables::executors::executor::Probation;

    fn executor(cores: i64) -> Executor {
        let none = Resources::default();
        let slot = Index::new(WorkerOrder::default()).insert(0, Cores(1), MiB(1), &none);
        let amounts = Holding { cores: Cores(cores), memory: MiB(1), resources: none };
        let grant = Capacity::new(amounts).take(Cores(cores), MiB(1), &ResourceAmounts::new());
        Executor {
            slot,
            profile: ProfileId::DEFAULT,
            grant: grant.expect("there is room"),
            probation: Probation::Launching,
            launched: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn a_row_is_small() {
        let size = size_of::<(ExecutorId, Executor)>();
        assert!(size <= 64, "{size} bytes, for each of very many executors");
    }

    #[test]
    fn a_table_is_an_ordered_map_whatever_the_order_of_changes() {
        let mut table = ExecutorTable::default();
        let mut map: BTreeMap<ExecutorId, i64> = BTreeMap::new();
        let mut state = 1_u32;
        for step in 0..20_000_u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // The table first grows in order, then changes at random places, then shrinks.
            let id = ExecutorId(if step < 300 { step } else { (state >> 16) % 600 });
            let removes = map.contains_key(&id) || (step > 15_000);
            if removes {
                let removed = table.remove(id).map(|row| row.grant.cores().0);
                assert_eq!(removed, map.remove(&id));
            } else {
                table.insert(id, executor(i64::from(step)));
                map.insert(id, i64::from(step));
            }
            assert_eq!((table.len(), table.is_empty()), (map.len(), map.is_empty()));
            assert_eq!(table.get(id).map(|row| row.grant.cores().0), map.get(&id).copied());
            if step % 100 == 0 {
                let rows = |rows: Vec<(ExecutorId, &Executor)>| -> Vec<(ExecutorId, i64)> {
                    rows.into_iter().map(|(id, row)| (id, row.grant.cores().0)).collect()
                };
                assert!(rows(table.iter().collect()).into_iter().eq(map.clone()));
                for from in [0, 1, id.0, id.0 + 1, 599, 600] {
                    let expected = map.range(ExecutorId(from)..).map(|(id, cores)| (*id, *cores));
                    assert!(rows(table.from(ExecutorId(from)).collect()).into_iter().eq(expected), "{from}");
                }
            }
        }
    }

    #[test]
    fn executors_that_are_added_in_order_leave_no_gaps() {
        let mut table = ExecutorTable::default();
        (0..1_600).for_each(|number| table.insert(ExecutorId(number), executor(1)));
        assert_eq!(table.chunks.iter().map(Vec::capacity).sum::<usize>(), 1_600);
        for number in (0..1_600).filter(|number| number % 32 > 0) {
            let _removed = table.remove(ExecutorId(number));
        }
        assert!(table.chunks.iter().map(Vec::capacity).sum::<usize>() <= 50 * 8);
    }
}
