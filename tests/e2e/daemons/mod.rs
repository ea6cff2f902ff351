//! Masters and Workers: how they run, recover and end, their clean-up, and their reports about themselves.

mod audit;
mod bad_worker;
mod cleaning;
mod dead_workers;
mod decommission;
pub(super) mod hosts;
mod http;
mod https;
mod limits;
mod older_state;
mod recovery;
mod service_manager;
mod shortages;
mod totals;
mod usage;
pub(super) mod worker;
