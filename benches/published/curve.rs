//! How much of the GPUs is allocated, by how much has been asked for.

use firesteel_placement::advanced::resources::WHOLE;

/// The highest share that is asked for, in per cent.
const MOST: usize = 130;

/// The outcome of a run, in per cent of the cluster's GPUs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// Thousandths of GPUs of the cluster.
    total: u64,
    arrived: u64,
    allocated: u64,
    /// For each whole per cent that was asked for: the sum of the allocated shares after each arrival, and their
    /// number.
    sums: Vec<(f64, u32)>,
    first_failure: Option<f64>,
}

impl Curve {
    /// The curve before the first arrival at a cluster with this number of GPUs.
    pub(crate) fn new(gpus: u64) -> Self {
        Self {
            total: gpus * WHOLE,
            arrived: 0,
            allocated: 0,
            sums: vec![(0.0, 0); MOST + 1],
            first_failure: None,
        }
    }

    /// Counts a request for this many thousandths of GPUs.
    pub(crate) fn arrived(&mut self, thousandths: u64, placed: bool) {
        self.arrived += thousandths;
        self.allocated += if placed { thousandths } else { 0 };
        let asked = self.percent(self.arrived);
        if !placed {
            self.first_failure.get_or_insert(asked);
        }
        // Published shares have two decimals.
        let allocated = (self.percent(self.allocated) * 100.0).round() / 100.0;
        if let Some((sum, count)) = self.sums.get_mut(asked.round() as usize) {
            *sum += allocated;
            *count += 1;
        }
    }

    fn percent(&self, thousandths: u64) -> f64 {
        thousandths as f64 * 100.0 / self.total as f64
    }

    /// The allocated share after `asked` per cent of the GPUs were asked for: the mean over all arrivals after which
    /// the share that was asked for rounds to it. `None` if there was no such arrival.
    pub(crate) fn at(&self, asked: usize) -> Option<f64> {
        let (sum, count) = *self.sums.get(asked)?;
        (count > 0).then(|| sum / f64::from(count))
    }

    /// All points: per cent asked for, per cent allocated.
    pub(crate) fn points(&self) -> impl Iterator<Item = (usize, f64)> {
        (0..self.sums.len()).filter_map(|asked| Some((asked, self.at(asked)?)))
    }

    /// The share that had been asked for when the first request failed. `None` if none did.
    pub(crate) fn first_failure(&self) -> Option<f64> {
        self.first_failure
    }
}
