//! What does one placement call cost, over the number of workers and the number of executors?
//!
//! One call does a Master's work for one application: filter the offers, sort them, assign. The baseline in the same
//! run is the algorithm of Spark's Master, which deals executors one at a time. Before each, it adds up all earlier
//! executors. Its cost grows with the square of the workers, so it stops at 1,000. Before the measurement, both must
//! give the same placement.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use firesteel_placement::advanced::offers::place;
use firesteel_placement::{
    Cluster, Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Resources, Strategy, Worker as ByDoor,
    WorkerOrder,
};
use firesteel_testkit::placement_rule::{self as reference, Ask, Order, Worker};

const WORKERS: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];
/// The largest cluster for the baseline, and for the comparison of both results.
const BASELINE: usize = 1_000;
const STRATEGIES: [(&str, Strategy); 2] =
    [("spread out", Strategy::SpreadOut), ("consolidate", Strategy::Consolidate)];

/// Workers of 64 cores with sixteen degrees of use, in the order of their ids, as in a Master. There are many ties; one
/// in sixteen is full.
fn cluster(workers: usize) -> Vec<Worker> {
    let worker = |n: usize| {
        let degree = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
        Worker {
            id: format!(
                "worker-20261120212235-10.{:03}.{:03}.{:03}-7078",
                n / 62_500,
                n / 250 % 250,
                n % 250
            ),
            cores: 4 * degree as i64,
            memory: 8192 * degree as i64,
            resources: BTreeMap::new(),
        }
    };
    (0..workers).map(worker).collect()
}

fn offers(cluster: &[Worker]) -> Vec<Offer<'_>> {
    let mut offers = Vec::new();
    for worker in cluster {
        let (cores, memory) = (Cores(worker.cores), MiB(worker.memory));
        offers.push(Offer { worker: &worker.id, cores, memory, resources: Resources::NONE });
    }
    offers
}

/// A demand for this number of executors of 2 cores and 4 GiB.
fn ask(executors: usize) -> Ask {
    Ask {
        cores: Some(2),
        memory: 4096,
        resources: BTreeMap::new(),
        cores_left: i64::from(i32::MAX),
        limit: Some(executors as u64),
        held: 0,
    }
}

fn demand(executors: usize) -> Demand {
    Demand {
        size: ExecutorSize::Fixed(Cores(2)),
        memory: MiB(4096),
        limit: ExecutorLimit::AtMost(executors as u64),
        ..Demand::default()
    }
}

fn closed_form(demand: &Demand, offers: &[Offer<'_>], strategy: Strategy) -> Vec<(String, i64)> {
    let placement = place(demand, offers.iter().copied(), WorkerOrder::CoresFreeDesc, strategy);
    placement.executors().map(|executor| (executor.worker.to_owned(), executor.cores.0)).collect()
}

/// The door, with the same Workers.
fn door(workers: &[Worker]) -> Cluster {
    let mut cluster = Cluster::new(WorkerOrder::CoresFreeDesc);
    for worker in workers {
        cluster.add(ByDoor::new(&worker.id, Cores(worker.cores), MiB(worker.memory)));
    }
    cluster
}

fn by_door(demand: &Demand, cluster: &mut Cluster, strategy: Strategy) -> Vec<(String, i64)> {
    let placement = cluster.place(demand, &strategy);
    let placed =
        placement.executors().map(|executor| (executor.worker.to_owned(), executor.cores.0)).collect();
    cluster.give_back(placement);
    placed
}

fn dealt(ask: &Ask, cluster: &[Worker], strategy: Strategy) -> Vec<(String, i64)> {
    reference::place(ask, cluster, Order::MostCores, strategy == Strategy::SpreadOut)
}

fn one_call(c: &mut Criterion) {
    for workers in WORKERS {
        let cluster = cluster(workers);
        let offers = offers(&cluster);
        let mut door = door(&cluster);
        for executors in [1, 16, workers] {
            for (name, strategy) in STRATEGIES {
                let (ask, demand) = (ask(executors), demand(executors));
                let placed = closed_form(&demand, &offers, strategy);
                assert_eq!(placed.len(), executors, "the cluster has room for all");
                assert_eq!(placed, by_door(&demand, &mut door, strategy));

                let mut group = c.benchmark_group(format!("{name}, {executors} executors"));
                group.bench_function(BenchmarkId::new("place", workers), |bencher| {
                    bencher.iter(|| {
                        let offers = offers.iter().copied();
                        place(black_box(&demand), offers, WorkerOrder::CoresFreeDesc, strategy)
                    });
                });
                group.bench_function(BenchmarkId::new("door, and give back", workers), |bencher| {
                    bencher.iter(|| {
                        let placement = door.place(black_box(&demand), &strategy);
                        door.give_back(placement);
                    });
                });
                if workers <= BASELINE {
                    assert_eq!(placed, dealt(&ask, &cluster, strategy));
                    group.bench_function(BenchmarkId::new("one at a time", workers), |bencher| {
                        bencher.iter(|| dealt(black_box(&ask), &cluster, strategy));
                    });
                }
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    targets = one_call
}
criterion_main!(benches);
