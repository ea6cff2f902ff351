//! Placement of executors on the Workers of a cluster: how many executors and cores go to which Worker.
//!
//! A [`Cluster`] has [`Worker`]s. [`Cluster::place`] places the executors of a [`Demand`] by a rule and takes the
//! amounts that they need. [`Cluster::give_back`] ends these executors. [`Cluster::explain`] explains why a demand is
//! not met and what would change that. There are four kinds of rules:
//!
//! - [`Strategy`]: the rule of Spark's Standalone Master, spread out or consolidated. Its decisions are those of
//!   Spark's Master.
//! - [`Policy`]: other rules, such as best fit, and a rule that learns which executors applications ask for
//! - [`Expression`]: a rule written as a formula, such as `left.cores + left.gpu`
//! - [`by_score`]: a rule of your own, as a function
//!
//! ```
//! use firesteel_placement::{Cluster, Cores, Demand, ExecutorSize, MiB, Policy, Strategy, Worker, WorkerOrder, by_score};
//!
//! let mut cluster = Cluster::new(WorkerOrder::CoresFreeDesc);
//! for (id, cores) in [("w1", 8), ("w2", 16), ("w3", 12)] {
//!     cluster.add(Worker::new(id, Cores(cores), MiB(65_536)));
//! }
//! // One executor of 6 cores.
//! let demand = Demand {
//!     size: ExecutorSize::Fixed(Cores(6)),
//!     memory: MiB(1024),
//!     cores_left: Cores(6),
//!     ..Demand::default()
//! };
//! let fullest = by_score(|worker| -(worker.total.cores.0 - worker.cores_left().0) as f64);
//!
//! let spark = cluster.place(&demand, &Strategy::SpreadOut);
//! let best_fit = cluster.place(&demand, &Policy::BestFit);
//! let own = cluster.place(&demand, &fullest);
//! let chosen = [spark, best_fit, own].map(|placement| {
//!     placement.executors().map(|executor| executor.worker.to_owned()).collect::<Vec<_>>()
//! });
//! assert_eq!(chosen, [["w2"], ["w2"], ["w1"]]);
//!
//! let sixteen = Demand { size: ExecutorSize::Fixed(Cores(16)), cores_left: Cores(16), ..Demand::default() };
//! assert!(cluster.place(&sixteen, &Strategy::SpreadOut).is_empty());
//! let missing = cluster.explain(&sixteen).shortfall.expect("no Worker has 16 cores free");
//! assert!(missing.to_string().starts_with("1 of 1 executor is missing"), "{missing}");
//! ```
//!
//! Nothing here uses a clock, random numbers or a hash table: equal arguments give equal results. No function panics,
//! divides by zero or wraps, whatever its arguments. With invalid amounts (executors without cores, negative free
//! amounts), nothing is placed.
//!
//! [`advanced`] has the parts from which a placement is made, for programs that keep their own tables.

#![warn(missing_docs)]

pub mod advanced;
mod assign;
mod cluster;
mod demand;
mod dominant_share;
pub mod explain;
mod forecast;
mod index;
mod locality;
mod offer;
mod order;
mod place;
mod policy;
mod preemption;
mod quantities;
mod reservation;
mod resources;
mod words;

pub use assign::Strategy;
pub use cluster::{
    ByScore, Cluster, PlacedExecutor, Placement, PlacementRule, Request, Worker, WorkerChoice, by_score,
};
pub use demand::{Demand, ExecutorLimit, ExecutorSize};
pub use explain::shortfall::Shortfall;
pub use offer::Offer;
pub use order::{UnknownWorkerOrder, WorkerOrder};
pub use policy::expression::ExpressionError;
pub use policy::{Expression, Policy, Rule, UnknownPolicy, UnknownRule};
pub use quantities::{Cores, MiB};
pub use resources::{Amount, Part, Quantity, ResourceAmounts, Resources};

/// Compiles the code of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
