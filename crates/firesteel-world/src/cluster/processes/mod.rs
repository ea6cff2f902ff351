//! The processes of a simulated cluster, with their starts, actions and ends.
//!
//! - `node`: one process with the state machine that it runs; `lives`, `executor_lives`: how such processes start and
//!   end.
//! - `programs`, `task_lives`: processes without a state machine: executors' programs and tasks.
//! - `launches`: launchers, whose executors are commands; `cluster_drivers`: drivers that run on Workers.
//! - `users`: the actions of the drivers' users.

pub(super) mod cluster_drivers;
mod executor_lives;
mod launches;
mod lives;
pub(super) mod node;
pub(super) mod programs;
pub(super) mod task_lives;
mod users;
