//! Child processes: how they are started, signalled and awaited.
//!
//! - [`start`]: starting a process, and why one could not be started; [`own_program`]: starting this program again.
//! - [`account`]: the account under which a process runs.
//! - [`process_group`]: a child that leads a process group.
//! - [`children`]: the children of this process, also those that it adopted, and the end of all of them.
//! - [`table`]: all processes of the machine, with their parents and their usage.

pub mod account;
pub mod children;
pub mod own_program;
pub mod process_group;
pub mod start;
pub mod table;
