//! Room that is kept for several executors at once, where it is not free yet.
//!
//! A gang that does not fit keeps a *reservation*: Workers that have room for all of it at full capacity, chosen so
//! that the least must still be freed there. Who comes later may have what these Workers have beyond it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Cores, Demand, ExecutorSize, MiB, Offer};

/// A worker, as it is and as it would be.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// What it has free.
    pub free: Offer<'a>,
    /// What it has in all.
    pub whole: Offer<'a>,
}

/// What must still be freed: addresses first, which are scarce, then cores, then memory.
type Missing = (u64, Cores, MiB);

/// For how many executors each site is to keep room, one number for each, in the same order; `executors` in all.
/// `None`: the sites have no room for so many, even with nothing on them.
///
/// Of all choices it is one with which the least must be freed: the fewest addresses of custom resources; of these one
/// with the fewest cores; of these one with the least memory. Among equals the first sites are taken. Executors of no
/// fixed size are kept a core each, on a site each.
///
/// Adding executors to a site, each frees at least as much as the one before it. So the cheapest next one, again and
/// again, makes the cheapest choice. It costs time in the number of sites, and little more for each executor.
#[must_use]
pub fn reserve(demand: &Demand, executors: u64, sites: &[Site<'_>]) -> Option<Vec<u64>> {
    let rooms: Vec<u64> = sites.iter().map(|site| room(demand, &site.whole)).collect();
    if rooms.iter().fold(0_u64, |sum, room| sum.saturating_add(*room)) < executors {
        return None;
    }
    let next = |site: usize, kept: u64| {
        (kept < rooms[site]).then(|| Reverse((step(demand, &sites[site].free, kept), site, kept)))
    };
    let mut cheapest: BinaryHeap<_> = (0..sites.len()).filter_map(|site| next(site, 0)).collect();
    let mut reserved = vec![0; sites.len()];
    for _ in 0..executors {
        let Reverse((_, site, kept)) = cheapest.pop()?;
        reserved[site] = kept + 1;
        cheapest.extend(next(site, kept + 1));
    }
    Some(reserved)
}

/// How many executors of a demand have room in an offer.
#[must_use]
pub fn room(demand: &Demand, offer: &Offer<'_>) -> u64 {
    if !offer.fits(demand) {
        return 0;
    }
    match demand.size {
        ExecutorSize::OnePerWorker => 1,
        ExecutorSize::Fixed(_) => {
            demand.units_in(offer.cores, offer.memory, |name| offer.resources.count(name))
        }
    }
}

/// What one more executor than `kept` frees beyond what those free.
fn step(demand: &Demand, free: &Offer<'_>, kept: u64) -> Missing {
    let (more, fewer) = (missing(demand, free, kept + 1), missing(demand, free, kept));
    (more.0 - fewer.0, more.1 - fewer.1, more.2 - fewer.2)
}

/// What must be freed for so many executors.
fn missing(demand: &Demand, free: &Offer<'_>, executors: u64) -> Missing {
    let times = i64::try_from(executors).unwrap_or(i64::MAX);
    let lacking = |each: i64, free: i64| each.saturating_mul(times).saturating_sub(free).max(0);
    let of_resource = |(name, each): (&String, &u64)| {
        each.saturating_mul(executors).saturating_sub(free.resources.count(name))
    };
    let addresses = demand.resources.iter().map(of_resource).fold(0, u64::saturating_add);
    let cores = Cores(lacking(demand.size.step().0, free.cores.0));
    (addresses, cores, MiB(lacking(demand.memory.0, free.memory.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ResourceAmounts, Resources};

    const DEMAND: Demand = Demand {
        size: ExecutorSize::Fixed(Cores(2)),
        memory: MiB(100),
        resources: ResourceAmounts::new(),
        cores_left: Cores::UNLIMITED,
        limit: crate::ExecutorLimit::Unlimited,
        held: 0,
    };

    fn offer(cores: i64, memory: i64) -> Offer<'static> {
        Offer { worker: "w", cores: Cores(cores), memory: MiB(memory), resources: Resources::NONE }
    }

    /// Sites of 8 cores and 400 MiB, of which that is free.
    fn sites(free: &[(i64, i64)]) -> Vec<Site<'static>> {
        free.iter()
            .map(|&(cores, memory)| Site { free: offer(cores, memory), whole: offer(8, 400) })
            .collect()
    }

    #[test]
    fn room_is_kept_where_the_least_must_be_freed() {
        for (free, executors, reserved) in [
            // All free: the first ones.
            (&[(8, 400), (8, 400)][..], 3, Some(&[3, 0][..])),
            // What is free is taken first, then where a part is free.
            (&[(0, 0), (3, 400), (2, 400)], 2, Some(&[0, 1, 1])),
            (&[(0, 0), (3, 400), (2, 400)], 3, Some(&[0, 2, 1])),
            // Cores before memory.
            (&[(0, 400), (2, 0)], 1, Some(&[0, 1])),
            // Full, but large enough.
            (&[(0, 0), (0, 0)], 8, Some(&[4, 4])),
            (&[(0, 0), (0, 0)], 9, None),
            (&[], 1, None),
            (&[(0, 0)], 0, Some(&[0])),
        ] {
            let found = reserve(&DEMAND, executors, &sites(free));
            assert_eq!(found.as_deref(), reserved, "{executors} on {free:?}");
        }
    }

    #[test]
    fn executors_of_no_fixed_size_have_a_site_each() {
        let demand = Demand { size: ExecutorSize::OnePerWorker, ..DEMAND };
        assert_eq!(reserve(&demand, 2, &sites(&[(0, 0), (8, 400), (1, 400)])), Some(vec![0, 1, 1]));
        assert_eq!(reserve(&demand, 4, &sites(&[(8, 400), (8, 400)])), None);
    }
}
