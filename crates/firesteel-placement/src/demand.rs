//! A demand: what an application asks for.

use serde::{Deserialize, Serialize};

use crate::{Amount, Cores, MiB, ResourceAmounts};

/// The executors that one application asks for under one resource profile, at the moment of placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// The number of cores of each executor.
    pub size: ExecutorSize,
    /// The memory of each executor.
    pub memory: MiB,
    /// How much of each resource one executor needs.
    pub resources: ResourceAmounts,
    /// The cores that the application may still get over all its profiles: its maximum minus the cores that it holds.
    /// Zero or less if the maximum is reached.
    pub cores_left: Cores,
    /// The maximum number of executors of this profile that the application may hold.
    pub limit: ExecutorLimit,
    /// The number of executors of this profile that the application holds, including those that are being launched.
    pub held: u64,
}

/// The number of cores of an executor.
///
/// Source: Spark Master, 4.0.1 (`spark.executor.cores` set or not).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutorSize {
    /// This number of cores per executor. A Worker may run several such executors. If the number is zero or less,
    /// nothing is placed.
    Fixed(Cores),
    /// At most one executor per Worker in each placement, with as many cores as the placement gives the Worker. A later
    /// placement may add a second executor on the same Worker.
    #[default]
    OnePerWorker,
}

/// The maximum number of executors of one profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutorLimit {
    /// As many executors as the application's cores allow.
    #[default]
    Unlimited,
    /// At most this number of executors. Executors that the application holds beyond the limit keep running.
    AtMost(u64),
}

impl Demand {
    /// The number of further executors that the limit allows: `u64::MAX` without a limit.
    pub fn executors_allowed(&self) -> u64 {
        match self.limit {
            ExecutorLimit::Unlimited => u64::MAX,
            ExecutorLimit::AtMost(limit) => limit.saturating_sub(self.held),
        }
    }

    /// Whether the demand's own limits allow one more executor: its size is valid, enough cores are left, and the
    /// executor limit is not reached. The Workers do not matter.
    pub fn allows_one_more(&self) -> bool {
        self.most_workers() > 0
    }

    /// The maximum number of executors that one placement may launch by the demand's own limits.
    pub fn most_executors(&self) -> u64 {
        self.most_workers()
    }

    /// The maximum number of units that one placement may give. A unit is one executor of fixed size, or one core.
    pub(crate) fn most_units(&self) -> u64 {
        match self.size {
            ExecutorSize::Fixed(_) => self.most_workers(),
            ExecutorSize::OnePerWorker => self.cores_left.0.max(0) as u64,
        }
    }

    /// How many units fit into these free amounts, if one executor fits. `fit` returns for how many executors an amount
    /// of a resource suffices, and `None` for an amount of 0.
    pub(crate) fn units_in(
        &self,
        cores: Cores,
        memory: MiB,
        fit: impl Fn(&str, Amount) -> Option<u64>,
    ) -> u64 {
        let each = match self.size {
            ExecutorSize::Fixed(each) => each,
            ExecutorSize::OnePerWorker => return cores.0 as u64,
        };
        let by_cores = (cores.0 / each.0) as u64;
        let by_memory = match self.memory.0 {
            ..=0 => u64::MAX,
            each => (memory.0 / each) as u64,
        };
        let by_resources = self.resources.iter().filter_map(|(name, each)| fit(name, *each));
        let by_resources = by_resources.min().unwrap_or(u64::MAX);
        by_cores.min(by_memory).min(by_resources)
    }

    /// The maximum number of Workers on which one placement launches executors, by the demand's own limits.
    pub fn most_workers(&self) -> u64 {
        let Cores(step @ 1..) = self.size.step() else { return 0 };
        let affordable = (self.cores_left.0 / step).max(0) as u64;
        affordable.min(self.executors_allowed())
    }
}

/// One executor per Worker with all cores of the Worker, without memory, resources, maximum or limit.
impl Default for Demand {
    fn default() -> Self {
        Self {
            size: ExecutorSize::OnePerWorker,
            memory: MiB::ZERO,
            resources: ResourceAmounts::new(),
            cores_left: Cores::UNLIMITED,
            limit: ExecutorLimit::Unlimited,
            held: 0,
        }
    }
}

impl ExecutorSize {
    /// The number of cores that is assigned at a time: those of a fixed size, else 1. An executor has at least this
    /// number.
    pub fn step(self) -> Cores {
        match self {
            Self::Fixed(cores) => cores,
            Self::OnePerWorker => Cores(1),
        }
    }
}
