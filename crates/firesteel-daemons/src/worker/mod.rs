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
//!
//! # Processes
//!
//! A Worker starts every executor as its own child, in a process group and a directory of its own. Three things see to it
//! that nothing outlives what it belongs to:
//!
//! 1. When an executor's process has ended, its ExecutorRunner kills what is left of its group and then every process
//!    that carries the executor's marker (variables in its environment, which survive `setsid` and re-parenting), and
//!    only then reports the end.
//! 2. A Worker has a *reaper*, a small process that holds the read end of a pipe. When the Worker ends, in whatever way,
//!    the pipe ends, and the reaper kills everything that carries the Worker's marker.
//! 3. Firesteel's own executor also asks the kernel for a signal when its Worker ends, and ends when its driver's
//!    connection does.
//!
//! The daemons of a local cluster end when their standard input does, which is a pipe from the command that started them.

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
