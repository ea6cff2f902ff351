//! One placement: the offers with room, in order, with what each gives.

use crate::{Assignment, Cores, Demand, Offer, Strategy, WorkerOrder, assign, order};

/// Where the executors of one demand go.
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

    /// The offers that were considered, in the worker order, each with the cores that it gives.
    pub fn offers(&self) -> impl Iterator<Item = (&Offer<'a>, Cores)> {
        self.offers.iter().zip(self.assignment.cores().iter().copied())
    }
}

/// Places as many executors as the demand asks for and the offers have room for.
///
/// One offer for each worker that is alive, in any order: workers come out in the order of `by`, of `offers` only
/// ids count among equals. When the demand allows no executor, the offers are not looked at.
///
/// Source: Spark Master, 4.0.1 (one application and one resource profile of a scheduling pass).
pub fn place<'a>(
    demand: &Demand,
    offers: impl IntoIterator<Item = Offer<'a>>,
    by: WorkerOrder,
    strategy: Strategy,
) -> Placement<'a> {
    let mut usable: Vec<Offer<'a>> = Vec::new();
    if demand.allows_one_more() {
        usable.extend(offers.into_iter().filter(|offer| offer.fits(demand)));
    }
    order(&mut usable, by);
    let assignment = assign(demand, &usable, strategy);
    Placement { offers: usable, assignment }
}
