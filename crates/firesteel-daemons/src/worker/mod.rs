//! The Worker's daemon: it runs the state machine [`firesteel_worker`].
//!
//! - [`daemon`]: the Worker's state machine, its connections and its runners; `shell`: performs the machine's effects.
//! - [`executor_runner`], [`environment`], [`header`]: one executor's process, its variables, and the header of its
//!   `stderr`.
//! - [`driver_runner`]: one process of a cluster driver; `runner`: the common implementation of both runners.
//! - [`java`]: Spark's executors, which are Java classes, and the installation of Spark that runs them.
//! - [`shuffle_service`]: Spark's external shuffle service, which serves the files of executors that have ended.
//! - [`directories`]: the directories of executors, the files of applications, and the removal of both.
//! - [`log`](mod@log): the logs of executors, which are rolled and read in pieces.
//! - [`capacity`]: the default cores and memory of a Worker.
//!
//! # Processes
//!
//! A Worker starts every executor as its own child, in its own process group and directory. No process of an executor
//! outlives the executor or the Worker:
//!
//! 1. When an executor's process has ended, its runner kills the rest of its process group. Then it kills every process
//!    that carries the executor's [marker](cleanup::processes): variables in its environment, which survive `setsid`
//!    and re-parenting. Only then does it report the end.
//! 2. The [reaper](worker_processes) is a small separate process that holds the read end of a pipe. When the Worker
//!    ends, even by SIGKILL, the pipe ends. Then the reaper kills every process that carries the Worker's marker.
//! 3. If Worker and reaper are killed together, the next Worker in that work directory finds the [dead
//!    Worker](dead_workers) by its lock file, and kills every process that carries the dead Worker's marker.
//! 4. The built-in executor asks the kernel to signal it when its Worker ends. It also ends when its driver's
//!    connection ends. The kernel acts on the end of the *thread* that started the process. So executors are started
//!    from threads of the runtime that live as long as the daemon, and never from a blocking thread.
//!
//! A process escapes if it has left its group and also has another environment, as set-uid programs and `env -i setsid`
//! do. Only control groups could hold such a process.
//!
//! The daemons of a local cluster end when their standard input ends. This input is a pipe from the command that
//! started the cluster.

pub mod capacity;
pub mod cleanup;
pub mod daemon;
pub mod directories;
pub mod driver_runner;
pub mod environment;
pub mod executor_runner;
pub mod header;
pub mod java;
pub mod log;
pub mod measure;
mod runner;
mod shell;
pub mod shuffle_service;

pub use cleanup::{dead_workers, executor_processes, scratch_directories, worker_processes};
pub use daemon::{Options, WorkerError, run};
pub use directories::{files, work_directory};
pub use java::spark_homes;
