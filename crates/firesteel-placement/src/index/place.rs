//! Where executors go.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::free::Free;
use super::wants::Wants;
use super::{Index, Share, Slot};
use crate::assign::deal;
use crate::{Cores, Demand, Strategy};

/// Room for so many shares is made at once.
const FEW: usize = 64;

impl<I: Ord> Index<I> {
    /// Places as many executors as the demand asks for and the workers have room for: what each worker gives, in the
    /// order in which executors are launched. Exactly the executors of [`place`](crate::place()) over offers of
    /// the same amounts.
    ///
    /// Source: Spark Master, 4.0.1 (one application and one resource profile of a scheduling pass).
    #[must_use]
    pub fn place(&self, demand: &Demand, strategy: Strategy) -> Vec<Share> {
        let most = usize::try_from(demand.most_workers()).unwrap_or(usize::MAX);
        let mut shares = Vec::with_capacity(most.min(FEW));
        self.place_into(&mut shares, demand, strategy);
        shares
    }

    /// The same into `shares`, in place of what was there: for who places again and again, since new memory for many
    /// shares takes longer than to find them.
    pub fn place_into(&self, shares: &mut Vec<Share>, demand: &Demand, strategy: Strategy) {
        shares.clear();
        let most = demand.most_workers();
        let Some(wants) = Wants::of(demand).filter(|_| most > 0) else { return };
        match strategy {
            Strategy::SpreadOut => {
                let (most, each) =
                    (usize::try_from(most).unwrap_or(usize::MAX), Share::of(demand, Slot(0), 1));
                let is_enough = self.sorted.first(&wants, &self.stock, self.direction, most, each, shares);
                if is_enough && most as u64 == demand.most_units() {
                    // As many workers as units: each gives one.
                    return;
                }
            }
            Strategy::Consolidate => {
                let enough = self.enough(demand, strategy, shares);
                let _ = self.sorted.walk(&wants, &self.stock, self.direction, enough);
            }
        }
        self.deal(demand, strategy, shares);
    }

    /// The same with some workers before all others: those of `nearest`, one rank after the other, each rank in the worker
    /// order. Workers that are to be avoided give nothing. Exactly the executors of [`place_ranked`](crate::place_ranked).
    ///
    /// What it costs depends on how many workers are near or avoided, and on how many give something.
    #[must_use]
    pub fn place_ranked(
        &self,
        demand: &Demand,
        strategy: Strategy,
        nearest: &[Vec<Slot>],
        avoids: impl Fn(Slot) -> bool,
    ) -> Vec<Share> {
        let mut shares = Vec::new();
        if let Some(wants) = Wants::of(demand).filter(|_| demand.allows_one_more()) {
            let enough = self.enough(demand, strategy, &mut shares);
            let _ = self.walk_ranked(&wants, nearest, avoids, enough);
            self.deal(demand, strategy, &mut shares);
        }
        shares
    }

    fn walk_ranked(
        &self,
        wants: &Wants<'_>,
        nearest: &[Vec<Slot>],
        avoids: impl Fn(Slot) -> bool,
        mut visit: impl FnMut(Slot, &Free) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for rank in nearest {
            let standing = |slot: &Slot| Some((self.sorted.standing(*slot)?, *slot));
            let mut rank: Vec<_> = rank.iter().filter_map(standing).collect();
            rank.sort_unstable();
            for (_, slot) in self.direction.over(0..rank.len()).map(|at| rank[at]) {
                let free = self.sorted.get(slot).filter(|free| wants.fit(slot, free, &self.stock));
                if let Some(free) = free.filter(|_| !avoids(slot)) {
                    visit(slot, &free)?;
                }
            }
        }
        let ranked: BTreeSet<Slot> = nearest.iter().flatten().copied().collect();
        self.sorted.walk(wants, &self.stock, self.direction, |slot, free| {
            if ranked.contains(&slot) || avoids(slot) { ControlFlow::Continue(()) } else { visit(slot, free) }
        })
    }

    /// Adds a share with one unit, for the time being, for each worker with room that it is shown, until they are enough.
    fn enough<'a>(
        &'a self,
        demand: &'a Demand,
        strategy: Strategy,
        shares: &'a mut Vec<Share>,
    ) -> impl FnMut(Slot, &Free) -> ControlFlow<()> + 'a {
        let (most, units) = (demand.most_workers(), demand.most_units());
        let mut room = 0_u64;
        move |slot, free| {
            shares.push(Share::of(demand, slot, 1));
            room = room.saturating_add(self.room(demand, slot, free));
            let is_enough = match strategy {
                Strategy::SpreadOut => false,
                Strategy::Consolidate => room >= units,
            };
            if is_enough || shares.len() as u64 == most {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        }
    }

    /// Gives each of the workers found what it is to give.
    fn deal(&self, demand: &Demand, strategy: Strategy, shares: &mut Vec<Share>) {
        let cap = |share: &Share| {
            self.sorted.get(share.slot).map_or(0, |free| self.room(demand, share.slot, &free))
        };
        let given = deal(strategy, shares.iter().map(cap).collect(), demand.most_units());
        for (share, units) in shares.iter_mut().zip(given) {
            *share = Share::of(demand, share.slot, units);
        }
        // Consolidating, or with fewer cores than workers, the last ones may give nothing.
        shares.retain(|share| share.executors > 0 && share.cores > Cores::ZERO);
    }

    /// How many units the worker has room for, who has room for one.
    fn room(&self, demand: &Demand, slot: Slot, free: &Free) -> u64 {
        demand.room(free.cores, free.memory, |name| self.stock.count(slot, name))
    }
}
