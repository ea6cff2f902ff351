//! Counts the index: 16 executors on 10,000 workers.

use firesteel_placement::advanced::index::{Index, Share};
use firesteel_placement::{
    Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Resources, Strategy, WorkerOrder,
};
use gungraun::{library_benchmark, library_benchmark_group};

use super::bound;

const WORKERS: u64 = 10_000;

/// 16 executors of 2 cores and 4 GiB.
fn sixteen() -> Demand {
    Demand {
        size: ExecutorSize::Fixed(Cores(2)),
        memory: MiB(4096),
        limit: ExecutorLimit::AtMost(16),
        ..Demand::default()
    }
}

/// Workers of 64 cores and 256 GiB, with sixteen degrees of use.
fn cluster() -> Index<u64> {
    let mut index = Index::new(WorkerOrder::CoresFreeDesc);
    for n in 0..WORKERS {
        let degree = (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60) as i64;
        index.insert(n, Cores(4 * degree), MiB(16_384 * degree), Resources::NONE);
    }
    place_and_take(&mut index);
    index
}

fn place_and_take(index: &mut Index<u64>) -> Vec<Share> {
    let shares = index.place(&sixteen(), Strategy::SpreadOut);
    assert_eq!(shares.iter().map(|share| share.executors).sum::<u64>(), 16);
    index.take(&sixteen(), &shares);
    shares
}

fn decided() -> (Index<u64>, Vec<Share>) {
    let index = cluster();
    let shares = index.place(&sixteen(), Strategy::SpreadOut);
    (index, shares)
}

fn committed() -> (Index<u64>, Vec<Share>) {
    let mut index = cluster();
    let shares = place_and_take(&mut index);
    (index, shares)
}

#[library_benchmark(config = bound("decide_16"), setup = cluster)]
#[bench::on_10_000()]
fn decide_16(index: Index<u64>) -> (Index<u64>, Vec<Share>) {
    let shares = index.place(&sixteen(), Strategy::SpreadOut);
    (index, shares)
}

#[library_benchmark(config = bound("commit_16"), setup = decided)]
#[bench::on_10_000()]
fn commit_16((mut index, shares): (Index<u64>, Vec<Share>)) -> (Index<u64>, Vec<Share>) {
    index.take(&sixteen(), &shares);
    (index, shares)
}

#[library_benchmark(config = bound("give_back_16"), setup = committed)]
#[bench::on_10_000()]
fn give_back_16((mut index, shares): (Index<u64>, Vec<Share>)) -> (Index<u64>, Vec<Share>) {
    index.give_back(&sixteen(), &shares);
    (index, shares)
}

library_benchmark_group!(name = placements; benchmarks = decide_16, commit_16, give_back_16);
