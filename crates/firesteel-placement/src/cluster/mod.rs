//! A cluster of Workers, and the one function through which every rule places executors.
//!
//! | file | content |
//! |---|---|
//! | `worker.rs` | a Worker, as it is added |
//! | `request.rs` | a demand, with facts about its application that some rules need |
//! | `rule.rs` | what can be passed to [`Cluster::place`] as a rule |
//! | `by_score.rs` | rules of your own |
//! | `placement.rs` | the executors that were placed |
//! | `table.rs` | the Workers, and what runs on them |
//! | `view.rs` | the part of the table that rules can read |

mod by_score;
mod placement;
mod request;
mod rule;
mod table;
#[cfg(test)]
mod tests;
mod view;
mod worker;

pub use by_score::{ByScore, WorkerChoice, by_score};
pub use placement::{PlacedExecutor, Placement};
pub use request::Request;
pub use rule::PlacementRule;
pub use worker::Worker;

use rule::Sight;
use table::Table;
use view::View;

use crate::explain::Explanation;
use crate::explain::advice::advice;
use crate::explain::outlook::outlook;
use crate::explain::shortfall::shortfall;
use crate::policy::Chooser;
use crate::{Demand, Offer, Strategy, WorkerOrder};

/// The Workers of a cluster, and the free amounts of each.
///
/// [`place`](Self::place) chooses Workers for executors by any rule, and takes the amounts that the executors need.
/// [`give_back`](Self::give_back) ends the executors. Each rule decides here exactly as in Firesteel's Master.
///
/// ```
/// use firesteel_placement::{Cluster, Cores, Demand, ExecutorSize, MiB, Policy, Strategy, Worker, WorkerOrder};
///
/// let mut cluster = Cluster::new(WorkerOrder::CoresFreeDesc);
/// for (id, cores) in [("w1", 8), ("w2", 16), ("w3", 16)] {
///     cluster.add(Worker::new(id, Cores(cores), MiB(65_536)));
/// }
/// let demand = Demand {
///     size: ExecutorSize::Fixed(Cores(4)),
///     memory: MiB(4096),
///     cores_left: Cores(8),
///     ..Demand::default()
/// };
/// // Two executors, spread out as by Spark's Master.
/// let placement = cluster.place(&demand, &Strategy::SpreadOut);
/// let workers: Vec<&str> = placement.executors().map(|executor| executor.worker).collect();
/// assert_eq!(workers, ["w3", "w2"]);
/// cluster.give_back(placement);
/// // The same two where the least is left over.
/// let placement = cluster.place(&demand, &Policy::BestFit);
/// assert_eq!(placement.executors().map(|executor| executor.worker).collect::<Vec<_>>(), ["w1", "w1"]);
/// ```
#[derive(Debug)]
pub struct Cluster {
    table: Table,
    chooser: Chooser,
}

impl Cluster {
    /// A cluster without Workers. `order` is the order in which Spark's rule (a [`Strategy`], or
    /// [`Policy::Spark`](crate::Policy::Spark)) takes Workers. Other policies use it only to break ties, or not at all.
    #[must_use]
    pub fn new(order: WorkerOrder) -> Self {
        Self { table: Table::new(order), chooser: Chooser::default() }
    }

    /// Adds a Worker on which nothing runs. If the cluster has a Worker with the same id, that one is removed first.
    pub fn add(&mut self, worker: Worker) {
        self.table.remove(&worker.id);
        self.table.add(worker);
    }

    /// Removes a Worker, with the executors that run on it. Returns whether the cluster had the Worker.
    pub fn remove(&mut self, worker: &str) -> bool {
        self.table.remove(worker)
    }

    /// The number of Workers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.index.len()
    }

    /// Whether there is no Worker.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The free amounts of the Workers, in the order of their ids.
    pub fn free(&self) -> impl Iterator<Item = Offer<'_>> {
        self.table.offers()
    }

    /// The total amounts of the Workers, in the order of their ids.
    pub fn total(&self) -> impl Iterator<Item = Offer<'_>> {
        self.table.totals()
    }

    /// Places as many executors as the demand asks for, or as many as fit, and takes what they need from the free
    /// amounts.
    ///
    /// `request` is a `&Demand`, or a [`Request`] with facts about the application. `rule` is a
    /// [`Policy`](crate::Policy), an [`Expression`](crate::Expression), a [`Rule`](crate::Rule) that contains one of
    /// these, a [`Strategy`] of Spark, or a rule of your own ([`by_score`]).
    pub fn place<'r>(
        &mut self,
        request: impl Into<Request<'r>>,
        rule: &(impl PlacementRule + ?Sized),
    ) -> Placement {
        let request = request.into();
        self.chooser.see(request.demand, request.demand.most_executors());
        let view = View { table: &mut self.table, request: &request };
        let shares = rule.choose(request.demand, &mut Sight { chooser: &mut self.chooser, view });
        self.table.take(&request, shares)
    }

    /// Ends the executors of a placement, and makes their amounts free. Executors on Workers that were removed have
    /// already ended.
    pub fn give_back(&mut self, placement: Placement) {
        self.table.give_back(placement);
    }

    /// Explains why the demand is not met, and what would change that. Places nothing.
    #[must_use]
    pub fn explain(&self, demand: &Demand) -> Explanation {
        let (free, total): (Vec<_>, Vec<_>) = (self.free().collect(), self.total().collect());
        Explanation {
            shortfall: shortfall(demand, &free, &total),
            outlook: outlook(demand, &free, &total),
            advice: advice(demand, &free, self.table.index.order(), Strategy::SpreadOut),
        }
    }

    /// Checks the cluster's own tables. For tests.
    ///
    /// # Errors
    /// One sentence about the first mistake that was found.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), String> {
        self.table.index.check(self.free())
    }
}
