//! The commands that start daemons: `firesteel master`, `firesteel worker`, and `firesteel cluster` for several
//! machines. This module also has the commands that only a Worker or a NodeManager starts.

pub(super) mod application_master;
pub(super) mod cluster;
pub(super) mod executor;
pub(super) mod master;
pub(super) mod reaper;
pub(super) mod worker;
