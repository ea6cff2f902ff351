//! The Worker's daemon: the shell around [`firesteel_core::worker`].
//!
//! No process that an executor leaves behind outlives it, and none outlives the Worker:
//!
//! 1. When an executor's process has ended, however, its [runner](executor_runner) kills what is left of its
//!    process group, and then every process that carries the executor's [marker](strays) in its environment,
//!    which also finds those that left the group. Only then is the end reported.
//! 2. The [reaper] is a process of its own that notices the Worker's end, also by SIGKILL, and kills every
//!    process that carries the Worker's marker.
//! 3. The built-in executor asks the kernel to be killed with its Worker. This is why executors are started from
//!    threads of the runtime that live as long as the daemon, and never from a blocking thread: the kernel acts
//!    on the end of the *thread* that started the process.
//!
//! What gets away: a process that has left its group and also wears another environment, as set-uid programs and
//! `env -i setsid` do. Holding those takes control groups.

pub mod capacity;
pub mod cleaner;
pub mod daemon;
pub mod environment;
pub mod executor_runner;
pub mod files;
pub mod header;
pub mod log;
pub mod reaper;
pub mod strays;
pub mod sweeper;
pub mod work_directory;

pub use daemon::{Options, WorkerError, run};
