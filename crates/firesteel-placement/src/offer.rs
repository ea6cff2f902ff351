//! What a worker has free.

use crate::{Cores, Demand, MiB, Resources};

/// What one worker has free at the moment of placement. Free amounts may be negative: then nothing fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer<'a> {
    /// The worker's id. No two offers in one placement have the same.
    pub worker: &'a str,
    /// Free cores.
    pub cores: Cores,
    /// Free memory.
    pub memory: MiB,
    /// Free addresses by resource name.
    pub resources: &'a Resources,
}

impl Offer<'_> {
    /// Whether one more executor has room here. A demand for executors without cores fits nowhere.
    ///
    /// Source: Spark Master, 4.0.1 (the test for usable workers).
    pub fn fits(&self, demand: &Demand) -> bool {
        let step = demand.size.step();
        step > Cores::ZERO
            && self.cores >= step
            && self.memory >= demand.memory
            && self.resources.covers(&demand.resources)
    }
}
