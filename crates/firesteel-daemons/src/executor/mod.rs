//! The executor's process: its daemon, and the runners of its tasks.
//!
//! - [`daemon`]: connects the executor's state machine with its driver.
//! - `command`: the command with which Workers start an executor.
//! - [`task_runner`]: runs the process of one task attempt, in one task of the runtime.
//! - `output`: reads the output of that process.

pub(crate) mod command;
pub mod daemon;
mod output;
pub mod task_runner;
