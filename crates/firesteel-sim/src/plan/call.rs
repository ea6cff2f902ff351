//! A placement call: one application, Workers in a given order.

use std::collections::BTreeMap;

use firesteel_placement::advanced::offers::assign;
use firesteel_placement::advanced::resources::WHOLE;
use firesteel_placement::{
    Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Part, Quantity, ResourceAmounts, Resources,
    Strategy,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::pass::{HeldExecutors, cores_left};

/// A question about one application and Workers in a given order: how many cores does each Worker give?
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "CallLine")]
pub struct PlacementCall {
    pub i: u64,
    /// What the case tests, as text for a human reader.
    pub kind: Option<String>,
    pub strategy: Strategy,
    /// The application's request.
    pub demand: Demand,
    /// The Workers, in the order in which they are considered.
    pub workers: Vec<CallWorker>,
    /// The recorded answer: the cores that each Worker gives.
    pub recorded: Option<Vec<Cores>>,
}

/// A Worker of a call, without a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallWorker {
    pub cores_free: Cores,
    pub memory_free: MiB,
    /// The free addresses, numbered from 0. Of the last address, only a part may be free.
    pub resources_free: Resources,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallAnswer {
    pub i: u64,
    /// Cores that each Worker gives, in the order of the Workers.
    pub assigned_cores: Vec<Cores>,
}

impl PlacementCall {
    /// The Workers as offers, in the order of the call.
    pub fn offers(&self) -> Vec<Offer<'_>> {
        self.workers.iter().map(CallWorker::offer).collect()
    }

    /// Places the executors.
    pub fn answer(&self) -> CallAnswer {
        let assignment = assign(&self.demand, &self.offers(), self.strategy);
        CallAnswer { i: self.i, assigned_cores: assignment.cores().to_vec() }
    }
}

impl CallWorker {
    fn offer(&self) -> Offer<'_> {
        Offer {
            worker: "",
            cores: self.cores_free,
            memory: self.memory_free,
            resources: &self.resources_free,
        }
    }
}

/// The JSON form of a call.
#[derive(Deserialize)]
struct CallLine {
    i: u64,
    kind: Option<String>,
    spread_out: bool,
    app: AppLine,
    workers: Vec<WorkerLine>,
    assigned_cores: Option<Vec<Cores>>,
}

#[derive(Deserialize)]
struct AppLine {
    #[serde(deserialize_with = "Option::deserialize")]
    cores_max: Option<Cores>,
    default_cores: Option<Cores>,
    #[serde(deserialize_with = "Option::deserialize")]
    cores_per_executor: Option<Cores>,
    memory_per_executor_mb: MiB,
    #[serde(deserialize_with = "Option::deserialize")]
    executor_limit: Option<u64>,
    #[serde(default)]
    resources_per_executor: ResourceAmounts,
    #[serde(default)]
    rp_id: u32,
    #[serde(default)]
    existing_executors: Vec<HeldExecutors>,
}

#[derive(Deserialize)]
struct WorkerLine {
    cores_free: Cores,
    memory_free_mb: MiB,
    #[serde(default)]
    resources_free: BTreeMap<String, FreeQuantity>,
}

/// The free addresses of one resource of a Worker, at most [`MOST_ADDRESSES`].
#[derive(Clone, Copy, Debug)]
struct FreeQuantity(Quantity);

impl<'de> Deserialize<'de> for FreeQuantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let free = Quantity::deserialize(deserializer)?;
        match free.thousandths() / WHOLE {
            0..=MOST_ADDRESSES => Ok(Self(free)),
            more => Err(D::Error::custom(format_args!(
                "a Worker has at most {MOST_ADDRESSES} addresses, not {more}"
            ))),
        }
    }
}

impl From<CallLine> for PlacementCall {
    fn from(line: CallLine) -> Self {
        let app = line.app;
        let of_profile = app.existing_executors.iter().filter(|held| held.rp_id == app.rp_id);
        let demand = Demand {
            size: app.cores_per_executor.map_or(ExecutorSize::OnePerWorker, ExecutorSize::Fixed),
            memory: app.memory_per_executor_mb,
            resources: app.resources_per_executor,
            cores_left: cores_left(app.cores_max, app.default_cores, &app.existing_executors),
            limit: app.executor_limit.map_or(ExecutorLimit::Unlimited, ExecutorLimit::AtMost),
            held: of_profile.map(|held| u64::from(held.count)).sum(),
        };
        Self {
            i: line.i,
            kind: line.kind,
            strategy: if line.spread_out { Strategy::SpreadOut } else { Strategy::Consolidate },
            demand,
            workers: line.workers.into_iter().map(CallWorker::from).collect(),
            recorded: line.assigned_cores,
        }
    }
}

impl From<WorkerLine> for CallWorker {
    fn from(line: WorkerLine) -> Self {
        let resources =
            line.resources_free.into_iter().map(|(name, FreeQuantity(free))| (name, addresses(free)));
        Self {
            cores_free: line.cores_free,
            memory_free: line.memory_free_mb,
            resources_free: Resources::of_words(resources).expect("each address has its own number"),
        }
    }
}

/// The maximum number of addresses of one resource of a Worker.
const MOST_ADDRESSES: u64 = u16::MAX as u64;

/// The whole addresses, numbered from 0. If the quantity is not whole, a partly free address follows.
fn addresses(free: Quantity) -> impl Iterator<Item = String> {
    let (whole, part) = (free.thousandths() / WHOLE, Part::of(free.thousandths() % WHOLE));
    let last = part.map(|part| format!("{whole}@{part}"));
    (0..whole).map(|address| address.to_string()).chain(last)
}
