//! Finds the fewest Workers that can hold the same load.

use firesteel_master::Config;
use firesteel_protocol::messages::Placing;

use super::run::describe;
use super::stage::{Apply, Stage};
use super::workload::Workload;

/// The search stops at this multiple of the workload's number of Workers.
const MOST_TIMES: usize = 4;
/// How many executors in a thousand may be left without a Worker, because a few executors hardly fit on any Worker.
///
/// Source: A. Verma et al.: Large-scale cluster management at Google with Borg, 2015 (0.2 % of the tasks).
const PICKY: u64 = 2;

/// The result of the search for the fewest Workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// The number of Workers that can hold all executors at the same time. These are the first Workers of the workload,
    /// repeated if there are too few. `None` if even four times as many Workers are too few.
    pub workers: Option<u64>,
    pub of: u64,
}

/// Finds the fewest Workers that hold the executors of all applications of the workload at once. Applications arrive
/// one after the other, and no application ends. Two executors in a thousand may be left without a Worker.
///
/// Source: A. Verma, M. Korupolu, J. Wilkes: Evaluating job packing in warehouse-scale computing, 2014 (cluster
/// compaction: Workers are removed in random order until the load no longer fits).
pub fn compact(config: &Config, workload: &Workload, apply: &mut impl Apply) -> Compaction {
    let all: u64 = workload.applications.iter().map(|application| application.executors).sum();
    let mut holds = |workers: usize| {
        let workers: Vec<_> = workload.workers.iter().cycle().take(workers).copied().collect();
        let mut stage = Stage::new(config.clone(), &workers, apply);
        for (application, driver) in workload.applications.iter().zip(0..) {
            stage.register(driver, describe(application, Placing::default()));
        }
        (all - stage.allocations.executors() as u64) * 1000 <= all * PICKY
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
