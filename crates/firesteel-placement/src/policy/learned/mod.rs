//! Learned fragmentation: it estimates which part of a Worker's custom resources cannot be used by the executors that
//! applications ask for.
//!
//! [`DemandStatistics`] counts the kinds of executors that applications ask for. From time to time it makes a
//! [`DemandModel`] from the counts. The model contains how much of each resource a kind asks for, how much of the free
//! amount the kind could use, and how many cores go with an address. With the model, each Worker has a *loss*. A policy
//! puts an executor where the loss grows least ([`Measure::Learned`](super::Measure::Learned)).

mod demand_model;
mod demand_statistics;

pub use demand_model::DemandModel;
pub use demand_statistics::DemandStatistics;

#[cfg(test)]
mod tests {
    use super::super::{Candidate, ClusterTotal, Measure, fill};
    use super::*;
    use crate::index::Index;
    use crate::{Cores, Demand, ExecutorSize, MiB, Offer, Resources, WorkerOrder};

    fn demand(cores: i64, gpus: &str) -> Demand {
        let amount = |gpus: &str| ("gpu".to_owned(), gpus.parse().expect("it is an amount"));
        Demand {
            size: ExecutorSize::Fixed(Cores(cores)),
            memory: MiB(0),
            resources: Some(gpus).filter(|gpus| *gpus != "0").map(amount).into_iter().collect(),
            cores_left: Cores(cores),
            ..Demand::default()
        }
    }

    /// The Worker that is chosen for one executor. `workers` has their names, cores and gpu addresses.
    fn chosen(
        seen: &mut DemandStatistics,
        demand: &Demand,
        workers: &[(&'static str, i64, &[&str])],
    ) -> &'static str {
        let gpus: Vec<Resources> = workers
            .iter()
            .map(|(_, _, words)| Resources::of_words([("gpu", words.iter())]).expect("they differ"))
            .collect();
        let offer = |((id, cores, _), resources): (&(&'static str, i64, &[&str]), _)| Offer {
            worker: id,
            cores: Cores(*cores),
            memory: MiB(0),
            resources,
        };
        let offers: Vec<Offer<'_>> = workers.iter().zip(&gpus).map(offer).collect();
        let (mut index, mut total) = (Index::new(WorkerOrder::WorkerId), ClusterTotal::default());
        let mut candidates = Vec::new();
        for offer in &offers {
            let slot = index.insert(offer.worker, offer.cores, offer.memory, offer.resources);
            total.add(offer);
            candidates.push(Candidate { slot, offer: *offer, host: offer.worker, rank: () });
        }
        if seen.is_demand_model_due() {
            seen.learn(offers.iter().copied());
        }
        let shares = fill(Measure::Learned(seen.demand_model()), demand, candidates, &total);
        workers[shares[0].slot.index()].0
    }

    fn seen(demands: &[(Demand, u64)]) -> DemandStatistics {
        let mut seen = DemandStatistics::default();
        demands.iter().for_each(|(demand, executors)| seen.add(demand, *executors));
        seen
    }

    #[test]
    fn cores_stay_where_gpus_need_them() {
        let workers: [(&str, i64, &[&str]); 2] = [("a", 8, &["0", "1"]), ("b", 32, &["0", "1"])];
        let mut nothing = DemandStatistics::default();
        assert_eq!(chosen(&mut nothing, &demand(6, "0"), &workers), "a", "the best fit");
        let mut one_gpu = seen(&[(demand(10, "1"), 20)]);
        assert_eq!(chosen(&mut one_gpu, &demand(6, "0"), &workers), "b");
    }

    #[test]
    fn whole_workers_stay_for_those_who_need_them() {
        let workers: [(&str, i64, &[&str]); 2] = [("a", 64, &["0", "1"]), ("b", 60, &["0"])];
        let mut both = seen(&[(demand(1, "1"), 20), (demand(2, "2"), 5)]);
        assert_eq!(chosen(&mut both, &demand(1, "1"), &workers), "b");
    }

    #[test]
    fn a_part_goes_where_the_rest_can_be_used() {
        // After an executor takes 0.4 of the first Worker's address, the remaining 0.2 is of no use. After it takes 0.4
        // of the second one, another executor with 0.3 fits.
        let workers: [(&str, i64, &[&str]); 2] = [("a", 8, &["0@0.6"]), ("b", 8, &["0@0.7"])];
        let mut parts = seen(&[(demand(1, "0.3"), 20), (demand(1, "0.4"), 20)]);
        assert_eq!(chosen(&mut parts, &demand(1, "0.4"), &workers), "b");
    }

    #[test]
    fn few_kinds_are_remembered_and_lately_asked_for_ones_count_more() {
        let mut all = DemandStatistics::default();
        for cores in 1..2_000 {
            all.add(&demand(cores, "1"), 1);
        }
        all.add(&demand(1, "0"), 1_000_000);
        all.add(&demand(7, "2"), u64::MAX);
        assert!(format!("{all:?}").matches("Kind {").count() <= 256);
        let mut changed = seen(&[(demand(10, "1"), 16_000)]);
        (0..100).for_each(|_| changed.add(&demand(1, "1"), 16_000));
        let workers: [(&str, i64, &[&str]); 2] = [("a", 8, &["0", "1"]), ("b", 32, &["0", "1"])];
        assert_eq!(chosen(&mut changed, &demand(6, "0"), &workers), "a", "gpus need few cores now");
    }
}
