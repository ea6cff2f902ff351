//! The effects of state machines, and what they have an effect on: files, directories, logs and the Master's disk.
//!
//! - `perform`: performs the effects of nodes.
//! - `fetches`, `cleaning`, `logs`: the files of Workers.
//! - `master_disk`: what a Master has written down, and restarts from it.

mod cleaning;
pub(super) mod fetches;
mod logs;
pub(super) mod master_disk;
mod perform;
