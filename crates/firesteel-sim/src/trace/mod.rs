//! Traces: the Workers of a cluster, and the applications that arrive over time.
//!
//! Firesteel's own form is two tables of comma-separated values, `workers.csv` and `applications.csv`
//! (`fixtures/traces/README.md` describes them; [`Trace::read`], [`Trace::write_workers`],
//! [`Trace::write_applications`]). [`openb`] reads the GPU trace that Alibaba published in 2023.
//! [`synthetic`] makes a trace from a seed, with the [`quantiles`] of that trace.
//!
//! This module opens no files: it reads any [`std::io::Read`] and writes to any [`std::io::Write`].

mod applications;
mod models;
pub mod openb;
pub mod quantiles;
pub mod synthetic;
mod table;
mod workers;

use std::io::Read;
use std::time::Duration;

use firesteel_placement::{Amount, Cores, MiB};

pub use models::{ModelNames, Models};
pub use table::{Table, TraceError, Wrong, rows, within};

/// A cluster and the applications that arrive over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    pub workers: Vec<WorkerKind>,
    /// The applications, in order of arrival.
    pub applications: Vec<TraceApplication>,
    /// The models of GPU that applications request.
    pub models: ModelNames,
}

/// A kind of equal Workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerKind {
    pub count: u64,
    pub cores: Cores,
    pub memory: MiB,
    pub gpus: u64,
    /// The model of the Workers' GPUs, or another name for the kind. May be empty.
    pub model: String,
}

/// An application with a number of equal executors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceApplication {
    /// Time of arrival, since the beginning of the trace.
    pub arrival: Duration,
    pub executors: u64,
    pub request: Request,
    /// The application's run time, once it has begun.
    pub lifetime: Duration,
    /// The number of executors that the application needs to begin.
    pub gang: u64,
    /// The application's queue, as an index into the Master's queues.
    pub queue: u64,
    /// The application's priority in the queue. Higher numbers run first.
    pub priority: i32,
    /// The run time that the application announces. `None` if it announces no run time.
    pub run_time: Option<Duration>,
    /// The family of the application. Applications of one family have the same user and name. Applications without a
    /// family also share a name.
    pub family: Option<u64>,
    /// The Worker whose host the application prefers. The number is taken modulo the number of Workers.
    pub near: Option<u64>,
}

/// The needs of an executor, in the trace's units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// Thousandths of cores, at least 1.
    pub milli_cores: u64,
    pub memory: MiB,
    /// The GPUs: whole GPUs, or a part of one GPU.
    pub gpus: Amount,
    /// The models of GPU that the executor accepts.
    pub models: Models,
}

impl Request {
    /// Whole cores, rounded up as a Worker does.
    #[must_use]
    pub fn cores(&self) -> Cores {
        Cores(i64::try_from(self.milli_cores.div_ceil(1000)).expect("a thousandth of any number fits"))
    }
}

impl Trace {
    /// Reads a trace in Firesteel's own form.
    ///
    /// # Errors
    /// A line cannot be used. The error names the first such line.
    pub fn read(workers: impl Read, applications: impl Read) -> Result<Self, TraceError> {
        let workers = workers::read(workers)?;
        let (applications, models) = applications::read(applications, &workers)?;
        Ok(Self::of(workers, applications, models))
    }

    /// A trace of these parts. The applications are sorted by arrival.
    fn of(workers: Vec<WorkerKind>, mut applications: Vec<TraceApplication>, models: ModelNames) -> Self {
        applications.sort_by_key(|application| application.arrival);
        Self { workers, applications, models }
    }

    /// Number of Workers of all kinds.
    #[must_use]
    pub fn workers_in_all(&self) -> u64 {
        self.workers.iter().map(|kind| kind.count).sum()
    }
}

/// Limits of a trace. They prevent overflows of sums, and that a typing error uses up all memory.
pub mod most {
    pub const WORKERS: u64 = 1_000_000;
    pub const GPUS: u64 = 1_024;
    /// Maximum number of cores of a Worker or an executor.
    pub const CORES: u64 = 65_536;
    /// Maximum memory of a Worker or an executor, in MiB.
    pub const MIB: u64 = i32::MAX as u64;
    pub const EXECUTORS: u64 = 100_000;
    /// Largest number of a queue, a family or a preferred Worker.
    pub const NUMBER: u64 = 1_000_000_000;
    /// The maximum arrival time and run time, in seconds: a hundred years.
    pub const SECONDS: u64 = 100 * 365 * 24 * 3600;
}
