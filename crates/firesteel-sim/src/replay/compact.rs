//! How few Workers hold the same load.

use firesteel_core::master::Config;
use firesteel_core::messages::Placing;

use super::run::describe;
use super::stage::{Apply, Stage};
use super::workload::Workload;

/// The search ends at so many times the Workers that there are.
const MOST_TIMES: usize = 4;
/// So many of a thousand executors may be without a place: a few fit hardly anywhere.
///
/// Source: A. Verma et al.: Large-scale cluster management at Google with Borg, 2015 (0.2 % of the tasks).
const PICKY: u64 = 2;

/// How few Workers are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// The first so many of the workload's hold its executors at once; if that is more than there are, they come
    /// again and again. `None`: four times as many do not.
    pub workers: Option<u64>,
    /// How many there are.
    pub of: u64,
}

/// Finds the fewest Workers that hold the executors of the workload's applications at once when they come one after the
/// other and none goes; two of a thousand may be left over.
///
/// Source: A. Verma, M. Korupolu, J. Wilkes: Evaluating job packing in warehouse-scale computing, 2014 (cluster
/// compaction: Workers are taken away, in an order drawn by lot, until the load no longer fits).
pub fn compact(config: &Config, workload: &Workload, apply: &mut impl Apply) -> Compaction {
    let all: u64 = workload.applications.iter().map(|application| application.executors).sum();
    let mut holds = |workers: usize| {
        let workers: Vec<_> = workload.workers.iter().cycle().take(workers).copied().collect();
        let mut stage = Stage::new(config.clone(), &workers, apply);
        for (application, driver) in workload.applications.iter().zip(0..) {
            stage.register(driver, describe(application, Placing::default()));
        }
        (all - stage.books.executors() as u64) * 1000 <= all * PICKY
    };
    let of = workload.workers.len();
    let (mut too_few, mut enough) = (0, of);
    while enough < of * MOST_TIMES && !holds(enough) {
        (too_few, enough) = (enough, enough * 2);
    }
    if enough >= of * MOST_TIMES {
        return Compaction { workers: None, of: of as u64 };
    }
    while enough - too_few > 1 {
        let middle = too_few.midpoint(enough);
        if holds(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    Compaction { workers: Some(enough as u64), of: of as u64 }
}
