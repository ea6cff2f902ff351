//! An offer: the free amounts of a Worker.

use crate::{Cores, Demand, ExecutorSize, MiB, Resources};

/// The free amounts of one Worker at the moment of placement. If an amount is negative, no executor fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer<'a> {
    /// The Worker's id. The offers of one placement have different ids.
    pub worker: &'a str,
    /// The number of free cores.
    pub cores: Cores,
    /// The amount of free memory.
    pub memory: MiB,
    /// The free addresses by resource name.
    pub resources: &'a Resources,
}

impl Offer<'_> {
    /// Whether one more executor fits into the offer. An executor without cores fits nowhere.
    ///
    /// Source: Spark Master, 4.0.1 (the test for usable workers).
    pub fn fits(&self, demand: &Demand) -> bool {
        let step = demand.size.step();
        step > Cores::ZERO
            && self.cores >= step
            && self.memory >= demand.memory
            && self.resources.covers(&demand.resources)
    }

    /// The number of the demand's executors that fit into the offer, whatever the limits of the demand. At most one if
    /// the executors have no fixed size.
    #[must_use]
    pub fn executors_that_fit(&self, demand: &Demand) -> u64 {
        match demand.size {
            _ if !self.fits(demand) => 0,
            ExecutorSize::OnePerWorker => 1,
            ExecutorSize::Fixed(_) => {
                demand.units_in(self.cores, self.memory, |name, each| self.resources.fit(name, each))
            }
        }
    }
}
