//! The tables of the Worker. They store facts, and do not use the [`Worker`](super::Worker). The handlers decide what
//! follows from a change.

mod directory_search;
mod drivers;
mod executor_directories;
mod executors;
mod files;
mod logs;
mod obstacles;
mod process;
mod process_stage;
mod registration;
mod shutdown_phase;
mod usage;

pub(super) use directory_search::DirectorySearch;
pub(super) use drivers::{DriverExited, DriverSignalled, Drivers, Restarts};
pub(super) use executor_directories::ExecutorDirectories;
pub(super) use executors::{Executors, Signalled};
pub(super) use files::{Files, Wanted};
pub(super) use logs::{Logs, Writer};
pub(super) use obstacles::Obstacles;
pub(super) use process::Process;
pub(super) use registration::{Registration, SentReport, Terms};
pub(super) use shutdown_phase::ShutdownPhase;
pub(super) use usage::UsageTable;
