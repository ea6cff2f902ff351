//! Keep what is scarce usable.

use super::left_over::Scales;
use super::{Candidate, Whole, fill};
use crate::index::Share;
use crate::{Demand, Offer};

/// Puts each executor where it leaves the fewest addresses of custom resources free; among equals, where it fits best.
///
/// Not in Spark.
pub fn least_fragmentation<'a, R: Ord>(
    demand: &Demand,
    candidates: impl IntoIterator<Item = Candidate<'a, R>>,
    whole: &Whole,
) -> Vec<Share> {
    let scales = Scales::new(demand, whole);
    let free =
        |offer: &Offer<'_>| -> usize { offer.resources.iter().map(|(_, addresses)| addresses.count()).sum() };
    fill(demand, candidates, |offer| (free(offer), scales.left_over(offer)))
}
