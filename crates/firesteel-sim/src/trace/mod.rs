//! Traces: the Workers of a cluster, and the applications that arrive there.
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

/// A cluster and the applications that arrive there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The Workers, by kind.
    pub workers: Vec<WorkerKind>,
    /// The applications, in order of arrival.
    pub applications: Vec<TraceApplication>,
    /// The models of GPU that applications ask for.
    pub models: ModelNames,
}

/// A kind of equal Workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerKind {
    /// Number of Workers.
    pub count: u64,
    /// Cores of each Worker.
    pub cores: Cores,
    /// Memory of each Worker.
    pub memory: MiB,
    /// GPUs of each Worker.
    pub gpus: u64,
    /// The model of its GPUs, or another name of the kind; may be empty.
    pub model: String,
}

/// An application with a number of equal executors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceApplication {
    /// Time of arrival, since the beginning of the trace.
    pub arrival: Duration,
    /// Number of executors that it asks for.
    pub executors: u64,
    /// What each executor needs.
    pub request: Request,
    /// How long it runs after it has begun.
    pub lifetime: Duration,
    /// Number of executors that it needs to begin.
    pub gang: u64,
    /// Its queue, by its number among those of the Master.
    pub queue: u64,
    /// Its priority in the queue; higher numbers run first.
    pub priority: i32,
    /// How long it says that it will run. `None`: it does not say.
    pub run_time: Option<Duration>,
    /// The applications of a family have the same user and name. Those without a family share a name, too.
    pub family: Option<u64>,
    /// The number of the Worker whose host it prefers, counted round the Workers that there are.
    pub near: Option<u64>,
}

/// What an executor needs, as the trace has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// Thousandths of cores, at least 1.
    pub milli_cores: u64,
    /// Memory of the executor.
    pub memory: MiB,
    /// GPUs: whole ones, or a part of one.
    pub gpus: Amount,
    /// The models of GPU that it accepts.
    pub models: Models,
}

impl Request {
    /// Whole cores, rounded up as Workers do.
    #[must_use]
    pub fn cores(&self) -> Cores {
        Cores(i64::try_from(self.milli_cores.div_ceil(1000)).expect("a thousandth of any number fits"))
    }
}

impl Trace {
    /// Reads a trace in Firesteel's own form.
    ///
    /// # Errors
    /// The first line that cannot be used, with its table.
    pub fn read(workers: impl Read, applications: impl Read) -> Result<Self, TraceError> {
        let workers = workers::read(workers)?;
        let (applications, models) = applications::read(applications, &workers)?;
        Ok(Self::of(workers, applications, models))
    }

    /// A trace of these parts.
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

/// Limits of a trace, so that no sum overflows and no typing error uses up all memory.
pub mod most {
    /// Maximum number of Workers.
    pub const WORKERS: u64 = 1_000_000;
    /// Maximum number of GPUs of a Worker.
    pub const GPUS: u64 = 1_024;
    /// Maximum number of cores of a Worker or an executor.
    pub const CORES: u64 = 65_536;
    /// Maximum memory of a Worker or an executor, in MiB.
    pub const MIB: u64 = i32::MAX as u64;
    /// Maximum number of executors of an application.
    pub const EXECUTORS: u64 = 100_000;
    /// Maximum number of a queue, a family or a preferred Worker.
    pub const NUMBER: u64 = 1_000_000_000;
    /// Maximum time of arrival and run time in seconds: a hundred years.
    pub const SECONDS: u64 = 100 * 365 * 24 * 3600;
}
