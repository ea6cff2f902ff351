//! The handlers of messages. A handler changes tables, and marks that a scheduling pass is due.

pub(crate) mod applications;
pub(crate) mod cluster_drivers;
pub(crate) mod decommission;
pub(crate) mod ended_app_executors;
pub(crate) mod executors;
pub(crate) mod failures;
pub(crate) mod foreign;
pub(crate) mod global_exclusion;
pub(crate) mod older_state;
pub(crate) mod reports;
pub(crate) mod resumption;
pub(crate) mod workers;
