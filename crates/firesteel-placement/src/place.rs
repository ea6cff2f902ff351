//! A placement over offers: the offers on which executors fit, in order, and the cores that each of them gives.

use std::collections::BTreeMap;

use crate::assign::{Assignment, assign};
use crate::order::{first, order};
use crate::{Cores, Demand, Offer, Strategy, WorkerOrder};

/// The executors of one demand and their Workers.
///
/// Contains the offers that the placement can use, in order. The last of these may give nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferPlacement<'a> {
    offers: Vec<Offer<'a>>,
    assignment: Assignment,
}

/// One executor to launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferExecutor<'a> {
    /// The id of the Worker.
    pub worker: &'a str,
    /// The cores of the executor. Its memory and resources are the demand's.
    pub cores: Cores,
}

impl<'a> OfferPlacement<'a> {
    /// Whether there is no executor to launch.
    pub fn is_empty(&self) -> bool {
        self.offers.is_empty()
    }

    /// The executors in the order in which they are launched and numbered: Workers in the worker order, and all
    /// executors of a Worker before those of the next one.
    ///
    /// Source: Spark Master, 4.0.1.
    pub fn executors(&self) -> impl Iterator<Item = OfferExecutor<'a>> {
        let on = |(i, offer): (usize, &Offer<'a>)| {
            let worker = offer.worker;
            self.assignment.executors_on(i).map(move |cores| OfferExecutor { worker, cores })
        };
        self.offers.iter().enumerate().flat_map(on)
    }

    /// The Workers that give cores, in the worker order, each with all cores that it gives.
    pub fn workers(&self) -> impl Iterator<Item = (&'a str, Cores)> {
        let given = self.offers.iter().zip(self.assignment.cores());
        given.filter(|&(_, &cores)| cores > Cores::ZERO).map(|(offer, &cores)| (offer.worker, cores))
    }
}

/// Places as many executors as the demand asks for, or as many as fit on the offers.
///
/// `offers` has one offer per living Worker, in any order. The order of ids costs the least. If the demand allows no
/// executor, the offers are not read. If the demand allows few executors, only the few offers that can be used are
/// sorted.
///
/// Source: Spark Master, 4.0.1 (one application and one resource profile of a scheduling pass).
pub fn place<'a>(
    demand: &Demand,
    offers: impl IntoIterator<Item = Offer<'a>>,
    by: WorkerOrder,
    strategy: Strategy,
) -> OfferPlacement<'a> {
    let fitting = offers.into_iter().filter(|offer| offer.fits(demand));
    let offers = match demand.most_workers() {
        0 => Vec::new(),
        most => first(usize::try_from(most).unwrap_or(usize::MAX), fitting, by),
    };
    let assignment = assign(demand, &offers, strategy);
    OfferPlacement { offers, assignment }
}

/// Places executors on offers of a lower rank first, and on offers of the same rank in the worker order.
///
/// With equal ranks, the result is the same as with [`place`]. Spark's Master has no ranks, because it does not know
/// preferred hosts.
pub fn place_ranked<'a, R: Ord>(
    demand: &Demand,
    offers: impl IntoIterator<Item = Offer<'a>>,
    by: WorkerOrder,
    strategy: Strategy,
    rank: impl Fn(&Offer<'a>) -> R,
) -> OfferPlacement<'a> {
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
    OfferPlacement { offers, assignment }
}
