//! Which addresses of a Worker an executor is given.
//!
//! This is the place for a rule of a policy's own: [`choose`] decides, and [`Resources::take`] takes what it says. An
//! index of Workers counts on one property of the rule: the addresses that it chooses for a part have the least free
//! part that suffices (`index/free.rs`).

use super::amount::{Amount, WHOLE};
use crate::Resources;

/// One address, or a part of one, for an executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The name of the resource on the Worker, with its kind.
    pub(crate) resource: String,
    pub(crate) address: String,
    pub(crate) thousandths: u64,
}

/// Chooses the addresses for one executor: whole ones in the order of their kinds, then in text order. A part comes
/// from the fullest address that has room for it, so that whole addresses stay whole; on a tie from the first one in
/// that order. Fewer than asked for if there are too few.
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
