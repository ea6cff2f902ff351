//! Fills a cluster: applications arrive, and no application ends.

use firesteel_master::Config;
use firesteel_protocol::messages::Placing;

use super::outcome::{Shares, requests};
use super::run::describe;
use super::stage::{Apply, Stage};
use super::workload::{Size, Workload};

#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// The allocated share of the cluster, each time the requested share has grown by one hundredth.
    pub steps: Vec<Filled>,
    /// The free capacity at the end on Workers where the next executor does not fit.
    pub stranded: Shares,
    pub executors: u64,
}

/// The requested and the allocated share at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filled {
    /// Share of the cluster that is requested (see [`Workload::asked`]).
    pub asked: f64,
    /// Share of the cluster that is allocated.
    pub given: f64,
}

impl Fill {
    /// The share of the cluster that is requested but not allocated in the end.
    #[must_use]
    pub fn unallocated(&self) -> f64 {
        self.steps.last().map_or(0.0, |last| last.asked - last.given)
    }
}

/// Lets the workload's applications arrive one after the other. No application ends. Each application gets as many
/// executors as fit. [`Workload::with_demand`] makes a workload as large as the cluster.
pub fn fill(config: &Config, workload: &Workload, apply: &mut impl Apply) -> Fill {
    let mut stage = Stage::new(config.clone(), &workload.workers, apply);
    let (mut asked, mut steps) = ([0.0; 3], Vec::new());
    for (application, driver) in workload.applications.iter().zip(0..) {
        let amounts = Size::of(&application.request).amounts();
        asked.iter_mut().zip(amounts).for_each(|(all, amount)| *all += amount * application.executors as f64);
        stage.register(driver, describe(application, Placing::default()));
        let is_last = driver + 1 == workload.applications.len() as u64;
        let now = workload.asked(asked);
        if is_last || now * 100.0 >= steps.len() as f64 + 1.0 {
            steps.push(Filled { asked: now, given: workload.asked(stage.allocations.used()) });
        }
    }
    let stranded = Shares::of(stage.allocations.stranded(&requests(workload)), workload.capacity());
    Fill { steps, stranded, executors: stage.allocations.executors() as u64 }
}
