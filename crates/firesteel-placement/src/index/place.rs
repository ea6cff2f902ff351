//! Placement through the index: chooses the Workers for the executors of a demand.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::free::Free;
use super::requirement::{Requirement, Search};
use super::{Index, Share, Slot};
use crate::assign::deal;
use crate::{Cores, Demand, Strategy};

/// Memory for this number of shares is allocated at once.
const INITIAL_SHARES: usize = 64;

impl<I: Ord> Index<I> {
    /// Places as many executors as the demand asks for, or as many as fit on the Workers. Returns one share per Worker,
    /// in the order in which executors are launched. The executors are exactly those of
    /// [`place`](crate::place::place()) over offers with the same amounts.
    ///
    /// Source: Spark Master, 4.0.1 (one application and one resource profile of a scheduling pass).
    #[must_use]
    pub fn place(&self, demand: &Demand, strategy: Strategy) -> Vec<Share> {
        let limit = usize::try_from(demand.most_workers()).unwrap_or(usize::MAX);
        let mut shares = Vec::with_capacity(limit.min(INITIAL_SHARES));
        self.place_into(&mut shares, demand, strategy);
        shares
    }

    /// Does what [`place`](Self::place) does, and replaces the content of `shares`. For callers that place many
    /// executors repeatedly: allocating memory for the shares takes longer than finding them.
    pub fn place_into(&self, shares: &mut Vec<Share>, demand: &Demand, strategy: Strategy) {
        shares.clear();
        let most = demand.most_workers();
        let Some(search) = self.search(demand).filter(|_| most > 0) else { return };
        match strategy {
            Strategy::SpreadOut => {
                let limit = usize::try_from(most).unwrap_or(usize::MAX);
                let is_enough = self.workers.first(&search, limit, Share::of(demand, Slot(0), 1), shares);
                if is_enough && most == demand.most_units() {
                    // There are as many Workers as units, so each Worker gives one unit.
                    return;
                }
            }
            Strategy::Consolidate => {
                let _ = self.workers.walk(&search, self.collect_enough(demand, strategy, shares));
            }
        }
        self.deal(demand, strategy, shares);
    }

    /// Does what [`place`](Self::place) does, with ranks of Workers. First come the Workers of `nearest`, rank by rank,
    /// then all others, and last those of `furthest`, rank by rank. Within a rank, the worker order decides. Avoided
    /// Workers give nothing. The executors are exactly those of [`place_ranked`](crate::place::place_ranked).
    ///
    /// The cost depends on the number of ranked and avoided Workers, and on the number of Workers that give something.
    #[must_use]
    pub fn place_ranked(
        &self,
        demand: &Demand,
        strategy: Strategy,
        (nearest, furthest): (&[Vec<Slot>], &[Vec<Slot>]),
        avoids: impl Fn(Slot) -> bool,
    ) -> Vec<Share> {
        let mut shares = Vec::new();
        if let Some(search) = self.search(demand).filter(|_| demand.allows_one_more()) {
            let visit = self.collect_enough(demand, strategy, &mut shares);
            let _ = self.walk_ranked(&search, (nearest, furthest), avoids, visit);
            self.deal(demand, strategy, &mut shares);
        }
        shares
    }

    /// The search for Workers on which one more executor fits. `None` if the demand's executors have no cores.
    pub(super) fn search<'a>(&'a self, demand: &'a Demand) -> Option<Search<'a>> {
        let requirement = Requirement::of(demand)?;
        Some(Search { requirement, resources: &self.resources, direction: self.direction })
    }

    fn walk_ranked(
        &self,
        search: &Search<'_>,
        (nearest, furthest): (&[Vec<Slot>], &[Vec<Slot>]),
        avoids: impl Fn(Slot) -> bool,
        mut visit: impl FnMut(Slot, &Free) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        nearest.iter().try_for_each(|rank| self.walk_rank(search, rank, &avoids, &mut visit))?;
        let ranked: BTreeSet<Slot> = nearest.iter().chain(furthest).flatten().copied().collect();
        self.workers.walk(search, |slot, free| {
            if ranked.contains(&slot) || avoids(slot) { ControlFlow::Continue(()) } else { visit(slot, free) }
        })?;
        furthest.iter().try_for_each(|rank| self.walk_rank(search, rank, &avoids, &mut visit))
    }

    fn walk_rank(
        &self,
        search: &Search<'_>,
        rank: &[Slot],
        avoids: &impl Fn(Slot) -> bool,
        visit: &mut impl FnMut(Slot, &Free) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let with_key = |slot: &Slot| Some((self.workers.order_key(*slot)?, *slot));
        let mut rank: Vec<_> = rank.iter().filter_map(with_key).collect();
        rank.sort_unstable();
        for (_, slot) in self.direction.over(0..rank.len()).map(|at| rank[at]) {
            let free = self.workers.free(slot).filter(|free| search.accepts(slot, free));
            if let Some(free) = free.filter(|_| !avoids(slot)) {
                visit(slot, &free)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// A visitor that adds a share of one unit for each Worker, until there are enough Workers.
    fn collect_enough<'a>(
        &'a self,
        demand: &'a Demand,
        strategy: Strategy,
        shares: &'a mut Vec<Share>,
    ) -> impl FnMut(Slot, &Free) -> ControlFlow<()> + 'a {
        let (most, units) = (demand.most_workers(), demand.most_units());
        let mut found = 0_u64;
        move |slot, free| {
            shares.push(Share::of(demand, slot, 1));
            found = found.saturating_add(self.units(demand, slot, free));
            let is_enough = match strategy {
                Strategy::SpreadOut => false,
                Strategy::Consolidate => found >= units,
            };
            if is_enough || shares.len() as u64 == most {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        }
    }

    /// Sets how many units each of the Workers found gives.
    fn deal(&self, demand: &Demand, strategy: Strategy, shares: &mut Vec<Share>) {
        let cap = |share: &Share| {
            let free = self.workers.free(share.slot);
            free.map_or(0, |free| self.units(demand, share.slot, &free))
        };
        let given = deal(strategy, shares.iter().map(cap).collect(), demand.most_units());
        for (share, units) in shares.iter_mut().zip(given) {
            *share = share.with_units(demand, units);
        }
        // The last Workers may give nothing: when consolidating, or if there are fewer cores than Workers.
        shares.retain(|share| share.executors > 0 && share.cores > Cores::ZERO);
    }

    /// The number of units that a Worker can give, if one more executor fits.
    fn units(&self, demand: &Demand, slot: Slot, free: &Free) -> u64 {
        demand.units_in(free.cores, free.memory, |name, each| self.resources.fit(slot, name, each))
    }
}
