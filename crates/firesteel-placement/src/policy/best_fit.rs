//! Best fit by dominant share.

use super::left_over::Scales;
use super::{Candidate, Whole, fill};
use crate::Demand;
use crate::index::Share;

/// Puts each executor where the least is left over, so that what is free stays in large pieces.
///
/// What is left over on a worker is a share of each amount: of the cores, the memory and the addresses of each custom
/// resource that all workers have together, free or not. The largest of them, the dominant share, counts; where it is
/// equal their sum does, and then the lowest id. So an amount that is scarce in the cluster weighs more than one that is
/// plentiful, and work that needs no gpu goes where none is free. A worker is never chosen of which another one with room
/// has as little of everything, and less of something.
///
/// A worker that was given an executor has less left over than before, so it is the best fit for the next one, too,
/// for as long as it has room. That is why each is filled before the next is looked for, and why this costs a look at
/// each candidate and no more.
///
/// What each worker gives is told in the order in which executors are launched. Not in Spark.
pub fn best_fit<'a, R: Ord>(
    demand: &Demand,
    candidates: impl IntoIterator<Item = Candidate<'a, R>>,
    whole: &Whole,
) -> Vec<Share> {
    let scales = Scales::new(demand, whole);
    fill(demand, candidates, |offer| scales.left_over(offer))
}
