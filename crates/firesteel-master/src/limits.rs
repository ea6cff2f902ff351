//! Limits on the amounts that Workers and applications may register with.

use firesteel_placement::{Cores, MiB};
use firesteel_protocol::messages::{
    Bounded, DriverReport, ExecutorReport, MOST_CORES, RefusedRegistration, WorkerDescription,
};

/// The maximum memory of a Worker. With it, sums over a cluster cannot overflow.
pub(crate) const MOST_MEMORY: MiB = MiB(i32::MAX as i64);

/// Limits on the amounts that Workers and applications may register with. The Master refuses anyone who exceeds them: a
/// Worker that reports too many cores would get executors by the ten thousand. The default is the maximum that the
/// Master can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `firesteel.master.maxWorkers`: the maximum number of living Workers.
    pub workers: u64,
    /// `firesteel.master.maxApplications`: the maximum number of live applications.
    pub applications: u64,
    /// `firesteel.master.maxWorkerCores`: the maximum number of cores of one Worker.
    pub cores: Cores,
    /// `firesteel.master.maxWorkerMemory`: the maximum memory of one Worker.
    pub memory: MiB,
    /// `firesteel.master.maxWorkerAddresses`: the maximum number of addresses of custom resources of one Worker, all
    /// names together.
    pub addresses: u64,
    /// `firesteel.master.maxWorkerExecutors`: the maximum number of executors that a Worker may list when it registers.
    pub executors: u64,
    /// `firesteel.master.maxTextLength`: the maximum length of one text, in bytes: a name, a host, a directory, an
    /// address.
    pub text: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            workers: u64::from(u32::MAX),
            applications: u64::MAX,
            cores: MOST_CORES,
            memory: MOST_MEMORY,
            addresses: u64::MAX,
            executors: u64::MAX,
            text: 4096,
        }
    }
}

impl Limits {
    pub(crate) fn check_worker(
        &self,
        worker: &WorkerDescription,
        executors: &[ExecutorReport],
    ) -> Result<(), RefusedRegistration> {
        let WorkerDescription { cores, memory, resources, .. } = worker;
        let addresses: usize = resources.iter().map(|(_, addresses)| addresses.count()).sum();
        check(Bounded::Cores, unsigned(cores.0), unsigned(self.cores.0))?;
        check(Bounded::Memory, unsigned(memory.0), unsigned(self.memory.0))?;
        check(Bounded::Addresses, addresses as u64, self.addresses)?;
        self.check_executors(executors)?;
        check(Bounded::Text, worker.longest_text() as u64, self.text)
    }

    pub(crate) fn check_executors(&self, executors: &[ExecutorReport]) -> Result<(), RefusedRegistration> {
        check(Bounded::Executors, executors.len() as u64, self.executors)
    }

    /// Checks the cluster drivers that a Worker lists. A running driver takes at least one core. Some entries may be
    /// ends that are not confirmed yet.
    pub(crate) fn check_drivers(&self, drivers: &[DriverReport]) -> Result<(), RefusedRegistration> {
        check(Bounded::Executors, drivers.len() as u64, self.executors)
    }

    /// Checks that one more Worker is allowed, if there are already this many.
    pub(crate) fn check_workers(&self, workers: usize) -> Result<(), RefusedRegistration> {
        check(Bounded::Workers, workers as u64 + 1, self.workers)
    }
}

fn check(what: Bounded, found: u64, most: u64) -> Result<(), RefusedRegistration> {
    if found > most { Err(RefusedRegistration::Exceeds { what, found, most }) } else { Ok(()) }
}

fn unsigned(amount: i64) -> u64 {
    u64::try_from(amount).unwrap_or(0)
}
