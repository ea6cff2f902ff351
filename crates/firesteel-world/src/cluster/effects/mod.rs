//! The effects of state machines on files, directories, logs and the Master's disk.
//!
//! - `perform`: performs the effects of nodes.
//! - `fetches`, `cleaning`, `logs`: the files of Workers.
//! - `master_disk`: a Master's records, and restarts from them.

mod cleaning;
pub(super) mod fetches;
mod logs;
pub(super) mod master_disk;
mod perform;
