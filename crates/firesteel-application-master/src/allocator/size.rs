//! The size of a container for an executor.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use firesteel_placement::{Cores, MiB};

/// The needs of one profile's executors. Fields that are `None` are inherited from the default profile, with two
/// exceptions: the overhead follows from the profile's own heap, and resources are never inherited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutorNeeds {
    pub cores: Option<Cores>,
    /// The executor's own memory (Spark: heap).
    pub memory: Option<MiB>,
    /// The container's memory beyond all other amounts. `None`: a fraction of the executor's own memory.
    pub overhead: Option<MiB>,
    /// The memory outside of the heap.
    pub off_heap: Option<MiB>,
    /// The memory of Python processes.
    pub python: Option<MiB>,
    /// The custom resources, by Spark's names.
    pub resources: BTreeMap<String, u64>,
}

/// How the sizes of containers are computed from needs.
///
/// Source: Spark on YARN, 4.0.1.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizing {
    /// The cores of an executor if the driver sets none.
    pub cores: Cores,
    /// The memory of an executor if the driver sets none.
    pub memory: MiB,
    /// What executors of the default profile need.
    pub default: ExecutorNeeds,
    /// The overhead as a fraction of the executor's own memory. Spark's default is 0.1.
    pub overhead_factor: f64,
    /// The minimum overhead. Spark's default is 384 MiB.
    pub least_overhead: MiB,
    /// The manager's names of resources, if they differ from Spark's: `gpu` is `yarn.io/gpu`.
    pub names: BTreeMap<String, String>,
    /// Further resources of the default profile, by the manager's names.
    pub extra: BTreeMap<String, Amount>,
}

impl Default for Sizing {
    fn default() -> Self {
        let name = |name: &str| (name.to_owned(), format!("yarn.io/{name}"));
        Self {
            cores: Cores(1),
            memory: MiB(1024),
            default: ExecutorNeeds::default(),
            overhead_factor: 0.1,
            least_overhead: MiB(384),
            names: BTreeMap::from([name("gpu"), name("fpga")]),
            extra: BTreeMap::new(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerSize {
    /// The virtual cores of the container: the executor's cores.
    pub cores: Cores,
    pub memory: MiB,
    pub own_memory: MiB,
    /// The other resources, by the manager's names.
    pub resources: BTreeMap<String, Amount>,
}

impl Sizing {
    /// The container for an executor of the default profile.
    #[must_use]
    pub fn default_container(&self) -> ContainerSize {
        let mut size = self.memory_and_cores(&self.default);
        // As in Spark, custom resources are requested only if the manager has a name for them.
        let named =
            |(spark, amount): (&String, &u64)| Some((self.names.get(spark)?.clone(), Amount::plain(*amount)));
        size.resources.extend(self.extra.clone());
        size.resources.extend(self.default.resources.iter().filter_map(named));
        size
    }

    /// The container for an executor of another profile.
    #[must_use]
    pub fn container(&self, needs: &ExecutorNeeds) -> ContainerSize {
        let mut size = self.memory_and_cores(needs);
        let renamed = |(spark, amount): (&String, &u64)| {
            (self.names.get(spark).unwrap_or(spark).clone(), Amount::plain(*amount))
        };
        size.resources.extend(needs.resources.iter().map(renamed));
        size
    }

    fn memory_and_cores(&self, needs: &ExecutorNeeds) -> ContainerSize {
        let own_memory = needs.memory.or(self.default.memory).unwrap_or(self.memory);
        let overhead = needs.overhead.unwrap_or_else(|| self.overhead(own_memory));
        let other = |own: Option<MiB>, default: Option<MiB>| own.or(default).unwrap_or_default().0;
        let memory = own_memory
            .0
            .saturating_add(overhead.0)
            .saturating_add(other(needs.off_heap, self.default.off_heap))
            .saturating_add(other(needs.python, self.default.python));
        ContainerSize {
            cores: needs.cores.or(self.default.cores).unwrap_or(self.cores),
            memory: MiB(memory),
            own_memory,
            resources: BTreeMap::new(),
        }
    }

    fn overhead(&self, own_memory: MiB) -> MiB {
        // The product is truncated to whole MiB, as in Spark. If it is out of range, it saturates.
        MiB((own_memory.0 as f64 * self.overhead_factor) as i64).max(self.least_overhead)
    }
}

/// An amount of a resource: a number, with the manager's unit if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount {
    /// The number without its unit.
    pub value: u64,
    /// The letters after the number. Letters for powers of ten are in upper case. Empty: no unit.
    pub unit: String,
}

impl Amount {
    fn plain(value: u64) -> Self {
        Self { value, unit: String::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an amount of a resource: write a number, optionally with a unit, such as 2 or 2G")]
pub struct BadAmount(pub String);

/// Parses digits and optional letters. The letters `g`, `t` and `p` become upper case.
///
/// Source: Spark on YARN, 4.0.1.
impl FromStr for Amount {
    type Err = BadAmount;

    fn from_str(text: &str) -> Result<Self, BadAmount> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (value, unit) = text.split_at(digits);
        let bad = || BadAmount(text.to_owned());
        let unit = match unit {
            "g" | "t" | "p" => unit.to_ascii_uppercase(),
            _ if unit.chars().all(|c| c.is_ascii_alphabetic()) => unit.to_owned(),
            _ => return Err(bad()),
        };
        Ok(Self { value: value.parse().map_err(|_| bad())?, unit })
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.value, self.unit)
    }
}
