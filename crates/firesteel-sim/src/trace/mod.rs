//! Traces: which Workers a cluster has, and which applications come to it, when, how large and for how long.
//!
//! Our own form is two tables of comma-separated values, `workers.csv` and `applications.csv`
//! (`fixtures/traces/README.md` describes them; [`Trace::read`], [`Trace::write_workers`],
//! [`Trace::write_applications`]). [`openb`] reads the GPU trace that Alibaba published in 2023.
//! [`synthetic`] makes one from a seed whose [`quantiles`] are those of that trace.
//!
//! Nothing in here opens a file: input is any [`std::io::Read`], output any [`std::io::Write`].

mod applications;
pub mod openb;
pub mod quantiles;
pub mod synthetic;
mod table;
mod workers;

use std::io::Read;
use std::time::Duration;

use firesteel_placement::{Cores, MiB};

pub use table::{Table, TraceError, Wrong};

/// A cluster and what comes to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The Workers, kind by kind.
    pub workers: Vec<WorkerKind>,
    /// The applications in the order in which they come.
    pub applications: Vec<TraceApplication>,
}

/// Workers that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerKind {
    /// How many.
    pub count: u64,
    /// Cores of each.
    pub cores: Cores,
    /// Memory of each.
    pub memory: MiB,
    /// GPUs of each.
    pub gpus: u64,
    /// What people call the kind; may be empty.
    pub model: String,
}

/// An application: executors that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceApplication {
    /// When it comes, counted from the beginning of the trace.
    pub arrival: Duration,
    /// How many executors it wants.
    pub executors: u64,
    /// What each of them needs.
    pub request: Request,
    /// How long it runs once it can.
    pub lifetime: Duration,
    /// How many executors it needs before it can run: 1 for one that begins with any.
    pub gang: u64,
}

/// What an executor needs, as the trace has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// Thousandths of cores, at least 1.
    pub milli_cores: u64,
    /// Memory.
    pub memory: MiB,
    /// Whole GPUs.
    pub gpus: u64,
}

impl Request {
    /// Whole cores: a Worker gives no less.
    #[must_use]
    pub fn cores(&self) -> Cores {
        Cores(i64::try_from(self.milli_cores.div_ceil(1000)).expect("a thousandth of any number fits"))
    }
}

impl Trace {
    /// Reads a trace in our own form.
    ///
    /// # Errors
    /// The first line that cannot be used, with its table.
    pub fn read(workers: impl Read, applications: impl Read) -> Result<Self, TraceError> {
        let workers = workers::read(workers)?;
        let mut applications = applications::read(applications)?;
        applications.sort_by_key(|application| application.arrival);
        Ok(Self { workers, applications })
    }

    /// How many Workers there are.
    #[must_use]
    pub fn workers_in_all(&self) -> u64 {
        self.workers.iter().map(|kind| kind.count).sum()
    }
}

/// What a trace may have at most, so that no sum over it can wrap and no typing error takes all memory.
pub mod most {
    /// Workers in all.
    pub const WORKERS: u64 = 1_000_000;
    /// GPUs of a Worker.
    pub const GPUS: u64 = 1_024;
    /// Cores of a Worker, and of an executor.
    pub const CORES: u64 = 65_536;
    /// MiB of a Worker, and of an executor.
    pub const MIB: u64 = i32::MAX as u64;
    /// Executors of an application.
    pub const EXECUTORS: u64 = 100_000;
    /// Seconds until an application comes, and for which it runs: a hundred years.
    pub const SECONDS: u64 = 100 * 365 * 24 * 3600;
}
