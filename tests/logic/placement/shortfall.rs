//! Why there are fewer executors than requested: the sentences, and when there is one.

use std::collections::BTreeMap;

use firesteel_placement::advanced::offers::place;
use firesteel_placement::explain::shortfall::shortfall;
use firesteel_placement::explain::shortfall::{Amounts, CoreHolder, LackingWorkers, Missing, Reason};
use firesteel_placement::{Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Resources, Shortfall};

use super::reference::case::{Case, Translated};
use crate::suites::laws::{ensure, hold};

/// Free or whole amounts of workers: cores, memory in MiB, gpus.
type Workers = &'static [(i64, i64, u64)];

#[test]
fn a_shortfall_is_said_in_one_sentence() {
    let rows: &[(Demand, Workers, Workers, &str)] = &[
        // Workers lack one thing at the moment, on one worker or on many.
        (
            asking(4, 4096, 0, 4, 3),
            &[(8, 1024, 0), (8, 1024, 0)],
            &[(16, 65_536, 0), (16, 65_536, 0)],
            "1 of 4 executors is missing: 2 Workers have 8 cores free but 1 GiB of memory, and an executor needs 4 GiB",
        ),
        (
            asking(4, 1024, 0, 12, 0),
            &[(1, 8192, 0)],
            &[(16, 65_536, 0)],
            "all 3 executors are missing: 1 Worker has 1 core free, and an executor needs 4 cores",
        ),
        (
            asking(1, 1024, 0, 2, 2),
            &[(0, 8192, 0), (-2, 8192, 0), (0, 8192, 0)],
            &[(16, 65_536, 0), (16, 65_536, 0), (16, 65_536, 0)],
            "2 of 4 executors are missing: 3 Workers have no core free, and an executor needs 1 core",
        ),
        (
            asking(2, 1024, 2, 2, 0),
            &[(8, 8192, 1)],
            &[(16, 65_536, 4)],
            "1 of 1 executor is missing: 1 Worker has 8 cores free but 1 gpu, and an executor needs 2 gpus",
        ),
        // Several things, workers and amounts. The larger group comes first.
        (
            asking(4, 4096, 0, 4, 0),
            &[(3, 512, 0), (1, 1024, 0)],
            &[(16, 65_536, 0), (16, 65_536, 0)],
            "1 of 1 executor is missing: 2 Workers have 1 to 3 cores and 512 MiB to 1 GiB of memory free, and an executor needs \
             4 cores and 4 GiB",
        ),
        (
            asking(4, 4096, 1, 8, 0),
            &[(16, 1024, 0), (2, 8192, 1), (8, -5, 0)],
            &[(16, 65_536, 1), (16, 65_536, 1), (16, 65_536, 1)],
            "both executors are missing: 2 Workers have 8 to 16 cores free but at most 1 GiB of memory and no gpu, and an executor needs \
             4 GiB and 1 gpu; 1 Worker has 2 cores free, and an executor needs 4 cores",
        ),
        // Never: no Worker is large enough.
        (
            asking(16, 1024, 0, 16, 0),
            &[(8, 8192, 0), (4, 8192, 0)],
            &[(8, 8192, 0), (4, 8192, 0)],
            "1 of 1 executor is missing: no Worker has 16 cores: the largest has 8",
        ),
        (
            asking(2, 65_536, 0, 8, 0),
            &[(8, 8192, 0)],
            &[(8, 8192, 0)],
            "all 4 executors are missing: no Worker has 64 GiB of memory: the largest has 8 GiB",
        ),
        (
            asking(2, 1024, 1, 2, 0),
            &[(8, 8192, 0)],
            &[(8, 8192, 0)],
            "1 of 1 executor is missing: no Worker has a gpu",
        ),
        (
            asking(2, 1024, 4, 2, 0),
            &[(8, 8192, 1), (8, 8192, 0)],
            &[(8, 8192, 2), (8, 8192, 0)],
            "1 of 1 executor is missing: no Worker has 4 gpus: the most is 2",
        ),
        (
            asking(16, 8192, 1, 16, 0),
            &[(16, 4096, 1), (8, 8192, 1)],
            &[(16, 4096, 1), (8, 8192, 1)],
            "1 of 1 executor is missing: no Worker has 16 cores, 8 GiB of memory and 1 gpu together",
        ),
        (asking(2, 1024, 0, 8, 0), &[], &[], "all 4 executors are missing: no Worker is alive"),
        // The application's own limits, one before the other.
        (
            Demand { limit: ExecutorLimit::AtMost(2), ..asking(4, 1024, 0, 8, 2) },
            &[(8, 8192, 0)],
            &[(8, 8192, 0)],
            "2 of 4 executors are missing: the limit of 2 executors is reached",
        ),
        (
            Demand { limit: ExecutorLimit::AtMost(0), ..asking(4, 1024, 0, 8, 0) },
            &[(8, 8192, 0)],
            &[(8, 8192, 0)],
            "both executors are missing: the limit allows no executor",
        ),
        (
            asking(4, 1024, 0, 2, 2),
            &[(8, 8192, 0)],
            &[(8, 8192, 0)],
            "2 cores are missing: an executor needs 4 cores, and 2 are left of the application's maximum",
        ),
        // 200 cores in executors of 7: 28 executors are the whole request, not 28 of 29.
        (
            asking(7, 1024, 0, 4, 28),
            &[(8, 8192, 0)],
            &[(8, 8192, 0)],
            "4 cores are missing: an executor needs 7 cores, and 4 are left of the application's maximum",
        ),
        (
            Demand { limit: ExecutorLimit::AtMost(5), ..asking(4, 1024, 0, 0, 2) },
            &[(8, 8192, 0)],
            &[(8, 8192, 0)],
            "3 of 5 executors are missing: the application has reached its maximum of cores",
        ),
        // Executors without a fixed size count in cores; without any limit only the first one counts.
        (
            Demand { size: ExecutorSize::OnePerWorker, ..asking(1, 4096, 0, 16, 0) },
            &[(8, 1024, 0)],
            &[(8, 8192, 0)],
            "16 cores are missing: 1 Worker has 8 cores free but 1 GiB of memory, and an executor needs 4 GiB",
        ),
        (
            Demand { memory: MiB(4096), ..Demand::default() },
            &[(0, 8192, 0)],
            &[(8, 8192, 0)],
            "no executor could be placed: 1 Worker has no core free, and an executor needs 1 core",
        ),
    ];
    for (demand, free, sizes, sentence) in rows {
        let (free, sizes) = (Cluster::of(free), Cluster::of(sizes));
        let found = shortfall(demand, &free.offers(), &sizes.offers()).expect("something is missing");
        assert_eq!(found.to_string(), *sentence);
    }
}

#[test]
fn who_holds_the_cores_that_workers_lack_is_said_with_how_many_others_hold_some() {
    let amounts = |cores| Amounts { cores: Cores(cores), ..Amounts::default() };
    let group = LackingWorkers { count: 4, least: amounts(0), most: amounts(0) };
    let holder =
        CoreHolder { app: "app-7".to_owned(), name: "nightly".to_owned(), cores: Cores(12), of: Cores(16) };
    for (others, end) in
        [(0, ""), (1, ", and 1 other application holds some"), (2, ", and 2 other applications hold some")]
    {
        let reason = Reason::Held { workers: vec![group.clone()], holder: holder.clone(), others };
        let shortfall = Shortfall { missing: Missing::First, asked: amounts(1), reason };
        let words = "no executor could be placed: 4 Workers have no core free, and an executor needs 1 core; \
                     app-7 (nightly) holds 12 of the 16 cores";
        assert_eq!(shortfall.to_string(), format!("{words}{end}"));
    }
}

#[test]
fn a_shortfall_is_found_exactly_when_fewer_are_placed_than_asked() {
    hold("a_shortfall_is_found_exactly", 100_000, |case: &Case| {
        let translated = case.translate();
        let before = translated.offers();
        let (placed, after) = after_placement(&translated);
        let free = after.offers();
        let found = shortfall(&placed.demand, &free, &before);
        let fewer = fewer_than_asked(case, placed.executors, placed.cores);
        ensure!(found.is_some() == fewer, "fewer: {fewer}, and found {found:?}");

        let Some(found) = found else { return Ok(()) };
        ensure!(!found.to_string().is_empty(), "no words");
        if let Missing::Executors { of, .. } = found.missing {
            ensure!(of <= most_executors(&placed.demand), "{of} executors are more than its bounds allow");
        }
        let fits_ever = before.iter().any(|size| size.fits(&placed.demand));
        match found.reason {
            Reason::NoWorkers => ensure!(free.is_empty(), "there are workers"),
            Reason::NotGranted { granted } => ensure!(false, "{granted} were granted by whom?"),
            Reason::TooSmall { .. } => ensure!(!free.is_empty() && !fits_ever, "one is large enough"),
            Reason::Busy { workers } => {
                ensure!(fits_ever, "none is large enough");
                let counted: u64 = workers.iter().map(|group| group.count).sum();
                ensure!(counted == free.len() as u64, "counted {counted} workers");
            }
            Reason::LimitReached { limit } => {
                ensure!(
                    placed.demand.limit == ExecutorLimit::AtMost(limit) && placed.demand.held >= limit,
                    "{limit}"
                );
            }
            Reason::TooFewCoresLeft { left } => ensure!(left < placed.demand.size.step(), "{left} left"),
            Reason::GangTooLarge { .. }
            | Reason::GangWaits { .. }
            | Reason::KeptForAnother
            | Reason::Avoided { .. }
            | Reason::Paused { .. }
            | Reason::Excluded { .. }
            | Reason::Impaired { .. }
            | Reason::Held { .. }
            | Reason::Labelled { .. }
            | Reason::UserLimit { .. } => {
                return Err("a placement knows of no turns".to_owned());
            }
        }
        Ok(())
    });
}

/// Whether a request is not met. A request is the larger of two numbers: what its cores allow, and what its limit
/// allows. Without both, one executor is enough.
fn fewer_than_asked(case: &Case, executors: u64, cores: i64) -> bool {
    let ask = &case.ask;
    let bounded_cores = (ask.cores_left < 1_000_000_000).then_some(ask.cores_left);
    let more_cores = bounded_cores.is_some_and(|left| cores < left);
    let more_executors = ask.limit.is_some_and(|limit| ask.held + executors < limit);
    match (bounded_cores, ask.limit) {
        (None, None) => ask.held + executors == 0,
        _ => more_cores || more_executors,
    }
}

/// The number of executors that the looser of the application's limits allows.
fn most_executors(demand: &Demand) -> u64 {
    let by_limit = match demand.limit {
        ExecutorLimit::Unlimited => 0,
        ExecutorLimit::AtMost(limit) => limit,
    };
    let by_cores = demand.cores_left.0.max(0) / demand.size.step().0;
    by_limit.max(demand.held + by_cores as u64)
}

struct Placed {
    demand: Demand,
    executors: u64,
    cores: i64,
}

/// Takes the placement of `place` from the workers.
fn after_placement(translated: &Translated) -> (Placed, Cluster) {
    let Translated { demand, order, strategy, .. } = translated;
    let placement = place(demand, translated.offers(), *order, *strategy);
    let mut workers: BTreeMap<_, _> = (translated.offers().into_iter())
        .map(|offer| (offer.worker, (offer.cores, offer.memory, offer.resources.clone())))
        .collect();
    let mut after = demand.clone();
    for executor in placement.executors() {
        let (cores, memory, resources) = workers.get_mut(executor.worker).expect("a worker that was offered");
        *cores -= executor.cores;
        *memory -= demand.memory;
        resources.take(&demand.resources).expect("enough addresses");
        after.held += 1;
        after.cores_left -= executor.cores;
    }
    let placed = Placed {
        executors: after.held - demand.held,
        cores: (demand.cores_left - after.cores_left).0,
        demand: after,
    };
    (placed, Cluster(workers.into_values().collect()))
}

/// Owns the amounts that offers borrow.
struct Cluster(Vec<(Cores, MiB, Resources)>);

impl Cluster {
    fn of(workers: Workers) -> Self {
        let gpus = |count: u64| Resources::from_iter([("gpu", (0..count).map(|gpu| gpu.to_string()))]);
        Self(workers.iter().map(|&(cores, memory, count)| (Cores(cores), MiB(memory), gpus(count))).collect())
    }

    fn offers(&self) -> Vec<Offer<'_>> {
        let mut offers = Vec::new();
        for (cores, memory, resources) in &self.0 {
            offers.push(Offer { worker: "", cores: *cores, memory: *memory, resources });
        }
        offers
    }
}

/// A demand: cores, MiB and gpus of an executor; cores left; executors held.
fn asking(cores: i64, memory: i64, gpus: u64, cores_left: i64, held: u64) -> Demand {
    let mut demand = Demand {
        size: ExecutorSize::Fixed(Cores(cores)),
        memory: MiB(memory),
        cores_left: Cores(cores_left),
        held,
        ..Demand::default()
    };
    if gpus > 0 {
        demand.resources.insert("gpu".to_owned(), gpus.into());
    }
    demand
}
