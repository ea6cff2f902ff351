//! Policies that keep GPUs usable leave fewer unallocated than Spark's rule, on a synthetic cluster that fills up.

use firesteel_placement::advanced::index::{Index, Share, Slot};
use firesteel_placement::advanced::policy::{Candidate, ClusterTotal, fill};
use firesteel_placement::{Cores, Demand, ExecutorSize, MiB, Offer, Resources, Strategy, WorkerOrder};
use firesteel_sim::trace::{Trace, synthetic};

use crate::placement::policies::MEASURES;

/// The synthetic trace's cluster while it fills up; no application ends.
struct Filling {
    index: Index<String>,
    slots: Vec<Slot>,
    ids: Vec<String>,
    free: Vec<(Cores, MiB, Resources)>,
    whole: ClusterTotal,
}

impl Filling {
    fn new(trace: &Trace) -> Self {
        let (index, whole) = (Index::new(WorkerOrder::CoresFreeDesc), ClusterTotal::default());
        let mut filling = Self { index, slots: Vec::new(), ids: Vec::new(), free: Vec::new(), whole };
        for kind in &trace.workers {
            for _ in 0..kind.count {
                let id = format!("w{:05}", filling.ids.len());
                let gpus = (0..kind.gpus).map(|gpu| gpu.to_string());
                let resources = Resources::from_iter([("gpu", gpus.collect::<Vec<_>>())]);
                filling.slots.push(filling.index.insert(id.clone(), kind.cores, kind.memory, &resources));
                filling.whole.add(&Offer {
                    worker: &id,
                    cores: kind.cores,
                    memory: kind.memory,
                    resources: &resources,
                });
                filling.ids.push(id);
                filling.free.push((kind.cores, kind.memory, resources));
            }
        }
        filling
    }

    fn candidates(&self) -> impl Iterator<Item = Candidate<'_, ()>> {
        let rows = self.slots.iter().zip(&self.ids).zip(&self.free);
        rows.map(|((slot, id), (cores, memory, resources))| {
            let offer = Offer { worker: id, cores: *cores, memory: *memory, resources };
            Candidate { slot: *slot, offer, host: id, rank: () }
        })
    }

    fn take(&mut self, demand: &Demand, shares: &[Share]) {
        self.index.take(demand, shares);
        for share in shares {
            let at = self.slots.iter().position(|slot| *slot == share.slot).expect("it is one of them");
            let (cores, memory, resources) = &mut self.free[at];
            *cores -= share.cores;
            *memory -= demand.memory;
            resources.take(&demand.resources).expect("it has room");
        }
    }
}

/// The share of GPUs, in per cent, that stays free when as many are requested as exist.
fn unallocated(seed: u64, choose: impl Fn(&Demand, &Filling) -> Vec<Share>) -> f64 {
    let trace = synthetic::trace(seed, 4_000);
    let mut filling = Filling::new(&trace);
    let gpus: u64 = trace.workers.iter().map(|kind| kind.count * kind.gpus).sum();
    let (mut asked, mut given) = (0, 0);
    for request in trace.applications.iter().map(|application| application.request).cycle() {
        if asked >= gpus {
            break;
        }
        asked += request.gpus.addresses();
        let demand = Demand {
            size: ExecutorSize::Fixed(request.cores()),
            memory: request.memory,
            resources: [("gpu".to_owned(), request.gpus)].into(),
            cores_left: request.cores(),
            ..Demand::default()
        };
        let shares = choose(&demand, &filling);
        given += request.gpus.addresses() * shares.len() as u64;
        filling.take(&demand, &shares);
    }
    100.0 * (gpus - given) as f64 / gpus as f64
}

#[test]
fn where_gpus_are_kept_usable_at_most_a_fifth_as_many_are_left_over_as_under_sparks_rule() {
    for seed in [1, 2] {
        let spark = unallocated(seed, |demand, filling| filling.index.place(demand, Strategy::SpreadOut));
        let [best_fit, usable] = MEASURES.map(|measure| {
            unallocated(seed, |demand, filling| fill(measure, demand, filling.candidates(), &filling.whole))
        });
        assert!(usable * 5.0 <= spark && usable < 0.1, "{usable} % and {spark} %");
        assert!(best_fit <= spark, "{best_fit} % and {spark} %");
    }
}
