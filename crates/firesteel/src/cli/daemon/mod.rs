//! The commands that start daemons: `firesteel master`, `firesteel worker`, `firesteel cluster` for several machines,
//! and the scripts of `firesteel sbin`. This module also has the commands that only a Worker or a NodeManager starts.

pub(super) mod application_master;
pub(super) mod cluster;
pub(super) mod executor;
pub(super) mod master;
pub(super) mod reaper;
pub(super) mod sbin;
pub(super) mod worker;
