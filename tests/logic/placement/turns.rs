//! Reservations and preemption: laws compared with every other possible choice.

use std::cmp::Reverse;

use firesteel_placement::advanced::preemption::{PreemptibleWorker, Victim, victims};
use firesteel_placement::advanced::reservation::{WorkerCapacity, reserve};
use firesteel_placement::{Amount, Cores, Demand, ExecutorSize, MiB, Offer, ResourceAmounts, Resources};
use quickcheck::{Arbitrary, Gen};

use super::reference::case::{below, pick};
use super::reference::plain_victims;
use crate::suites::laws::{ensure, hold};

#[test]
fn room_is_kept_where_no_other_choice_frees_less() {
    hold("room_is_kept_where_no_other", 20_000, |case: &Cluster| {
        let free: Vec<Resources> = case.workers.iter().map(|worker| addresses(worker.free.gpus)).collect();
        let whole: Vec<Resources> = case.workers.iter().map(|worker| addresses(worker.whole.gpus)).collect();
        let sites: Vec<WorkerCapacity<'_>> = (0..case.workers.len())
            .map(|at| WorkerCapacity {
                free: case.workers[at].free.offer(&free[at]),
                total: case.workers[at].whole.offer(&whole[at]),
            })
            .collect();
        let demand = case.demand();
        let rooms: Vec<u64> = sites.iter().map(|site| site.total.executors_that_fit(&demand)).collect();
        let Some(kept) = reserve(&demand, case.executors, &sites) else {
            ensure!(rooms.iter().sum::<u64>() < case.executors, "there is room on {rooms:?}");
            return Ok(());
        };
        ensure!(kept.iter().sum::<u64>() == case.executors, "room is kept for {kept:?}");
        ensure!(kept.iter().zip(&rooms).all(|(kept, room)| kept <= room), "{kept:?} is more than {rooms:?}");
        let freed = |kept: &[u64]| {
            let each = case.workers.iter().zip(kept).map(|(worker, kept)| case.freed(worker, *kept));
            each.fold((0, 0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2))
        };
        let least = freed(&kept);
        for other in choices(&rooms, case.executors) {
            ensure!(
                least <= freed(&other),
                "{kept:?} frees {least:?}, and {other:?} less: {:?}",
                freed(&other)
            );
        }
        Ok(())
    });
}

#[test]
fn nobody_ends_for_others_in_vain() {
    hold("nobody_ends_for_others_in_vain", 20_000, |case: &Cluster| {
        let stands: Vec<PreemptibleWorker> = case.workers.iter().map(Worker::stand).collect();
        let demand = case.demand();
        let all: Vec<Vec<usize>> = stands.iter().map(|stand| (0..stand.victims.len()).collect()).collect();
        let fits = |ended: &[Vec<usize>]| {
            let rooms = stands.iter().zip(ended).map(|(stand, ended)| {
                let PreemptibleWorker { mut cores, mut memory, mut resources, victims } = stand.clone();
                for victim in ended.iter().map(|victim| &victims[*victim]) {
                    cores += victim.cores;
                    memory += victim.memory;
                    resources.add(&victim.resources);
                }
                Offer { worker: "", cores, memory, resources: &resources }.executors_that_fit(&demand)
            });
            rooms.sum::<u64>() >= case.executors
        };
        let Some(chosen) = victims(&demand, case.executors, usize::MAX, &stands) else {
            ensure!(!fits(&all), "all of them would do");
            return Ok(());
        };
        let count = chosen.iter().map(Vec::len).sum::<usize>();
        ensure!(fits(&chosen), "{chosen:?} does not do");
        for (at, ended) in chosen.iter().enumerate() {
            for spared in 0..ended.len() {
                let mut fewer = chosen.clone();
                fewer[at].remove(spared);
                ensure!(!fits(&fewer), "{chosen:?} is more than {fewer:?}, which does");
            }
        }
        let none: Vec<Vec<usize>> = vec![Vec::new(); stands.len()];
        let one = |at: usize, victim: usize| {
            let mut one = none.clone();
            one[at].push(victim);
            one
        };
        let singles =
            all.iter().enumerate().flat_map(|(at, all)| all.iter().map(move |victim| (at, *victim)));
        let alone: Vec<(usize, usize)> = singles.filter(|(at, victim)| fits(&one(*at, *victim))).collect();
        if case.executors == 1 && count > 0 && !alone.is_empty() {
            let turn = |(at, victim): &(usize, usize)| {
                let Victim { priority, launched, .. } = stands[*at].victims[*victim];
                (priority, Reverse(launched))
            };
            ensure!(count == 1, "{chosen:?} end, and one of {alone:?} would do");
            let ended = chosen.iter().enumerate().find_map(|(at, ended)| Some((at, *ended.first()?)));
            let first = alone.iter().map(turn).min();
            ensure!(
                ended.as_ref().map(turn) == first,
                "{ended:?} ends, which is not the lowest and youngest"
            );
        }
        ensure!(
            count == 0
                || victims(&demand, case.executors, count - 1, &stands).is_none_or(|fewer| fits(&fewer)),
            "with fewer allowed, what is chosen does not do"
        );
        Ok(())
    });
}

#[test]
fn victims_are_those_of_a_search_that_asks_every_worker_for_each_executor() {
    hold("victims_are_those_of_a_search", 20_000, |case: &Cluster| {
        let stands: Vec<PreemptibleWorker> = case.workers.iter().map(Worker::stand).collect();
        let demand = case.demand();
        for most in [0, 1, 2, 3, usize::MAX] {
            let chosen = victims(&demand, case.executors, most, &stands);
            let expected = plain_victims::victims(&demand, case.executors, most, &stands);
            ensure!(chosen == expected, "with at most {most}, {chosen:?} end, not {expected:?}");
        }
        Ok(())
    });
}

/// The free amounts of one Worker.
#[derive(Clone, Copy, Debug)]
struct Has {
    cores: i64,
    memory: i64,
    gpus: u64,
}

#[derive(Clone, Debug)]
struct Worker {
    free: Has,
    whole: Has,
    /// Running executors: priority, launch time and amounts. Lowest priority first, then the youngest.
    others: Vec<(i32, u64, Has)>,
}

/// A few Workers, and executors that need room there.
#[derive(Clone, Debug)]
struct Cluster {
    workers: Vec<Worker>,
    each: Has,
    executors: u64,
}

impl Has {
    fn arbitrary(g: &mut Gen, most: i64) -> Self {
        let gpus = u64::try_from(below(g, 3)).expect("it is small");
        Self { cores: below(g, most + 1), memory: below(g, most + 1), gpus }
    }

    fn offer(self, resources: &Resources) -> Offer<'_> {
        Offer { worker: "w", cores: Cores(self.cores), memory: MiB(self.memory), resources }
    }
}

impl Worker {
    fn stand(&self) -> PreemptibleWorker {
        let free = addresses(self.free.gpus);
        let victim = |(number, (priority, launched, has)): (usize, &(i32, u64, Has))| {
            let held = (0..has.gpus).map(|gpu| format!("{number}-{gpu}"));
            let (cores, memory) = (Cores(has.cores), MiB(has.memory));
            let resources = Resources::from_iter([("gpu", held)]);
            Victim { priority: *priority, launched: *launched, cores, memory, resources }
        };
        PreemptibleWorker {
            victims: self.others.iter().enumerate().map(victim).collect(),
            ..PreemptibleWorker::new(&self.free.offer(&free))
        }
    }
}

impl Cluster {
    fn demand(&self) -> Demand {
        Demand {
            size: ExecutorSize::Fixed(Cores(self.each.cores)),
            memory: MiB(self.each.memory),
            resources: ResourceAmounts::from([("gpu".to_owned(), Amount::Whole(self.each.gpus))]),
            ..Demand::default()
        }
    }

    /// The addresses, cores and memory to free on a Worker for this number of executors.
    fn freed(&self, worker: &Worker, executors: u64) -> (i64, i64, i64) {
        let times = i64::try_from(executors).expect("they are few");
        let lacking = |each: i64, free: i64| (each * times - free).max(0);
        let wide = |count: u64| i64::try_from(count).expect("they are few");
        (
            lacking(wide(self.each.gpus), wide(worker.free.gpus)),
            lacking(self.each.cores, worker.free.cores),
            lacking(self.each.memory, worker.free.memory),
        )
    }
}

impl Arbitrary for Cluster {
    fn arbitrary(g: &mut Gen) -> Self {
        let workers = (0..1 + below(g, 4)).map(|_| {
            let free = Has::arbitrary(g, 4);
            let more = Has::arbitrary(g, 4);
            let whole = Has {
                cores: free.cores + more.cores,
                memory: free.memory + more.memory,
                gpus: free.gpus + more.gpus,
            };
            let mut others: Vec<(i32, u64, Has)> = (0..below(g, 4))
                .map(|_| (pick(g, &[0, 1, 2]), pick(g, &[1, 2, 3]), Has::arbitrary(g, 3)))
                .collect();
            others.sort_by_key(|(priority, launched, _)| (*priority, Reverse(*launched)));
            Worker { free, whole, others }
        });
        let workers = workers.collect();
        let each = Has { cores: 1 + below(g, 3), memory: below(g, 3), gpus: pick(g, &[0, 0, 0, 1, 2]) };
        Self { workers, each, executors: u64::try_from(1 + below(g, 5)).expect("it is small") }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let whole = self.clone();
        Box::new((0..self.workers.len()).map(move |gone| {
            let mut case = whole.clone();
            case.workers.remove(gone);
            case
        }))
    }
}

fn addresses(count: u64) -> Resources {
    Resources::from_iter([("gpu", (0..count).map(|address| address.to_string()))])
}

/// Every way to place this number of executors on Workers with this room.
fn choices(rooms: &[u64], executors: u64) -> Vec<Vec<u64>> {
    let Some((first, rest)) = rooms.split_first() else {
        return if executors == 0 { vec![Vec::new()] } else { Vec::new() };
    };
    (0..=executors.min(*first))
        .flat_map(|here| {
            choices(rest, executors - here).into_iter().map(move |mut others| {
                others.insert(0, here);
                others
            })
        })
        .collect()
}
