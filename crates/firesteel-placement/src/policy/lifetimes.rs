//! Lifetimes: packs executors by their expected end, so that whole Workers become idle.

use std::time::Duration;

use super::{Candidate, ClusterTotal, Measure, fill};
use crate::Demand;
use crate::index::{Share, Slot};

/// An executor that runs for a shorter time than this counts as running for this time.
const SHORTEST: Duration = Duration::from_secs(60);

/// Puts each executor on the Worker whose use it prolongs the least.
///
/// `rest` returns how much longer the executors on a Worker are expected to run; `None` for a Worker without executors.
/// `own` is how long the new executors are expected to run, if that is known. Among Workers of the same rank, Workers
/// come first that are in use for longer than the new executors. Then come Workers whose use becomes up to twice as
/// long, then up to four times as long, and so on. Idle Workers come last. Among equal Workers, the Worker where the
/// least is left over is taken, as with [`Measure::LeftOver`]. If `own` is not known, all Workers in use are equal.
///
/// The cost is the same as for [`fill`](super::fill()).
pub fn fill_by_rest<'a, R: Ord>(
    demand: &Demand,
    candidates: impl IntoIterator<Item = Candidate<'a, R>>,
    total: &ClusterTotal,
    rest: impl Fn(Slot) -> Option<Duration>,
    own: Option<Duration>,
) -> Vec<Share> {
    let ranked = candidates.into_iter().map(|Candidate { slot, offer, host, rank }| {
        let rank = (rank, doublings(own, rest(slot)));
        Candidate { slot, offer, host, rank }
    });
    // A Worker that got an executor remains the best one: less is left over on it, and a further executor does not
    // prolong its use.
    fill(Measure::LeftOver, demand, ranked, total)
}

/// How often the Worker's remaining time in use must be doubled until it covers the new executors' time. For an idle
/// Worker, the result is greater than all others.
fn doublings(own: Option<Duration>, rest: Option<Duration>) -> u32 {
    let Some(rest) = rest else { return u32::MAX };
    let Some(own) = own else { return 0 };
    let mut covered = rest.max(SHORTEST);
    let mut doublings = 0;
    while covered < own {
        covered = covered.saturating_mul(2);
        doublings += 1;
    }
    doublings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Index;
    use crate::{Cores, ExecutorLimit, ExecutorSize, MiB, Offer, Resources, WorkerOrder};

    #[test]
    fn the_use_of_a_worker_is_doubled_until_it_is_long_enough() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (own, rest, expected) in [
            (seconds(100), seconds(100), 0),
            (seconds(101), seconds(100), 1),
            (seconds(200), seconds(100), 1),
            (seconds(201), seconds(100), 2),
            (seconds(60), seconds(0), 0),
            (seconds(61), seconds(0), 1),
            (None, seconds(0), 0),
            (seconds(1), None, u32::MAX),
            (None, None, u32::MAX),
        ] {
            assert_eq!(doublings(own, rest), expected, "{own:?} on {rest:?}");
        }
    }

    #[test]
    fn executors_go_where_others_run_longer_then_where_the_least_is_left_and_to_idle_workers_last() {
        // The free cores of each Worker, and for how many seconds it is in use.
        let workers = [(8, None), (4, Some(100)), (6, Some(1000)), (8, Some(1000)), (2, Some(10))];
        let names: Vec<String> = (0..workers.len()).map(|n| format!("w{n}")).collect();
        let mut index = Index::new(WorkerOrder::CoresFreeDesc);
        let slots: Vec<Slot> = names
            .iter()
            .zip(workers)
            .map(|(name, (cores, _))| index.insert(name.clone(), Cores(cores), MiB(100), Resources::NONE))
            .collect();
        let mut total = ClusterTotal::default();
        let offer = |n: usize| Offer {
            worker: &names[n],
            cores: Cores(workers[n].0),
            memory: MiB(100),
            resources: Resources::NONE,
        };
        (0..workers.len()).for_each(|n| total.add(&offer(n)));
        let placed = |executors, own: Option<u64>| {
            let demand = Demand {
                size: ExecutorSize::Fixed(Cores(2)),
                memory: MiB(1),
                limit: ExecutorLimit::AtMost(executors),
                ..Demand::default()
            };
            let all = (0..workers.len()).map(|n| Candidate {
                slot: slots[n],
                offer: offer(n),
                host: "h",
                rank: (),
            });
            let rest = |slot| {
                let at = slots.iter().position(|other| *other == slot)?;
                workers[at].1.map(Duration::from_secs)
            };
            let shares = fill_by_rest(&demand, all, &total, rest, own.map(Duration::from_secs));
            let number = |share: &Share| slots.iter().position(|slot| *slot == share.slot);
            shares.iter().map(|share| (number(share).expect("a Worker"), share.executors)).collect::<Vec<_>>()
        };
        assert_eq!(placed(4, Some(500)), [(2, 3), (3, 1)], "both run longer, and less is left on the first");
        assert_eq!(placed(8, Some(500)), [(2, 3), (3, 4), (1, 1)], "then the one that is nearest");
        assert_eq!(placed(11, Some(500)), [(2, 3), (3, 4), (1, 2), (4, 1), (0, 1)], "the idle one is last");
        assert_eq!(placed(2, None), [(4, 1), (1, 1)], "best fit among those in use, if nothing is known");
    }
}
