//! The Worker's daemon: it runs the state machine [`firesteel_worker`].
//!
//! - [`daemon`]: the Worker's state machine, its connections and its runners; `shell`: performs the machine's effects.
//! - [`executor_runner`], [`environment`], [`header`]: one executor's process, its variables, and the header of its
//!   `stderr`.
//! - [`driver_runner`]: one process of a cluster driver; `runner`: the common implementation of both runners.
//! - [`mod@reaper`]: the process between the Worker and one of these, which ends all of their processes.
//! - [`accounts`]: the accounts under which these run; [`confinement`]: what they reach.
//! - [`java`]: Spark's executors, which are Java classes, and the installation of Spark that runs them.
//! - [`shuffle_service`]: Spark's external shuffle service, which serves the files of executors that have ended.
//! - [`directories`]: the directories of executors, the files of applications, and the removal of both.
//! - [`log`](mod@log): the logs of executors, which are rolled and read in pieces.
//! - [`capacity`]: the default cores and memory of a Worker; `discovery`: the addresses of its custom resources.
//!
//! # Processes
//!
//! No process of an executor outlives the executor or the Worker. A process belongs to an executor because it descends
//! from it, whatever it does with its process group, session or environment:
//!
//! 1. Between the Worker and each executor is a [reaper]: a small process that starts the executor and adopts
//!    those of its descendants that lose their parents. When the executor's process has ended, the reaper kills all of
//!    its own descendants. Only then does it report the end.
//! 2. When the Worker ends, even by SIGKILL, the connection to the reaper ends. Then the reaper kills its descendants.
//! 3. If a reaper is killed, the Worker adopts its descendants and kills them.
//! 4. If Worker and reapers are killed together, the next Worker in that work directory finds the [dead
//!    Worker](dead_workers) by its lock file. It kills the processes in the dead Worker's [control
//!    groups](reaper::control_group), and every process that carries the dead Worker's [marker](cleanup::processes):
//!    variables in the environment of its executors.
//! 5. The built-in executor asks the kernel to signal it when its reaper ends. It also ends when its driver's
//!    connection ends.
//!
//! Without control groups a process outlives the fourth case if it has lost its marker, as set-uid programs and
//! `env -i` do. A process that another daemon starts on request does not descend from the executor, and belongs to that
//! daemon: a container of Docker, a unit of `systemd-run`, a job of `at`.
//!
//! The daemons of a local cluster end when their standard input ends. This input is a pipe from the command that
//! started the cluster.

pub mod accounts;
pub mod capacity;
pub mod cleanup;
pub mod confinement;
pub mod daemon;
pub mod directories;
mod discovery;
pub mod driver_runner;
pub mod environment;
pub mod executor_runner;
pub mod header;
pub mod java;
pub mod log;
pub mod measure;
pub mod reaper;
mod runner;
mod shell;
pub mod shuffle_service;

pub use cleanup::{dead_workers, scratch_directories};
pub use daemon::{Options, WorkerError, run};
pub use directories::{files, work_directory};
pub use discovery::{DiscoveryError, discover};
pub use java::spark_homes;
