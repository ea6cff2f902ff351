//! One placement: the offers with room, in order, with what each gives.

use std::collections::BTreeMap;

use crate::order::{first, order};
use crate::{Assignment, Cores, Demand, Offer, Strategy, WorkerOrder, assign};

/// Where the executors of one demand go.
///
/// Holds the offers that can be reached, in order; of these, consolidating may leave the last ones alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement<'a> {
    offers: Vec<Offer<'a>>,
    assignment: Assignment,
}

/// One executor to launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedExecutor<'a> {
    /// Id of the worker to launch it on.
    pub worker: &'a str,
    /// Its cores. Memory and resources are the demand's.
    pub cores: Cores,
}

impl<'a> Placement<'a> {
    /// Whether there is nothing to launch.
    pub fn is_empty(&self) -> bool {
        self.offers.is_empty()
    }

    /// The executors in the order in which they are launched, and numbered: all of a worker's before the next
    /// worker's, workers in the worker order.
    ///
    /// Source: Spark Master, 4.0.1.
    pub fn executors(&self) -> impl Iterator<Item = PlacedExecutor<'a>> {
        let on = |(i, offer): (usize, &Offer<'a>)| {
            let worker = offer.worker;
            self.assignment.executors_on(i).map(move |cores| PlacedExecutor { worker, cores })
        };
        self.offers.iter().enumerate().flat_map(on)
    }

    /// The workers that give something, in the worker order, each with all the cores that it gives.
    pub fn workers(&self) -> impl Iterator<Item = (&'a str, Cores)> {
        let given = self.offers.iter().zip(self.assignment.cores());
        given.filter(|&(_, &cores)| cores > Cores::ZERO).map(|(offer, &cores)| (offer.worker, cores))
    }
}

/// Places as many executors as the demand asks for and the offers have room for.
///
/// `offers` has one offer for each worker that is alive, in any order; those that come in the order of their
/// ids, as out of an ordered map, cost the least. When the demand allows no executor they are not looked at,
/// and when it allows few, only the few that can be reached are put in order.
///
/// Source: Spark Master, 4.0.1 (one application and one resource profile of a scheduling pass).
pub fn place<'a>(
    demand: &Demand,
    offers: impl IntoIterator<Item = Offer<'a>>,
    by: WorkerOrder,
    strategy: Strategy,
) -> Placement<'a> {
    let fitting = offers.into_iter().filter(|offer| offer.fits(demand));
    let offers = match demand.most_workers() {
        0 => Vec::new(),
        most => first(usize::try_from(most).unwrap_or(usize::MAX), fitting, by),
    };
    let assignment = assign(demand, &offers, strategy);
    Placement { offers, assignment }
}

/// The same with the offers of a lesser rank before all others, those of one rank in the worker order.
///
/// With equal ranks for all it is [`place`]. Not in Spark, whose Master knows no preferred hosts.
pub fn place_ranked<'a, R: Ord>(
    demand: &Demand,
    offers: impl IntoIterator<Item = Offer<'a>>,
    by: WorkerOrder,
    strategy: Strategy,
    rank: impl Fn(&Offer<'a>) -> R,
) -> Placement<'a> {
    let mut ranks = BTreeMap::<R, Vec<Offer<'a>>>::new();
    for offer in offers.into_iter().filter(|offer| offer.fits(demand)) {
        ranks.entry(rank(&offer)).or_default().push(offer);
    }
    let ordered = ranks.into_values().flat_map(|mut part| {
        order(&mut part, by);
        part
    });
    let offers: Vec<_> = ordered.take(usize::try_from(demand.most_workers()).unwrap_or(usize::MAX)).collect();
    let assignment = assign(demand, &offers, strategy);
    Placement { offers, assignment }
}
