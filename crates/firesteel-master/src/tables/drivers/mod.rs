//! The cluster drivers, live and ended.

pub(crate) mod cluster_driver;
pub(crate) mod table;
