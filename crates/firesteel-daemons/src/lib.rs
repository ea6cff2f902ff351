//! The shells around the state machines: they feed events in, and perform the effects that come out.

pub mod cluster_news;
pub mod driver_daemon;
pub mod executor;
pub mod executor_log;
pub mod files;
pub mod master;
pub mod remark;
pub mod worker;
