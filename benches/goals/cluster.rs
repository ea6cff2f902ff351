//! The same cluster in two forms: indexed, and as plain numbers.

use firesteel_placement::advanced::index::{Index, Share};
use firesteel_placement::{
    Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Resources, Strategy, WorkerOrder,
};

use super::plain::{self, Ask, Placed, Worker};

const CORES: i64 = 64;
/// Memory of each machine, in MiB.
const MEMORY: i64 = 256 * 1024;

/// A random number generator (SplitMix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }
}

/// Workers of 64 cores and 256 GiB, with sixteen degrees of use.
pub fn mixed(workers: usize) -> Vec<Worker> {
    let mut dice = Dice(workers as u64);
    let worker = |_| {
        let degree = dice.below(16) as i64;
        Worker { cores: 4 * degree, memory: 16_384 * degree }
    };
    (0..workers).map(worker).collect()
}

/// Workers of 64 cores and 256 GiB with nothing on them.
pub fn idle(workers: usize) -> Vec<Worker> {
    vec![Worker { cores: CORES, memory: MEMORY }; workers]
}

/// A random application, of few or of dozens of executors.
pub fn shape(dice: &mut Dice) -> Ask {
    const SHAPES: [(i64, i64, u64); 10] = [
        (1, 2048, 16),
        (2, 4096, 16),
        (2, 16_384, 16),
        (4, 8192, 8),
        (4, 16_384, 32),
        (8, 16_384, 4),
        (8, 65_536, 2),
        (16, 32_768, 8),
        (1, 1024, 64),
        (2, 8192, 1),
    ];
    let (cores, memory, executors) = SHAPES[dice.below(SHAPES.len() as u64) as usize];
    Ask { cores, memory, executors }
}

pub fn demand(ask: &Ask) -> Demand {
    Demand {
        size: ExecutorSize::Fixed(Cores(ask.cores)),
        memory: MiB(ask.memory),
        limit: ExecutorLimit::AtMost(ask.executors),
        ..Demand::default()
    }
}

/// The index of a cluster, in Spark's worker order. Ids are consecutive numbers, so that each equals its slot.
pub fn index(workers: &[Worker]) -> Index<u32> {
    index_by(WorkerOrder::CoresFreeDesc, workers)
}

/// The index of a cluster in any worker order.
pub fn index_by(order: WorkerOrder, workers: &[Worker]) -> Index<u32> {
    let mut index = Index::new(order);
    for (n, worker) in (0..).zip(workers) {
        index.insert(n, Cores(worker.cores), MiB(worker.memory), Resources::NONE);
    }
    index
}

/// Places executors and commits the placement.
pub fn place(index: &mut Index<u32>, ask: &Ask) -> Vec<Share> {
    let demand = demand(ask);
    let shares = index.place(&demand, Strategy::SpreadOut);
    index.take(&demand, &shares);
    shares
}

/// Like `place`, into a vector of the caller.
pub fn place_into(index: &mut Index<u32>, ask: &Ask, shares: &mut Vec<Share>) {
    let demand = demand(ask);
    index.place_into(shares, &demand, Strategy::SpreadOut);
    index.take(&demand, shares);
}

pub fn placed(shares: &[Share]) -> Placed {
    shares.iter().map(|share| (share.slot.index(), share.executors)).collect()
}

/// Places applications until this percentage of the cores is in use. Returns them.
pub fn fill(workers: &mut [Worker], index: &mut Index<u32>, percent: i64) -> Vec<(Ask, Vec<Share>)> {
    let mut dice = Dice(7);
    let mut used = 0;
    let mut apps = Vec::new();
    while used * 100 < percent * CORES * workers.len() as i64 {
        let ask = shape(&mut dice);
        let shares = place(index, &ask);
        plain::commit(workers, &ask, &placed(&shares));
        used += cores(&ask, &shares);
        apps.push((ask, shares));
    }
    apps
}

pub fn cores(ask: &Ask, shares: &[Share]) -> i64 {
    ask.cores * executors(shares) as i64
}

pub fn executors(shares: &[Share]) -> u64 {
    shares.iter().map(|share| share.executors).sum()
}
