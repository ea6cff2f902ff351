//! Agreed placements, one per row.
//!
//! - Workers: `w1:8/2048+gpu3` has 8 free cores, 2048 MiB and 3 free gpus; memory is ample unless said.
//!   `3x10/512` stands for `w1:10/512 w2:10/512 w3:10/512`.
//! - Asks: `cores` and `mem` of an executor (one executor for each worker unless `cores` is said), `left`
//!   cores of a maximum, `limit` on executors, `held` executors, `gpu` for each executor.
//! - By: `spread` or `fill`, and the worker order; Spark's default unless said.

use firesteel_placement::advanced::offers::{assign, place};
use firesteel_placement::{
    Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Resources, Strategy, WorkerOrder,
};

/// The cores from each worker, in the listed order, in Spark's own tests of the rule (MasterSuite).
const ASSIGNED: &str = "
    # workers   | asks                               | by     | cores
    3x10/512    | mem 128                            | spread | 10 10 10
    3x10/512    | mem 128                            | fill   | 10 10 10
    3x10/512    | mem 384                            | spread | 10 10 10
    3x10/512    | mem 384                            | fill   | 10 10 10
    3x10/512    | mem 128, left 8                    | spread | 3 3 2
    3x10/512    | mem 128, left 16                   | spread | 6 5 5
    3x10/512    | mem 128, left 8                    | fill   | 8 0 0
    3x10/512    | mem 128, left 16                   | fill   | 10 6 0
    3x10/512    | mem 128, cores 2                   | spread | 8 8 8
    3x10/512    | mem 128, cores 2                   | fill   | 8 8 8
    3x10/512    | mem 32, cores 2                    | spread | 10 10 10
    3x10/512    | mem 32, cores 2                    | fill   | 10 10 10
    3x10/512    | mem 32, cores 3                    | spread | 9 9 9
    3x10/512    | mem 32, cores 3                    | fill   | 9 9 9
    3x10/512    | mem 32, cores 2, left 4            | spread | 2 2 0
    3x10/512    | mem 32, cores 2, left 20           | spread | 8 6 6
    3x10/512    | mem 32, cores 3, left 20           | spread | 6 6 6
    3x10/512    | mem 32, cores 2, left 4            | fill   | 4 0 0
    3x10/512    | mem 32, cores 2, left 20           | fill   | 10 10 0
    3x10/512    | mem 32, cores 3, left 20           | fill   | 9 9 0
    3x10/512    | mem 32, limit 0                    | spread | 0 0 0
    3x10/512    | mem 32, limit 2                    | spread | 10 10 0
    3x10/512    | mem 32, limit 5                    | spread | 10 10 10
    3x10/512    | mem 32, limit 0                    | fill   | 0 0 0
    3x10/512    | mem 32, limit 2                    | fill   | 10 10 0
    3x10/512    | mem 32, limit 5                    | fill   | 10 10 10
    3x10/512    | mem 32, limit 0, left 16           | spread | 0 0 0
    3x10/512    | mem 32, limit 2, left 16           | spread | 8 8 0
    3x10/512    | mem 32, limit 5, left 16           | spread | 6 5 5
    3x10/512    | mem 32, limit 0, left 16           | fill   | 0 0 0
    3x10/512    | mem 32, limit 2, left 16           | fill   | 10 6 0
    3x10/512    | mem 32, limit 5, left 16           | fill   | 10 6 0
    3x10/512    | mem 32, limit 0, cores 4           | spread | 0 0 0
    3x10/512    | mem 32, limit 2, cores 4           | spread | 4 4 0
    3x10/512    | mem 32, limit 5, cores 4           | spread | 8 8 4
    3x10/512    | mem 32, limit 0, cores 4           | fill   | 0 0 0
    3x10/512    | mem 32, limit 2, cores 4           | fill   | 8 0 0
    3x10/512    | mem 32, limit 5, cores 4           | fill   | 8 8 4
    3x10/512    | mem 32, limit 0, cores 4, left 18  | spread | 0 0 0
    3x10/512    | mem 32, limit 2, cores 4, left 18  | spread | 4 4 0
    3x10/512    | mem 32, limit 5, cores 4, left 18  | spread | 8 4 4
    3x10/512    | mem 32, limit 0, cores 4, left 18  | fill   | 0 0 0
    3x10/512    | mem 32, limit 2, cores 4, left 18  | fill   | 8 0 0
    3x10/512    | mem 32, limit 5, cores 4, left 18  | fill   | 8 8 0
";

/// The results in Spark's own tests of the worker order (WorkerSelectionSuite).
const BY_EACH_ORDER: &str = "
    # workers                    | asks            | by                      | launches
    w1:5/1280 w2:6/5120 w3:7/3840 | cores 2, left 4 | spread CORES_FREE_ASC   | w1:2 w2:2
    w1:5/1280 w2:6/5120 w3:7/3840 | cores 2, left 4 | fill   CORES_FREE_ASC   | w1:2 w1:2
    w1:5/1280 w2:6/5120 w3:7/3840 | cores 2, left 4 | spread CORES_FREE_DESC  | w3:2 w2:2
    w1:5/1280 w2:6/5120 w3:7/3840 | cores 2, left 4 | fill   CORES_FREE_DESC  | w3:2 w3:2
    w1:5/1280 w2:6/5120 w3:7/3840 | cores 2, left 4 | spread MEMORY_FREE_ASC  | w1:2 w3:2
    w1:5/1280 w2:6/5120 w3:7/3840 | cores 2, left 4 | fill   MEMORY_FREE_ASC  | w1:2 w1:2
    w1:5/1280 w2:6/5120 w3:7/3840 | cores 2, left 4 | spread MEMORY_FREE_DESC | w2:2 w3:2
    w1:5/1280 w2:6/5120 w3:7/3840 | cores 2, left 4 | fill   MEMORY_FREE_DESC | w2:2 w2:2
    w1:5/1280 w2:6/5120 w3:7/3840 | cores 2, left 4 | spread WORKER_ID        | w1:2 w2:2
    w1:5/1280 w2:6/5120 w3:7/3840 | cores 2, left 4 | fill   WORKER_ID        | w1:2 w1:2
    w1:8/4096 w2:4/8192 w3:8/4096 | cores 2, left 4 | spread CORES_FREE_ASC   | w2:2 w1:2
    w1:8/4096 w2:4/8192 w3:8/4096 | cores 2, left 4 | spread CORES_FREE_DESC  | w3:2 w1:2
    w1:8/4096 w2:4/8192 w3:8/4096 | cores 2, left 4 | spread MEMORY_FREE_ASC  | w1:2 w3:2
    w1:8/4096 w2:4/8192 w3:8/4096 | cores 2, left 4 | spread MEMORY_FREE_DESC | w2:2 w3:2
    w1:8/4096 w2:4/8192 w3:8/4096 | cores 2, left 4 | spread WORKER_ID        | w1:2 w2:2
";

/// Recorded results of a real Master. A later step starts from the result of the step before.
const LAUNCHED: &str = "
    # workers               | asks                       | by                    | launches
    # Whole executors, not single cores dealt in turn (SPARK-8881).
    4x16                    | cores 16, left 48          | spread                | w4:16 w3:16 w2:16
    4x16                    | left 48                    | spread                | w4:12 w3:12 w2:12 w1:12
    4x16                    | left 48                    | fill                  | w4:16 w3:16 w2:16
    # A second application beside a first one, and again when the first has gone.
    4x8                     | cores 4, left 4            | spread                | w4:4
    w1:8 w2:8 w3:8 w4:4     | cores 6, left 24           | spread                | w3:6 w2:6 w1:6
    w1:2 w2:2 w3:2 w4:8     | cores 6, left 6, held 3    | spread                | w4:6
    # A worker's executors come one after another, though they were dealt in rounds.
    w1:8 w2:8 w3:4          | cores 2, left 10           | spread                | w2:2 w2:2 w1:2 w1:2 w3:2
    w1:8 w2:8 w3:4          | cores 2, left 10           | fill                  | w2:2 w2:2 w2:2 w2:2 w1:2
    w1:8 w2:8 w3:4          | cores 2, left 10           | fill CORES_FREE_ASC   | w3:2 w3:2 w1:2 w1:2 w1:2
    # One worker bound by memory, the other by cores.
    w1:8/2048 w2:8/8192     | cores 2, left 16, mem 1500 | spread                | w2:2 w2:2 w2:2 w2:2 w1:2
    # A limit, raised; an executor killed and replaced; a limit lowered.
    3x10                    | cores 3, limit 2           | spread                | w3:3 w2:3
    w1:10 w2:7 w3:7         | cores 3, limit 5, held 2   | spread                | w1:3 w3:3 w2:3
    w1:7 w2:4 w3:7          | cores 3, limit 5, held 4   | spread                | w3:3
    w1:7 w2:4 w3:7          | cores 3, limit 1, held 4   | spread                |
    3x10                    | limit 1                    | spread                | w3:10
    3x10                    | left 5                     | spread                | w3:2 w2:2 w1:1
    # The limit of each worker's gpus.
    w1:8+gpu3 w2:8+gpu1     | cores 2, gpu 1             | spread                | w2:2 w1:2 w1:2 w1:2
    # One executor for each worker holds within one placement only.
    2x4                     | left 6                     | spread                | w2:3 w1:3
    2x1                     |                            | spread                | w2:1 w1:1
    2x3                     | held 2                     | spread                | w2:3 w1:3
    # Cores left that are fewer than an executor has.
    1x10                    | cores 3, left 5            | spread                | w1:3
    w1:7                    | cores 3, left 2, held 1    | spread                |
    # First in, first out, and nobody waits for one who fits nowhere.
    2x8                     | cores 6                    | spread                | w2:6 w1:6
    2x2                     | cores 4                    | spread                |
    2x2                     | cores 2                    | spread                | w2:2 w1:2
    2x6                     | cores 4                    | spread                | w2:4 w1:4
    2x2                     | cores 2, held 2            | spread                | w2:2 w1:2
    # Two profiles: the workers are put in order again for the second.
    2x8                     | cores 4, limit 1           | spread                | w2:4
    w1:8 w2:4               | cores 2, mem 512, limit 3  | spread                | w1:2 w1:2 w2:2
    # Five profiles over three small workers, then the last two again with what a maximum of 4 leaves.
    3x2/512                 | mem 128, limit 1           | spread                | w3:2
    w1:2/512 w2:2/512 w3:0/384 | cores 3, mem 128, limit 1  | spread             |
    w1:2/512 w2:2/512 w3:0/384 | cores 1, mem 1024, limit 1 | spread             |
    w1:2/512 w2:2/512 w3:0/384 | cores 1, mem 256, limit 1  | spread             | w2:1
    w1:2/512 w2:1/256 w3:0/384 | cores 1, mem 256, limit 2  | spread             | w1:1 w2:1
    w1:2/512 w2:2/512 w3:0/384 | cores 1, mem 256, limit 1, left 2 | spread      | w2:1
    w1:2/512 w2:1/256 w3:0/384 | cores 1, mem 256, limit 2, left 1 | spread      | w1:1
    # Beside a driver of 2 cores and 1024 MiB.
    w1:2/3072               | mem 4096                   | spread                |
    w1:2/3072               | mem 1024                   | spread                | w1:2
    # Ids are text.
    w10:8 w2:8 w1:8         | cores 8, left 16           | spread                | w2:8 w10:8
    w10:8 w2:8 w1:8         | cores 8, left 16           | spread WORKER_ID      | w1:8 w10:8
";

#[test]
fn the_rule_assigns_what_sparks_tests_state() {
    let checked = check(ASSIGNED, |row| {
        let assignment = assign(&row.demand, &row.offers(), row.strategy);
        words(assignment.cores().iter().map(ToString::to_string))
    });
    assert_eq!(checked, 44);
}

#[test]
fn each_worker_order_uses_the_workers_that_sparks_tests_state() {
    assert_eq!(check(BY_EACH_ORDER, launches), 15);
}

#[test]
fn worked_examples_come_out_as_on_a_real_master() {
    assert_eq!(check(LAUNCHED, launches), 40);
}

fn launches(row: &Row) -> String {
    let placement = place(&row.demand, row.offers(), row.order, row.strategy);
    words(placement.executors().map(|executor| format!("{}:{}", executor.worker, executor.cores)))
}

fn check(table: &str, outcome: impl Fn(&Row) -> String) -> usize {
    let rows = table.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut checked = 0;
    for line in rows {
        let row = Row::parse(line);
        assert_eq!(outcome(&row), row.expected, "{line}");
        checked += 1;
    }
    checked
}

struct Row {
    workers: Vec<(String, Cores, MiB, Resources)>,
    demand: Demand,
    order: WorkerOrder,
    strategy: Strategy,
    expected: String,
}

impl Row {
    fn parse(line: &str) -> Self {
        let columns: Vec<_> = line.split('|').map(str::trim).collect();
        let &[workers, asks, by, expected] = columns.as_slice() else { panic!("four columns: {line}") };
        let (strategy, order) = by.split_once(' ').unwrap_or((by, ""));
        Self {
            workers: workers.split_whitespace().flat_map(parse_workers).collect(),
            demand: parse_asks(asks),
            strategy: match strategy {
                "spread" => Strategy::SpreadOut,
                "fill" => Strategy::Consolidate,
                other => panic!("no strategy: {other}"),
            },
            order: match order.trim() {
                "" => WorkerOrder::default(),
                order => order.parse().expect("a worker order"),
            },
            expected: words(expected.split_whitespace().map(str::to_owned)),
        }
    }

    fn offers(&self) -> Vec<Offer<'_>> {
        let mut offers = Vec::new();
        for (worker, cores, memory, resources) in &self.workers {
            offers.push(Offer { worker, cores: *cores, memory: *memory, resources });
        }
        offers
    }
}

fn parse_workers(spec: &str) -> Vec<(String, Cores, MiB, Resources)> {
    let (ids, free) = match (spec.split_once(':'), spec.split_once('x')) {
        (Some((id, free)), _) => (vec![id.to_owned()], free),
        (None, Some((count, free))) => ((1..=number(count)).map(|i| format!("w{i}")).collect(), free),
        (None, None) => panic!("no worker: {spec}"),
    };
    let (free, gpus) = free.split_once("+gpu").unwrap_or((free, "0"));
    let (cores, memory) = free.split_once('/').unwrap_or((free, "1000000"));
    let gpus = Resources::from_iter([("gpu", (0..number(gpus)).map(|gpu| gpu.to_string()))]);
    ids.into_iter().map(|id| (id, Cores(number(cores)), MiB(number(memory)), gpus.clone())).collect()
}

fn parse_asks(asks: &str) -> Demand {
    let mut demand = Demand::default();
    for ask in asks.split(',').map(str::trim).filter(|ask| !ask.is_empty()) {
        let (what, amount) = ask.split_once(' ').expect("a word and a number");
        let amount = number(amount);
        match what {
            "cores" => demand.size = ExecutorSize::Fixed(Cores(amount)),
            "mem" => demand.memory = MiB(amount),
            "left" => demand.cores_left = Cores(amount),
            "limit" => demand.limit = ExecutorLimit::AtMost(amount as u64),
            "held" => demand.held = amount as u64,
            resource => _ = demand.resources.insert(resource.to_owned(), (amount as u64).into()),
        }
    }
    demand
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

fn words(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}
