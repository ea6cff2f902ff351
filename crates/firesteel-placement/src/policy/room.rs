//! The free amounts of a Worker, in a form that is quick to compare with many demands.

use crate::resources::amount::{Amount, WHOLE};
use crate::resources::resource_name::serves;
use crate::{Cores, Demand, MiB, Offer};

/// The free amounts of a Worker, without the names of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Room<'a> {
    pub(super) cores: Cores,
    pub(super) memory: MiB,
    /// The resources, in the order of their names.
    pools: Vec<Pool<'a>>,
}

/// The free addresses of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pool<'a> {
    name: &'a str,
    /// The number of addresses that are completely free.
    whole: u64,
    /// The free thousandths of each other address.
    parts: Vec<u64>,
}

impl<'a> Room<'a> {
    /// The free amounts of the offer.
    pub(super) fn of(offer: &Offer<'a>) -> Self {
        let pool = |(name, addresses): (&'a str, &crate::resources::addresses::Addresses)| Pool {
            name,
            whole: addresses.whole(),
            parts: addresses.partial().collect(),
        };
        let pools = offer.resources.addresses().map(pool).collect();
        Self { cores: offer.cores, memory: offer.memory, pools }
    }

    /// Takes the amounts of one executor of this demand, by the rule of
    /// [`choose`](crate::resources::address_choice::choose). The executor must fit.
    pub(super) fn take(&mut self, demand: &Demand) {
        self.cores -= demand.size.step();
        self.memory -= demand.memory;
        for (name, amount) in &demand.resources {
            let pools = self.pools.iter_mut().filter(|pool| serves(pool.name, name));
            match *amount {
                Amount::Whole(mut count) => pools.for_each(|pool| {
                    let taken = count.min(pool.whole);
                    pool.whole -= taken;
                    count -= taken;
                }),
                Amount::Part(part) => take_part(pools.collect(), part.thousandths()),
            }
        }
    }

    /// The number of executors that these addresses suffice for, if each needs this amount of the resource.
    pub(super) fn fit(&self, name: &str, amount: Amount) -> u64 {
        let pools = self.pools.iter().filter(|pool| serves(pool.name, name));
        match amount {
            Amount::Whole(0) => 1,
            Amount::Whole(each) => pools.map(|pool| pool.whole).sum::<u64>() / each,
            Amount::Part(part) => {
                let part = part.thousandths();
                let in_pool = |pool: &Pool<'_>| {
                    pool.whole * (WHOLE / part) + pool.parts.iter().map(|left| left / part).sum::<u64>()
                };
                pools.map(in_pool).sum()
            }
        }
    }

    /// The free thousandths of a resource. If the name has no kind, those of all kinds.
    pub(super) fn free(&self, name: &str) -> u64 {
        self.serving(name).map(|pool| pool.whole * WHOLE + pool.parts.iter().sum::<u64>()).sum()
    }

    /// The number of addresses of the resource that are completely free.
    pub(super) fn whole(&self, name: &str) -> u64 {
        self.serving(name).map(|pool| pool.whole).sum()
    }

    /// The largest number of free thousandths of any address of the resource.
    pub(super) fn largest(&self, name: &str) -> u64 {
        let largest = |pool: &Pool<'_>| match pool.whole {
            0 => pool.parts.iter().copied().max().unwrap_or(0),
            1.. => WHOLE,
        };
        self.serving(name).map(largest).max().unwrap_or(0)
    }

    fn serving(&self, name: &str) -> impl Iterator<Item = &Pool<'a>> {
        self.pools.iter().filter(move |pool| serves(pool.name, name))
    }
}

/// Takes a fraction from the address with the least left that suffices. Takes it from a whole address only if no other
/// suffices.
fn take_part(mut pools: Vec<&mut Pool<'_>>, part: u64) {
    let parts = pools.iter_mut().flat_map(|pool| &mut pool.parts);
    if let Some(least) = parts.filter(|left| **left >= part).min_by_key(|left| **left) {
        *least -= part;
    } else if let Some(pool) = pools.iter_mut().find(|pool| pool.whole > 0) {
        pool.whole -= 1;
        pool.parts.push(WHOLE - part);
    }
}
