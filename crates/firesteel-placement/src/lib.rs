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

mod assign;
mod demand;
pub mod dominant_share;
mod explain;
pub mod forecast;
pub mod index;
pub mod locality;
mod offer;
mod order;
mod place;
pub mod policy;
pub mod preemption;
mod quantities;
pub mod reservation;
mod resources;
pub mod words;

pub use assign::{Assignment, Strategy, assign};
pub use demand::{Demand, ExecutorLimit, ExecutorSize};
pub use explain::shortfall::{Shortfall, shortfall};
pub use explain::{advice, outlook, shortfall};
pub use offer::Offer;
pub use order::{UnknownWorkerOrder, WorkerOrder, order};
pub use place::{PlacedExecutor, Placement, place, place_ranked};
pub use policy::{Policy, UnknownPolicy};
pub use quantities::{Cores, MiB};
pub use resources::{AddressPool, FreeAddresses, NoTaskAmount, TakenAddresses, TaskAmount, TaskResources};
pub use resources::{AddressTwice, Resources, amount, resource_name};
pub use resources::{Amount, Part, Quantity, ResourceAmounts, ResourceQuantities};
