//! The choice of the Worker's addresses that an executor gets.
//!
//! A policy with its own rule for addresses would go here: [`choose`] decides, and [`Resources::take`] takes the chosen
//! addresses. An index of Workers relies on one property of the rule: for a fraction of an address, it chooses the
//! address with the least free that suffices (`index/free.rs`).

use super::amount::{Amount, WHOLE};
use crate::Resources;

/// One address, or a fraction of one, for an executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The name of the resource on the Worker, with its kind.
    pub(crate) resource: String,
    pub(crate) address: String,
    pub(crate) thousandths: u64,
}

/// Chooses the addresses for one executor. Whole addresses are chosen in the order of their kinds, then in text order.
/// A fraction comes from the fullest address that has enough free, so that whole addresses stay whole. On a tie, the
/// first one in that order is chosen. Returns fewer than requested if there are too few.
pub(crate) fn choose(free: &Resources, name: &str, amount: Amount) -> Vec<Chosen> {
    let all = free.of(name).flat_map(|(resource, addresses)| {
        addresses.iter().map(move |(address, left)| (resource, address, left))
    });
    let chosen = |(resource, address, thousandths): (&String, &str, u64)| Chosen {
        resource: resource.clone(),
        address: address.to_owned(),
        thousandths,
    };
    match amount {
        Amount::Whole(count) => {
            let whole = all.filter(|(.., left)| *left == WHOLE);
            whole.take(usize::try_from(count).unwrap_or(usize::MAX)).map(chosen).collect()
        }
        Amount::Part(part) => {
            let part = part.thousandths();
            let fullest = all.filter(|(.., left)| *left >= part).min_by_key(|(.., left)| *left);
            fullest.map(|(resource, address, _)| chosen((resource, address, part))).into_iter().collect()
        }
    }
}
