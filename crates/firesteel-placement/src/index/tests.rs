//! Deliberate bugs of an index: its own check finds each of them.

use super::*;

/// A way in which an index errs.
#[derive(Clone, Copy, Debug)]
enum Flaw {
    /// It was not told of a core that a worker got back.
    MissesFreed,
    /// It was not told that a worker is there.
    MissesWorker,
    /// A part of it knows less than what its workers have, as if it had not been told of the best of them.
    StaleSummary,
}

impl Flaw {
    fn strike(self, index: &mut Index<u32>) {
        let slot = index.slot(&3).expect("it is there");
        match self {
            Self::MissesFreed => {
                let free = index.sorted.get(slot).expect("it is there");
                index.sorted.set(slot, Free { cores: free.cores - Cores(1), ..free });
            }
            Self::MissesWorker => _ = index.sorted.remove(slot),
            Self::StaleSummary => index.sorted.forget_best(),
        }
    }
}

#[test]
fn an_index_that_errs_is_found_out() {
    let offer = Offer { worker: "w", cores: Cores(8), memory: MiB(1024), resources: Resources::NONE };
    for order in WorkerOrder::ALL {
        for (make, stale) in
            [(Index::new as fn(_) -> _, "its workers Some"), (Index::tree, "a branch is not as")]
        {
            for (flaw, said) in [
                (Flaw::MissesFreed, "is indexed with 7 cores"),
                (Flaw::MissesWorker, "is in no leaf"),
                (Flaw::StaleSummary, stale),
            ] {
                let mut index = make(order);
                for worker in 0..9 {
                    index.insert(worker, offer.cores, offer.memory, offer.resources);
                }
                assert_eq!(index.check(vec![offer; 9]), Ok(()));
                flaw.strike(&mut index);
                let sentence = index.check(vec![offer; 9]).expect_err("it errs");
                assert!(sentence.contains(said), "{order:?}, {flaw:?}: {sentence}");
            }
        }
    }
}
