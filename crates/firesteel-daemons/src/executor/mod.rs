//! The executor's process: its daemon, and the runner of one task.
//!
//! [`daemon`] joins the executor's state machine to its driver's connection; [`task_runner`] is one task of the
//! runtime for one attempt's process; `output` reads what that process writes.

pub mod daemon;
mod output;
pub mod task_runner;
