//! The tables of a Master. They store facts, and contain no rules.

pub(crate) mod applications;
pub(crate) mod archive;
pub(crate) mod capacity;
pub(crate) mod drivers;
pub(crate) mod executors;
pub(crate) mod history;
pub(crate) mod lineage;
pub(crate) mod link;
pub(crate) mod long_sorted;
pub(crate) mod merged;
pub(crate) mod preempted;
pub(crate) mod run_times;
pub(crate) mod sorted;
pub(crate) mod workers;
