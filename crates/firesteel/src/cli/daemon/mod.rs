//! The commands that start daemons: `firesteel master` and `worker`, the processes that only a Worker or a NodeManager
//! starts, and `firesteel cluster` for the daemons of several machines.

pub(super) mod application_master;
pub(super) mod cluster;
pub(super) mod executor;
pub(super) mod master;
pub(super) mod reaper;
pub(super) mod worker;
