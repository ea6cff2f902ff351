//! What an application asks for.

use serde::{Deserialize, Serialize};

use crate::{Cores, MiB, ResourceAmounts};

/// What one application asks for under one resource profile, at the moment of placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// How many cores an executor has.
    pub size: ExecutorSize,
    /// Memory of each executor.
    pub memory: MiB,
    /// Addresses of each resource for each executor.
    pub resources: ResourceAmounts,
    /// Cores that the application may still get, over all its profiles: its maximum less what it holds. Zero
    /// or less when it holds all that it may.
    pub cores_left: Cores,
    /// How many executors of this profile the application may hold.
    pub limit: ExecutorLimit,
    /// How many executors of this profile the application holds, launching ones too.
    pub held: u64,
}

/// How many cores an executor has.
///
/// Source: Spark Master, 4.0.1 (`spark.executor.cores` set or not).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutorSize {
    /// This many cores each; a worker may run several. Zero or less asks for nothing and gets nothing.
    Fixed(Cores),
    /// One executor on a worker in each placement, with all the cores that the worker is given. A later
    /// placement may put a second one beside it.
    #[default]
    OnePerWorker,
}

/// How many executors of one profile an application may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutorLimit {
    /// As many as its cores allow.
    #[default]
    Unlimited,
    /// No more than this many. Holding more already takes none away.
    AtMost(u64),
}

impl Demand {
    /// How many more executors the limit allows: `u64::MAX` when there is none.
    pub fn executors_allowed(&self) -> u64 {
        match self.limit {
            ExecutorLimit::Unlimited => u64::MAX,
            ExecutorLimit::AtMost(limit) => limit.saturating_sub(self.held),
        }
    }

    /// Whether the demand by itself, whatever the workers have, allows one more executor: the size makes
    /// sense, the cores left suffice for it, the limit is not reached.
    pub fn allows_one_more(&self) -> bool {
        self.most_workers() > 0
    }

    /// How many executors one placement may launch at most, whatever the workers have.
    pub fn most_executors(&self) -> u64 {
        self.most_workers()
    }

    /// How many units one placement may give in all, a unit being one executor of fixed size or one core.
    pub(crate) fn most_units(&self) -> u64 {
        match self.size {
            ExecutorSize::Fixed(_) => self.most_workers(),
            ExecutorSize::OnePerWorker => self.cores_left.0.max(0) as u64,
        }
    }

    /// How many units fit into these free amounts, if one executor fits. `count` is the number of free addresses of a
    /// resource.
    pub(crate) fn units_in(&self, cores: Cores, memory: MiB, count: impl Fn(&str) -> u64) -> u64 {
        let each = match self.size {
            ExecutorSize::Fixed(each) => each,
            ExecutorSize::OnePerWorker => return cores.0 as u64,
        };
        let by_cores = (cores.0 / each.0) as u64;
        let by_memory = match self.memory.0 {
            ..=0 => u64::MAX,
            each => (memory.0 / each) as u64,
        };
        let by_resource = |(name, &each): (&String, &u64)| count(name).checked_div(each);
        let by_resources = self.resources.iter().filter_map(by_resource).min().unwrap_or(u64::MAX);
        by_cores.min(by_memory).min(by_resources)
    }

    /// On how many workers, at most, one placement launches something: as many as it may launch executors.
    pub fn most_workers(&self) -> u64 {
        let Cores(step @ 1..) = self.size.step() else { return 0 };
        let affordable = (self.cores_left.0 / step).max(0) as u64;
        affordable.min(self.executors_allowed())
    }
}

/// One executor for each worker, of all the worker's cores, without memory, resources, maximum or limit.
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
    /// The fewest cores that an executor starts with, and how many are given at a time: those of a fixed
    /// size, else 1.
    pub fn step(self) -> Cores {
        match self {
            Self::Fixed(cores) => cores,
            Self::OnePerWorker => Cores(1),
        }
    }
}
