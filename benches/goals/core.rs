//! The rows about the index itself.

use std::hint::black_box;
use std::time::{Duration, Instant};

use firesteel_placement::advanced::index::{Index, Share};
use firesteel_placement::{Cores, MiB, Offer, Resources, Strategy, WorkerOrder};

use super::cluster::{self, Dice};
use super::plain::{self, Ask, Worker};
use super::table::{Scale, Sheet};

pub fn rows(scale: Scale, sheet: &mut Sheet) {
    // Measured first, since reused memory would not show up as growth.
    memory(scale, sheet);
    against_plain(scale, sheet);
    fetches(scale, sheet);
    over_sizes(scale, sheet);
    every_worker(scale, sheet);
    churn(scale, sheet);
    adversarial(scale, sheet);
    by_memory(scale, sheet);
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

const BY_CORES: WorkerOrder = WorkerOrder::CoresFreeDesc;

/// 16 executors of 2 cores and 4 GiB.
const SIXTEEN: Ask = Ask { cores: 2, memory: 4096, executors: 16 };

/// Compares the times to decide and commit 16 executors: A, B and the index, in turns, on the same cluster.
fn against_plain(scale: Scale, sheet: &mut Sheet) {
    const BATCH: usize = 32;
    for (workers, with_a) in [(scale.of(10_000), true), (scale.of(100_000), false)] {
        let mut plain = cluster::mixed(workers);
        let mut index = cluster::index(&plain);
        let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..scale.rounds(9) {
            if with_a {
                let (placed, time) = timed(|| {
                    let placed = plain::as_spark(&plain, &SIXTEEN);
                    plain::commit(&mut plain, &SIXTEEN, &placed);
                    placed
                });
                a.push(time.as_nanos() as f64);
                let (shares, _) = timed(|| cluster::place(&mut index, &SIXTEEN));
                assert_eq!(placed, cluster::placed(&shares), "A, round {round}");
            }
            let (placed, time) = timed(|| {
                let placed = plain::round_robin(&plain, &SIXTEEN);
                plain::commit(&mut plain, &SIXTEEN, &placed);
                placed
            });
            b.push(time.as_nanos() as f64);
            let shares = cluster::place(&mut index, &SIXTEEN);
            assert_eq!(placed, cluster::placed(&shares), "B, round {round}");
            // A single call is too short for the clock.
            let (batch, time) =
                timed(|| (0..BATCH).map(|_| cluster::place(&mut index, &SIXTEEN)).collect::<Vec<_>>());
            c.push(time.as_nanos() as f64 / BATCH as f64);
            for shares in &batch {
                assert_eq!(plain::round_robin(&plain, &SIXTEEN), cluster::placed(shares));
                plain::commit(&mut plain, &SIXTEEN, &cluster::placed(shares));
            }
        }
        let ours = median(c);
        if with_a {
            sheet.put("A", median(a) / ours);
        }
        sheet.put(if with_a { "B at 10,000" } else { "B at 100,000" }, median(b) / ours);
        sheet.say(&format!("16 executors on {workers} workers, decided and committed"), ours, "ns");
    }
}

/// Runs decisions for a tool that counts events, such as Cachegrind: ten times, B scans 100,000 workers, then this
/// number of decisions follows. The difference between two numbers of decisions is due to the decisions alone.
pub fn decide_after_b(decisions: usize) {
    let plain = cluster::mixed(100_000);
    let mut index = cluster::index(&plain);
    for _ in 0..10 {
        black_box(plain::round_robin(&plain, &SIXTEEN));
        (0..decisions).for_each(|_| drop(black_box(cluster::place(&mut index, &SIXTEEN))));
    }
}

/// Measures how fast the machine fetches as many cache lines as one decision needs. The lines come from as much memory
/// as the index of 100,000 workers takes, after B has used the caches. They are read in two ways: each line points to
/// the next, or all are read at the same time.
fn fetches(scale: Scale, sheet: &mut Sheet) {
    /// The number of cache lines per decision, counted with `decide_after_b`.
    const LINES: usize = 19;
    const DECISIONS: usize = 32;
    let plain = cluster::mixed(scale.of(100_000));
    let lines = plain.len();
    let mut order: Vec<usize> = (0..lines).collect();
    let mut dice = Dice(13);
    (1..lines).for_each(|n| order.swap(n, dice.below(n as u64 + 1) as usize));
    // Each line holds the number of the next one.
    let mut memory = vec![[0_usize; 8]; lines];
    order.windows(2).for_each(|pair| memory[pair[0]][0] = pair[1]);
    let fetched = (LINES * DECISIONS).min(lines - 1);
    let (mut in_turn, mut at_once) = (Vec::new(), Vec::new());
    for round in 0..scale.rounds(19) {
        let first = round * fetched % (lines - fetched);
        black_box(plain::round_robin(&plain, &SIXTEEN));
        let (_, time) = timed(|| black_box((0..fetched).fold(order[first], |line, _| memory[line][0])));
        in_turn.push(time.as_nanos() as f64 / DECISIONS as f64);
        black_box(plain::round_robin(&plain, &SIXTEEN));
        let these = order[first..first + fetched].to_vec();
        let (_, time) = timed(|| black_box(these.iter().map(|line| memory[*line][0]).sum::<usize>()));
        at_once.push(time.as_nanos() as f64 / DECISIONS as f64);
    }
    sheet.say(&format!("{LINES} lines of memory fetched one after another"), median(in_turn), "ns");
    sheet.say(&format!("{LINES} lines of memory fetched at once"), median(at_once), "ns");
}

/// A cluster at 85 % under churn.
struct Churn {
    index: Index<u32>,
    workers: Vec<Worker>,
    apps: std::collections::VecDeque<(Ask, Vec<Share>)>,
    dice: Dice,
    free: i64,
    reserve: i64,
}

impl Churn {
    fn new(workers: usize) -> Self {
        let mut plain = cluster::idle(workers);
        let mut index = cluster::index(&plain);
        let apps: std::collections::VecDeque<_> = cluster::fill(&mut plain, &mut index, 85).into();
        let free = plain.iter().map(|worker| worker.cores).sum();
        let mut churn = Self {
            index,
            workers: plain,
            apps,
            dice: Dice(11),
            free,
            reserve: workers as i64 * 64 * 15 / 100,
        };
        // The first applications lie in order, which the longest-lived ones should not.
        for _ in 0..churn.apps.len() {
            churn.turn();
        }
        churn
    }

    /// Places one application; ends the oldest ones while too much is in use. Returns the number of placed executors.
    fn turn(&mut self) -> u64 {
        let ask = cluster::shape(&mut self.dice);
        let shares = cluster::place(&mut self.index, &ask);
        let executors = self.keep(ask, shares);
        self.make_room();
        executors
    }

    fn keep(&mut self, ask: Ask, shares: Vec<Share>) -> u64 {
        let executors = cluster::executors(&shares);
        self.free -= cluster::cores(&ask, &shares);
        self.apps.push_back((ask, shares));
        executors
    }

    fn make_room(&mut self) {
        while self.free < self.reserve {
            let (ask, shares) = self.apps.pop_front().expect("something is in use");
            self.index.give_back(&cluster::demand(&ask), &shares);
            self.free += cluster::cores(&ask, &shares);
        }
    }

    /// Copies the state of the index to the plain numbers.
    fn settle(&mut self) {
        for (n, slot) in self.index.iter() {
            let (cores, memory) = self.index.free(slot).expect("it is there");
            self.workers[*n as usize] = Worker { cores: cores.0, memory: memory.0 };
        }
    }
}

/// Compares the median time to decide and commit one application under churn: a million workers against a thousand.
fn over_sizes(scale: Scale, sheet: &mut Sheet) {
    let mut small = Churn::new(scale.of(1_000));
    let mut large = Churn::new(scale.of(1_000_000));
    let (mut of_small, mut of_large) = (Vec::new(), Vec::new());
    for _ in 0..scale.rounds(20_000) {
        for (churn, times) in [(&mut small, &mut of_small), (&mut large, &mut of_large)] {
            let ask = cluster::shape(&mut churn.dice);
            let (shares, time) = timed(|| cluster::place(&mut churn.index, &ask));
            times.push(time.as_nanos() as f64);
            churn.keep(ask, shares);
            churn.make_room();
        }
    }
    let (small, large) = (median(of_small), median(of_large));
    sheet.put("p50 at 1,000,000", large / small);
    sheet.say("p50 of one application at 1,000 workers, 85 % full", small, "ns");
    sheet.say("p50 of one application at 1,000,000 workers, 85 % full", large, "ns");
}

/// Compares one executor on every worker with a loop over the same workers that only counts down. Both use a permanent
/// cluster, like a Master's: placements are released before the next round.
fn every_worker(scale: Scale, sheet: &mut Sheet) {
    let workers = scale.of(100_000);
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    // Reused in all rounds, since the counting loop makes no vector either.
    let mut shares = Vec::new();
    let ask = Ask { cores: 2, memory: 4096, executors: workers as u64 };
    let with_room = |worker: Worker| Worker { cores: worker.cores + 2, memory: worker.memory + 4096 };
    let mut plain: Vec<Worker> = cluster::mixed(workers).into_iter().map(with_room).collect();
    let mut index = cluster::index(&plain);
    for _ in 0..scale.rounds(19) {
        let expected = plain::round_robin(&plain, &ask);
        let (_, time) = timed(|| cluster::place_into(&mut index, &ask, &mut shares));
        ours.push(time.as_nanos() as f64);
        let (_, time) = timed(|| {
            for share in &shares {
                let worker = &mut plain[share.slot.index()];
                worker.cores -= share.executors as i64 * ask.cores;
                worker.memory -= share.executors as i64 * ask.memory;
            }
            black_box(&mut plain);
        });
        floor.push(time.as_nanos() as f64);
        let placed = cluster::placed(&shares);
        assert_eq!(placed, expected);
        assert_eq!(shares.len(), workers);
        plain::release(&mut plain, &ask, &placed);
        index.give_back(&cluster::demand(&ask), &shares);
    }
    let (ours, floor) = (median(ours), median(floor));
    sheet.put("every worker", ours / floor);
    sheet.say("one executor on every worker, per worker", ours / workers as f64, "ns");
    sheet.say("the loop that only counts, per worker", floor / workers as f64, "ns");
}

/// Compares executors per second with B: placed, committed and released, in mixed shapes at 85 %.
fn churn(scale: Scale, sheet: &mut Sheet) {
    for (workers, name) in [(scale.of(10_000), "churn at 10,000"), (scale.of(100_000), "churn at 100,000")] {
        let mut churn = Churn::new(workers);
        let (mut ours, mut of_b) = (Vec::new(), Vec::new());
        for _ in 0..scale.rounds(9) {
            let (executors, time) = timed(|| (0..2_000).map(|_| churn.turn()).sum::<u64>());
            ours.push(executors as f64 / time.as_secs_f64());
            churn.settle();
            let (mut executors, mut time) = (0, Duration::ZERO);
            for _ in 0..scale.rounds(4) {
                let ask = cluster::shape(&mut churn.dice);
                let (placed, spent) = timed(|| {
                    let placed = plain::round_robin(&churn.workers, &ask);
                    plain::commit(&mut churn.workers, &ask, &placed);
                    placed
                });
                time += spent;
                let shares = cluster::place(&mut churn.index, &ask);
                assert_eq!(placed, cluster::placed(&shares));
                let (_, spent) = timed(|| plain::release(&mut churn.workers, &ask, &placed));
                time += spent;
                churn.index.give_back(&cluster::demand(&ask), &shares);
                executors += cluster::executors(&shares);
            }
            of_b.push(executors as f64 / time.as_secs_f64());
        }
        let (ours, of_b) = (median(ours), median(of_b));
        sheet.put(name, ours / of_b);
        sheet.put(&format!("{name}, a second"), ours / 1e6);
    }
}

/// Measures clusters and demands that are hard for an index, against a scan of every worker.
fn adversarial(scale: Scale, sheet: &mut Sheet) {
    let many = scale.of(100_000);
    let million = scale.of(1_000_000);
    let mut dice = Dice(3);
    let bound = (0..many).map(|n| Worker { cores: 64, memory: if n % 1000 == 0 { 8192 } else { 1024 } });
    let distinct = (0..many).map(|n| Worker { cores: 1 + n as i64, memory: 1 + dice.below(1 << 20) as i64 });
    let crossed: Vec<Worker> =
        (0..many).map(|n| Worker { cores: 64, memory: if n % 2 == 0 { 8192 } else { 1024 } }).collect();
    let clusters: [(&str, Vec<Worker>, Ask); 5] = [
        ("memory-bound", bound.collect(), Ask { cores: 2, memory: 4096, executors: 50 }),
        ("all distinct", distinct.collect(), Ask { cores: 2, memory: 4096, executors: 16 }),
        ("all equal", cluster::idle(many), Ask { cores: 2, memory: 4096, executors: 16 }),
        ("one free among a million", one_free(million), Ask { cores: 1, memory: 1024, executors: 16 }),
        ("limit 1", cluster::mixed(many), Ask { cores: 2, memory: 4096, executors: 1 }),
    ];
    let mut worst: f64 = 0.0;
    for (name, workers, ask) in clusters {
        let ratio = against_flat(scale, &workers, &ask, BY_CORES);
        sheet.say(&format!("adversarial, {name}: times the flat form"), ratio, "x");
        worst = worst.max(ratio);
    }
    sheet.put("adversarial", worst);
    // Not part of the goal, but the best case of the flat form.
    let ratio =
        against_flat(scale, &crossed, &Ask { cores: 2, memory: 4096, executors: many as u64 }, BY_CORES);
    sheet.say("every other worker has room, an executor for each: times the flat form", ratio, "x");
    for workers in [4, 16, 64, 256] {
        let ratio = against_flat(scale, &cluster::mixed(workers), &SIXTEEN, BY_CORES);
        sheet.say(&format!("16 executors on {workers} workers: times the flat form"), ratio, "x");
    }
}

/// Measures the order by free memory under churn, where hardly two Workers have the same free memory.
fn by_memory(scale: Scale, sheet: &mut Sheet) {
    for workers in [100, 1_000, 10_000, 100_000] {
        let mut churn = Churn::new(scale.of(workers));
        churn.settle();
        // Like real programs, not in whole GiB.
        let mut dice = Dice(5);
        churn.workers.iter_mut().for_each(|worker| worker.memory += dice.below(1 << 10) as i64);
        let all = Ask { executors: scale.of(workers) as u64, ..SIXTEEN };
        for (what, ask) in [("16 executors", SIXTEEN), ("an executor on each", all)] {
            let ratio = against_flat(scale, &churn.workers, &ask, WorkerOrder::MemoryFreeDesc);
            sheet.say(
                &format!("most memory first, {workers:>6} workers, {what}: times the flat form"),
                ratio,
                "x",
            );
        }
        // All cores are in use, but memory is left.
        churn.workers.iter_mut().for_each(|worker| worker.cores = 0);
        let ratio = against_flat(scale, &churn.workers, &SIXTEEN, WorkerOrder::MemoryFreeDesc);
        sheet.say(
            &format!("most memory first, {workers:>6} workers, no core free: times the flat form"),
            ratio,
            "x",
        );
    }
}

fn one_free(workers: usize) -> Vec<Worker> {
    let mut full = vec![Worker { cores: 0, memory: 1024 }; workers];
    full[workers / 3] = Worker { cores: 4, memory: 8192 };
    full
}

/// The time of the index divided by the time of the flat form, to decide and commit.
fn against_flat(scale: Scale, workers: &[Worker], ask: &Ask, order: WorkerOrder) -> f64 {
    let demand = cluster::demand(ask);
    let ids: Vec<String> = (0..workers.len()).map(|n| format!("{n:08}")).collect();
    let (mut ours, mut flat) = (Vec::new(), Vec::new());
    let rounds = if workers.len() < 1000 { 2_000 } else { 9 };
    let mut index = cluster::index_by(order, workers);
    for _ in 0..scale.rounds(rounds) {
        let mut offers: Vec<Offer<'_>> = ids
            .iter()
            .zip(workers)
            .map(|(id, worker)| Offer {
                worker: id,
                cores: Cores(worker.cores),
                memory: MiB(worker.memory),
                resources: Resources::NONE,
            })
            .collect();
        let (placed, time) = timed(|| {
            let placement = firesteel_placement::advanced::offers::place(
                &demand,
                offers.iter().copied(),
                order,
                Strategy::SpreadOut,
            );
            placement
                .workers()
                .map(|(worker, cores)| (worker.parse().expect("a number"), cores))
                .collect::<Vec<(usize, Cores)>>()
        });
        for (n, cores) in &placed {
            offers[*n].cores -= *cores;
        }
        flat.push(time.as_nanos() as f64);
        let (shares, time) = timed(|| cluster::place(&mut index, ask));
        ours.push(time.as_nanos() as f64);
        let given: Vec<_> = shares
            .iter()
            .map(|share| (share.slot.index(), Cores(share.cores.0 * share.executors as i64)))
            .collect();
        assert_eq!(given, placed);
        index.give_back(&demand, &shares);
        black_box(&offers);
    }
    median(ours) / median(flat)
}

/// Measures bytes per worker of an index of a million workers, including its map of ids but not their texts.
fn memory(scale: Scale, sheet: &mut Sheet) {
    let workers = cluster::mixed(scale.of(1_000_000));
    let before = resident();
    let index = cluster::index(&workers);
    let after = resident();
    assert_eq!(index.len(), workers.len());
    sheet.put("memory", after.saturating_sub(before) as f64 / workers.len() as f64);
}

/// The resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
