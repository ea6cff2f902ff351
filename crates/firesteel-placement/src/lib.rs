//! The allocation core of Firesteel: it decides how many cores each application gets, and on which Workers.
//!
//! A [`Demand`] says what one application asks for under one resource profile, an [`Offer`] what one Worker has free.
//! [`place()`] keeps the offers on which an executor fits, sorts them by the [`WorkerOrder`], and distributes executors by
//! the [`Strategy`]. An [`index`] decides the same without looking at every Worker. [`shortfall()`] says why fewer
//! executors were placed than asked for, [`outlook`] what would have to change for the next one. The decisions are those
//! of Spark's Master, and their cost does not grow with the number of executors.
//!
//! ```
//! use firesteel_placement::{Cores, Demand, ExecutorSize, MiB, Offer, Resources, Strategy, WorkerOrder, place};
//!
//! let none = Resources::default();
//! let offer = |worker| Offer { worker, cores: Cores(16), memory: MiB(65_536), resources: &none };
//! let demand = Demand {
//!     size: ExecutorSize::Fixed(Cores(16)),
//!     memory: MiB(1024),
//!     cores_left: Cores(48),
//!     ..Demand::default()
//! };
//!
//! let offers = ["w1", "w2", "w3", "w4"].map(offer);
//! let placement = place(&demand, offers, WorkerOrder::CoresFreeDesc, Strategy::SpreadOut);
//! let workers: Vec<_> = placement.executors().map(|executor| executor.worker).collect();
//! assert_eq!(workers, ["w4", "w3", "w2"]);
//! ```
//!
//! Nothing here uses a clock, random numbers or a hash table: equal arguments give equal results. Every function is total.
//! Invalid amounts (executors without cores, negative free amounts) place nothing. They never panic, divide by zero or
//! wrap.

pub mod advanced;
mod assign;
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
pub use demand::{Demand, ExecutorLimit, ExecutorSize};
pub use explain::shortfall::Shortfall;
pub use offer::Offer;
pub use order::{UnknownWorkerOrder, WorkerOrder};
pub use policy::expression::ExpressionError;
pub use policy::{Expression, Policy, Rule, UnknownPolicy, UnknownRule};
pub use quantities::{Cores, MiB};
pub use resources::{Amount, Part, Quantity, ResourceAmounts, Resources};
