//! Deliberate bugs in the tables of Workers. The Master's own check must find every one of them.

use firesteel_placement::advanced::index::Index;

use super::*;

#[test]
fn an_index_over_the_workers_that_errs_is_found_out() {
    type Strike = fn(&mut Index<WorkerId>, &WorkerId);
    let misses_freed: Strike = |index, id| {
        let slot = index.slot(id).expect("it is there");
        index.set(slot, Cores(7), MiB(8192), Resources::NONE);
    };
    let misses_worker: Strike = |index, id| _ = index.remove(id);
    for (strike, said) in [(misses_freed, "w2 is indexed with 7 cores"), (misses_worker, "the Workers have")]
    {
        let mut bench = Bench::new(Config::default());
        (1..=3).for_each(|n| _ = bench.worker(n, 8));
        strike(bench.master.workers.index_mut(), &WorkerId::new("w2"));
        let violation = bench.master.check().expect_err("it errs");
        assert!(violation.sentence.contains(said), "{violation}");
    }
}
