//! Replays traces through a Master in virtual time.
//!
//! The Master is real. Workers and drivers are simple models: Workers answer immediately, executors run as long as
//! their application, and drivers register, wait and unregister. So all policies of a Master can be compared with the
//! same applications:
//!
//! - [`replay()`] lets applications arrive and end: how long do they wait, and how much of the cluster do they use?
//! - [`fill()`] lets applications only arrive: how much cannot be allocated when the whole cluster is requested?
//! - [`compact()`] removes Workers: what is the smallest number of Workers for the same load?
//!
//! This module reads no clock. To measure the Master's time, pass a closure that applies its events ([`Apply`]).

mod allocations;
mod compact;
mod estimates;
mod fill;
mod outcome;
mod rows;
mod run;
mod stage;
mod waits;
mod workload;

pub use compact::{Compaction, compact};
pub use estimates::Estimates;
pub use fill::{Fill, Filled, fill};
pub use outcome::{ApplicationTimes, Outcome, Shares};
pub use rows::{CSV_HEADER, csv_rows};
pub use run::{Failures, Gangs, Replay, replay};
pub use stage::{Apply, DRIVERS, GPU, directly, in_virtual_time};
pub use waits::{SizeClass, Waits};
pub use workload::{LeftOut, Size, Workload};
