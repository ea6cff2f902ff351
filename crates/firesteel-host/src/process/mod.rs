//! Child processes: how they are started, signalled and awaited.
//!
//! - [`start`]: starting a process, and why one could not be started; [`own_program`]: starting this program again.
//! - [`process_group`]: a child that leads a process group.

pub mod own_program;
pub mod process_group;
pub mod start;
