//! The worker order: the order in which a placement takes Workers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Offer;

/// The order in which a placement takes Workers. The order also decides ties, so placements are deterministic.
///
/// Source: Spark Master, 4.0.1 (`spark.deploy.workerSelectionPolicy`; its values are the names of the variants).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WorkerOrder {
    /// Most free cores first. Among equal Workers, the highest id comes first.
    #[default]
    CoresFreeDesc,
    /// Fewest free cores first. Among equal Workers, the lowest id comes first.
    CoresFreeAsc,
    /// Most free memory first. Among equal Workers, the highest id comes first.
    MemoryFreeDesc,
    /// Least free memory first. Among equal Workers, the lowest id comes first.
    MemoryFreeAsc,
    /// Lowest id first, whatever the free amounts.
    WorkerId,
}

impl WorkerOrder {
    /// All five worker orders.
    pub const ALL: [WorkerOrder; 5] = [
        WorkerOrder::CoresFreeDesc,
        WorkerOrder::CoresFreeAsc,
        WorkerOrder::MemoryFreeDesc,
        WorkerOrder::MemoryFreeAsc,
        WorkerOrder::WorkerId,
    ];

    /// Spark's name of the order.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CoresFreeDesc => "CORES_FREE_DESC",
            Self::CoresFreeAsc => "CORES_FREE_ASC",
            Self::MemoryFreeDesc => "MEMORY_FREE_DESC",
            Self::MemoryFreeAsc => "MEMORY_FREE_ASC",
            Self::WorkerId => "WORKER_ID",
        }
    }
}

/// The names of all worker orders as a literal, for use in `concat!`.
#[doc(hidden)]
#[macro_export]
macro_rules! worker_order_names {
    () => {
        "CORES_FREE_DESC, CORES_FREE_ASC, MEMORY_FREE_DESC, MEMORY_FREE_ASC or WORKER_ID"
    };
}

impl WorkerOrder {
    /// Compares two Workers: the Worker that is less comes first.
    pub(crate) fn compare(self, a: &Offer<'_>, b: &Offer<'_>) -> std::cmp::Ordering {
        match self {
            Self::CoresFreeDesc => (b.cores, b.worker).cmp(&(a.cores, a.worker)),
            Self::CoresFreeAsc => (a.cores, a.worker).cmp(&(b.cores, b.worker)),
            Self::MemoryFreeDesc => (b.memory, b.worker).cmp(&(a.memory, a.worker)),
            Self::MemoryFreeAsc => (a.memory, a.worker).cmp(&(b.memory, b.worker)),
            Self::WorkerId => a.worker.cmp(b.worker),
        }
    }
}

/// Sorts the offers by a worker order.
///
/// A descending order is the ascending order read backwards, including the ids of equal Workers: this is how Spark
/// breaks ties. Ids are compared as text, `"w10"` before `"w2"`.
///
/// Source: Spark Master, 4.0.1. One difference: Spark compares ids by UTF-16 units, Firesteel by code points. The
/// results differ only for characters beyond U+FFFF.
pub fn order(offers: &mut [Offer<'_>], by: WorkerOrder) {
    if !offers.is_sorted_by_key(|offer| offer.worker) {
        offers.sort_unstable_by_key(|offer| offer.worker);
    }
    // The sorts below are stable: offers with equal amounts stay in the order of their ids.
    match by {
        WorkerOrder::CoresFreeAsc => offers.sort_by_key(|offer| offer.cores),
        WorkerOrder::MemoryFreeAsc => offers.sort_by_key(|offer| offer.memory),
        WorkerOrder::CoresFreeDesc => {
            offers.sort_by_key(|offer| offer.cores);
            offers.reverse();
        }
        WorkerOrder::MemoryFreeDesc => {
            offers.sort_by_key(|offer| offer.memory);
            offers.reverse();
        }
        WorkerOrder::WorkerId => {}
    }
}

/// The first `count` offers in order, or all if there are fewer. If `count` is small, this costs little more than one
/// look at each offer.
pub(crate) fn first<'a>(
    count: usize,
    offers: impl Iterator<Item = Offer<'a>>,
    by: WorkerOrder,
) -> Vec<Offer<'a>> {
    const ENOUGH_TO_SELECT_FROM: usize = 64;
    let buffer = count.saturating_mul(2).max(ENOUGH_TO_SELECT_FROM);
    let mut kept: Vec<Offer<'a>> = Vec::new();
    let mut last: Option<Offer<'a>> = None;
    for offer in offers {
        // If `count` others come before an offer, it is not among the first.
        if last.is_some_and(|last| by.compare(&last, &offer).is_lt()) {
            continue;
        }
        kept.push(offer);
        if kept.len() >= buffer {
            keep_first(count, &mut kept, by);
            last = kept.last().copied();
        }
    }
    keep_first(count, &mut kept, by);
    order(&mut kept, by);
    kept
}

/// Drops all but the first `count` offers. The last of the first `count` offers becomes the last element.
fn keep_first(count: usize, offers: &mut Vec<Offer<'_>>, by: WorkerOrder) {
    if (1..offers.len()).contains(&count) {
        offers.select_nth_unstable_by(count - 1, |a, b| by.compare(a, b));
    }
    offers.truncate(count);
}

impl fmt::Display for WorkerOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Parses Spark's name, in upper or lower case.
impl FromStr for WorkerOrder {
    type Err = UnknownWorkerOrder;

    fn from_str(name: &str) -> Result<Self, UnknownWorkerOrder> {
        Self::ALL
            .into_iter()
            .find(|order| order.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownWorkerOrder { name: name.to_owned() })
    }
}

/// The error for a name that no worker order has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no worker order is called {name:?}: use {names}", names = crate::worker_order_names!())]
pub struct UnknownWorkerOrder {
    /// The name that was not found.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cores, MiB, Resources};

    #[test]
    fn each_order_breaks_ties_by_id_in_its_own_direction() {
        let offer = |worker, cores, memory| Offer {
            worker,
            cores: Cores(cores),
            memory: MiB(memory),
            resources: Resources::NONE,
        };
        let offers = [offer("w10", 8, 100), offer("w2", 8, 300), offer("w1", 4, 100), offer("w3", 4, 300)];
        for (by, expected) in [
            (WorkerOrder::CoresFreeDesc, ["w2", "w10", "w3", "w1"]),
            (WorkerOrder::CoresFreeAsc, ["w1", "w3", "w10", "w2"]),
            (WorkerOrder::MemoryFreeDesc, ["w3", "w2", "w10", "w1"]),
            (WorkerOrder::MemoryFreeAsc, ["w1", "w10", "w2", "w3"]),
            (WorkerOrder::WorkerId, ["w1", "w10", "w2", "w3"]),
        ] {
            let mut ordered = offers;
            order(&mut ordered, by);
            assert_eq!(ordered.map(|offer| offer.worker), expected, "{by}");
        }
    }

    #[test]
    fn names_are_read_in_any_case_and_written_as_spark_has_them() {
        for order in WorkerOrder::ALL {
            assert_eq!(order.to_string().parse(), Ok(order));
            assert_eq!(order.to_string().to_lowercase().parse(), Ok(order));
        }
        assert_eq!(
            crate::words::choice(&WorkerOrder::ALL.map(WorkerOrder::name)),
            crate::worker_order_names!()
        );
        let refused = "CORES".parse::<WorkerOrder>().expect_err("no such order");
        assert_eq!(refused, UnknownWorkerOrder { name: "CORES".to_owned() });
    }
}
