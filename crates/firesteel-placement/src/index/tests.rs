//! Tests of the index's parts. The tests of the whole index compare it with placement over a list of offers:
//! `tests/logic/placement`.

use std::collections::BTreeMap;

use super::bucket::{WORD, bit};
use super::buckets::BucketKeys;
use super::free::{Free, ResourceMask};
use super::free_amounts::FreeAmounts;
use super::positions::{NoGap, Positions};
use super::sorted::{Direction, SortKey};
use super::update::Update;
use super::{Index, Share, Slot};
use crate::{Cores, Demand, ExecutorSize, MiB, Offer, Quantity, Resources, Strategy, WorkerOrder};

#[test]
fn a_resource_mask_never_denies_what_is_there() {
    for name in ["gpu", "fpga", "nic", ""] {
        for have in 0..20 {
            for ask in 0..=have {
                assert!(
                    ResourceMask::of(name, Quantity::whole(have))
                        .may_cover(ResourceMask::of(name, Quantity::whole(ask)))
                );
            }
        }
    }
    assert!(
        !ResourceMask::of("gpu", Quantity::whole(1)).may_cover(ResourceMask::of("gpu", Quantity::whole(2)))
    );
    assert!(!ResourceMask::default().may_cover(ResourceMask::of("gpu", Quantity::whole(1))));
}

#[test]
fn a_direction_starts_at_one_end_or_the_other() {
    assert_eq!(Direction::Ascending.over(2..5).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(Direction::Descending.over(2..5).collect::<Vec<_>>(), [4, 3, 2]);
    assert_eq!(Direction::Descending.over(0..0).count(), 0);
    assert_eq!(Direction::Ascending.bits(0b1011, 64).collect::<Vec<_>>(), [64, 65, 67]);
    assert_eq!(Direction::Descending.bits(0b1011, 64).collect::<Vec<_>>(), [67, 65, 64]);
}

#[test]
fn every_key_finds_its_bucket() {
    let mut keys = BucketKeys::new();
    for key in [7, -3, 0, 100_000, 255, 256, i64::MIN, i64::MAX] {
        keys.insert(key);
    }
    assert_eq!(keys.all(), [i64::MIN, -3, 0, 7, 255, 256, 100_000, i64::MAX]);
    keys.retain(|bucket| bucket != 2);
    for (bucket, key) in keys.all().iter().enumerate() {
        assert_eq!((keys.find(*key), keys.first_from(*key)), (Some(bucket), bucket));
    }
    assert_eq!((keys.find(0), keys.find(1), keys.find(99_999)), (None, None, None));
    assert_eq!((keys.first_from(0), keys.first_from(i64::MAX)), (2, 6));
}

/// Orders in which ids may be added: ascending, descending, from both ends inwards, descending after a first one, and
/// scattered.
fn arrivals(ids: u32) -> [Vec<u32>; 5] {
    let ascending: Vec<u32> = (0..ids).collect();
    let descending = ascending.iter().rev().copied().collect();
    let inwards = ascending.iter().flat_map(|&n| [n, 2 * ids - n]).collect();
    let after_a_first = [0].into_iter().chain((1..ids).rev()).collect();
    let scattered = ascending.iter().map(|n| n.wrapping_mul(2_654_435_761)).collect();
    [ascending, descending, inwards, after_a_first, scattered]
}

#[test]
fn positions_follow_the_ids_and_few_workers_move() {
    const IDS: u32 = 3000;
    for ids in arrivals(IDS) {
        let mut positions = Positions::new(SortKey::Cores);
        let mut known = BTreeMap::new();
        let mut moved = 0;
        for (slot, id) in (0..).map(Slot).zip(ids) {
            let before = known.range(..id).next_back().map(|(_, slot)| *slot);
            let after = known.range(id..).next().map(|(_, slot)| *slot);
            let position = loop {
                match positions.between(before, after) {
                    Ok(position) => break position,
                    Err(NoGap::Grow) => positions.grow(),
                    Err(NoGap::Spread(window)) => {
                        let (others, position) = positions.spread(window, before);
                        moved += others.len();
                        others.iter().for_each(|(worker, _)| positions.vacate(worker.slot));
                        others.iter().for_each(|(worker, position)| {
                            positions.put(worker.slot, worker.free, *position)
                        });
                        break position;
                    }
                }
            };
            assert!(positions.at(position).is_none());
            positions.put(slot, Free::LEAST, position);
            known.insert(id, slot);
        }
        assert!(known.values().map(|slot| positions.of(*slot)).is_sorted_by(|a, b| a < b));
        assert!(moved < 100 * known.len(), "{moved} were moved");
        assert!(positions.len() < 8 * known.len(), "{} positions", positions.len());
        assert_eq!(positions.workers(), known.len());
    }
}

/// A deliberate bug of an index.
#[derive(Clone, Copy, Debug)]
enum Flaw {
    /// The index misses that a Worker got a core back.
    MissesFreed,
    /// The index misses that a Worker registered.
    MissesWorker,
    /// A summary is lower than the free amounts of its Workers.
    StaleSummary,
}

impl Flaw {
    fn inject(self, index: &mut Index<u32>) {
        let slot = index.slot(&3).expect("there is such a Worker");
        match self {
            Self::MissesFreed => {
                let free = index.workers.free(slot).expect("there is such a Worker");
                index.workers.set(slot, Free { cores: free.cores - Cores(1), ..free });
            }
            Self::MissesWorker => index.workers.remove(slot),
            Self::StaleSummary => index.workers.forget_summaries(),
        }
    }
}

#[test]
fn the_check_of_an_index_finds_its_deliberate_bugs() {
    const WORKERS: u32 = 9;
    let offer = Offer { worker: "w", cores: Cores(8), memory: MiB(1024), resources: Resources::NONE };
    type NewIndex = fn(WorkerOrder) -> Index<u32>;
    for order in WorkerOrder::ALL {
        for (new, stale) in [(Index::new as NewIndex, "its workers Some"), (Index::in_leaves, "a leaf says")]
        {
            for (flaw, sentence) in [
                (Flaw::MissesFreed, "is indexed with 7 cores"),
                (Flaw::MissesWorker, "not in the order of the ids"),
                (Flaw::StaleSummary, stale),
            ] {
                let mut index = new(order);
                for worker in 0..WORKERS {
                    index.insert(worker, offer.cores, offer.memory, offer.resources);
                }
                assert_eq!(index.check([offer; WORKERS as usize]), Ok(()));
                flaw.inject(&mut index);
                let found = index.check([offer; WORKERS as usize]).expect_err("there is a bug");
                assert!(found.contains(sentence), "{order:?}, {flaw:?}: {found}");
            }
        }
    }
}

/// Amounts that fit into an entry, that just fit, and that do not fit.
const MEMORIES: [i64; 9] = [0, 1, 4096, -4096, 1 << 29, i32::MAX as i64, i32::MIN as i64, 1 << 40, i64::MAX];

#[test]
fn amounts_are_those_that_were_set_and_changed_however_large_they_are() {
    const POSITIONS: usize = 2 * WORD;
    let mut state = 17_u64;
    let mut dice = |sides: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % sides
    };
    let (mut amounts, mut expected) = (FreeAmounts::new(POSITIONS), BTreeMap::new());
    for step in 0..40_000 {
        let (position, word) = (dice(POSITIONS), dice(2));
        // Nearly all amounts are ordinary. Otherwise hardly any word would be without far amounts.
        let memory = MEMORIES[if dice(20) == 0 { dice(MEMORIES.len()) } else { dice(4) }];
        let free = Free { cores: Cores(dice(64) as i64), memory: MiB(memory), resources: ResourceMask::NONE };
        match dice(8) {
            0 => {
                amounts.vacate(position);
                expected.remove(&position);
            }
            1 | 2 if expected.contains_key(&position) => {
                amounts.set(position, free);
                expected.insert(position, free);
            }
            1 | 2 => {
                amounts.put(position, Slot(step), free);
                expected.insert(position, free);
            }
            turn => {
                // Either all Workers of the word, or about half of them.
                let chosen =
                    if turn < 6 { u64::MAX } else { u64::from(step).wrapping_mul(0x9E37_79B9_7F4A_7C15) };
                let demand = Demand { memory: MiB(memory), ..Demand::default() };
                let share = Share::new(Slot(0), 1 + dice(3) as u64, Cores(1));
                let update = if dice(2) == 0 { Update::Take(&demand) } else { Update::GiveBack(&demand) };
                let delta = update.delta(&share);
                let positions = Direction::Ascending.bits(chosen, word * WORD);
                let bits =
                    positions.filter(|at| expected.contains_key(at)).fold(0, |bits, at| bits | bit(at));
                amounts.apply(word, bits, &delta);
                for at in Direction::Ascending.bits(bits, word * WORD) {
                    expected.entry(at).and_modify(|free| *free = delta.applied(*free));
                }
            }
        }
        assert_eq!(amounts.check(), Ok(()), "step {step}");
        for (position, free) in &expected {
            assert_eq!(amounts.free(*position), *free, "step {step}, position {position}");
        }
    }
}

#[test]
fn shares_are_taken_from_their_workers_though_others_came_between_and_went() {
    let demand = Demand { size: ExecutorSize::Fixed(Cores(2)), cores_left: Cores(400), ..Demand::default() };
    for new in [Index::new, Index::in_leaves] {
        let mut index = new(WorkerOrder::CoresFreeDesc);
        let mut offers = BTreeMap::new();
        let mut insert = |index: &mut Index<u32>, worker| {
            index.insert(worker, Cores(8), MiB(65_536), Resources::NONE);
            offers.insert(worker, 8);
        };
        (0..200).for_each(|n| insert(&mut index, n * 100));
        let shares = index.place(&demand, Strategy::SpreadOut);
        let gone = index.slot(&5_000).expect("it is there");
        // All Workers get other positions.
        (0..400).for_each(|n| insert(&mut index, n * 50 + 1));
        index.remove(&5_000);
        offers.remove(&5_000);
        index.take(&demand, &shares);
        for share in shares.iter().filter(|share| share.slot != gone) {
            let worker = index.iter().find(|(_, slot)| *slot == share.slot).map(|(worker, _)| *worker);
            offers.entry(worker.expect("it is there")).and_modify(|cores| *cores -= 2);
        }
        let offers: Vec<_> = offers
            .values()
            .map(|&cores| {
                let memory = MiB(65_536 - demand.memory.0 * i64::from(cores < 8));
                Offer { worker: "w", cores: Cores(cores), memory, resources: Resources::NONE }
            })
            .collect();
        assert_eq!(index.check(offers), Ok(()));
    }
}
