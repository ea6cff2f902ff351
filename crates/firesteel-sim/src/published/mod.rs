//! A published placement experiment: which share of the GPUs of a real cluster does a policy manage to hand out?
//!
//! The experiment is that of FGD (Weng et al., "Beware of Fragmentation", ATC 2023). Requests for GPUs and for shares of
//! one arrive one at a time at a cluster, until they have asked for 130 % of its GPUs; none ever leaves, and a request
//! that fits nowhere is dropped. [`Arrivals`] makes the sequence of requests from a seed, [`run`] places them, and its
//! [`Curve`] says how much is allocated for how much has arrived.
//!
//! A [`Chooser`] is a policy. Three are the yardsticks, as their authors define them: [`Random`], [`BestFit`] and [`Fgd`],
//! whose published results are in the same directory ([`figures`]). [`Master`] is a Master of Firesteel's, with any policy.
//!
//! This module opens no files.

mod arrivals;
mod best_fit;
mod chooser;
mod cluster;
mod curve;
mod fgd;
pub mod figures;
mod master;
mod random;
mod request;
mod run;
mod scored;

pub use arrivals::Arrivals;
pub use best_fit::BestFit;
pub use chooser::{Choice, Chooser};
pub use cluster::{Cluster, Node};
pub use curve::Curve;
pub use fgd::Fgd;
pub use master::Master;
pub use random::Random;
pub use request::{Request, Workload};
pub use run::run;
pub use scored::{Score, Scored};
