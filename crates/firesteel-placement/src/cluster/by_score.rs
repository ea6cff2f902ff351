//! Rules of your own: a function computes a number for each Worker on which an executor fits.

use std::cmp::Ordering;

use super::rule::{PlacementRule, Sealed, Sight};
use crate::index::Share;
use crate::policy::{Candidate, Workers, fill_by};
use crate::{Cores, Demand, MiB, Offer, Quantity};

/// A Worker that may be chosen for the next executor of a demand.
#[derive(Clone, Copy, Debug)]
pub struct WorkerChoice<'a> {
    /// The demand.
    pub demand: &'a Demand,
    /// The host of the Worker.
    pub host: &'a str,
    /// The free amounts of the Worker before the placement. They suffice for this executor together with those that the
    /// placement has already put there.
    pub free: Offer<'a>,
    /// The total amounts of the Worker.
    pub total: Offer<'a>,
    /// The number of executors that run on the Worker, without the executors of this placement.
    pub running: u64,
    /// The number of executors that this placement has already put on the Worker.
    pub placed: u64,
}

impl WorkerChoice<'_> {
    /// The cores that the executor leaves free on the Worker.
    #[must_use]
    pub fn cores_left(&self) -> Cores {
        Cores(self.free.cores.0.saturating_sub(self.taken(self.demand.size.step().0)))
    }

    /// The memory that the executor leaves free on the Worker.
    #[must_use]
    pub fn memory_left(&self) -> MiB {
        MiB(self.free.memory.0.saturating_sub(self.taken(self.demand.memory.0)))
    }

    /// The quantity of a custom resource that the executor leaves free on the Worker.
    #[must_use]
    pub fn resource_left(&self, name: &str) -> Quantity {
        let each = self.demand.resources.get(name).map(|amount| amount.quantity()).unwrap_or_default();
        self.free.resources.quantity(name).less(each.times(self.placed.saturating_add(1)))
    }

    /// The amount that the executors of this placement take on the Worker, including the present one.
    fn taken(&self, each: i64) -> i64 {
        let executors = i64::try_from(self.placed).unwrap_or(i64::MAX).saturating_add(1);
        each.saturating_mul(executors)
    }
}

/// A rule of your own, made by [`by_score`].
#[derive(Clone, Copy, Debug)]
pub struct ByScore<F>(F);

/// A rule of your own: puts each executor on the Worker with the lowest score. Among equal scores, the lowest id comes
/// first. A score that is not a number (NaN) comes last.
///
/// The function is called for each Worker on which an executor fits, and again for a Worker after it got an executor.
/// So the score may depend on the Worker and on the demand, but not on executors that the same placement puts on other
/// Workers. An executor without a fixed size takes all free cores of its Worker that its application may have.
///
/// On a Worker that the executor fills, a ratio may be 0/0, which is NaN: return a number of your choice in this case.
/// The function sees only one Worker. For the amounts of the whole cluster, sum up
/// [`Cluster::total`](crate::Cluster::total) or [`Cluster::free`](crate::Cluster::free). If these amounts change, make
/// a new rule for each placement.
///
/// ```
/// use firesteel_placement::{Cluster, Cores, Demand, ExecutorSize, MiB, Worker, WorkerOrder, by_score};
///
/// let mut cluster = Cluster::new(WorkerOrder::CoresFreeDesc);
/// for (id, cores, memory) in [("w1", 16, 4096), ("w2", 8, 65_536)] {
///     cluster.add(Worker::new(id, Cores(cores), MiB(memory)));
/// }
/// // Where cores and memory are left in the ratio of 1 to 2 GiB.
/// let balanced = by_score(|worker| {
///     (worker.memory_left().0 as f64 / 2048.0 - worker.cores_left().0 as f64).abs()
/// });
/// let size = ExecutorSize::Fixed(Cores(8));
/// let demand = Demand { size, memory: MiB(1024), cores_left: Cores(8), ..Demand::default() };
/// let placement = cluster.place(&demand, &balanced);
/// assert_eq!(placement.executors().next().map(|executor| executor.worker), Some("w1"));
/// ```
pub fn by_score<F: Fn(&WorkerChoice<'_>) -> f64>(score: F) -> ByScore<F> {
    ByScore(score)
}

impl<F> Sealed for ByScore<F> {}

impl<F: Fn(&WorkerChoice<'_>) -> f64> PlacementRule for ByScore<F> {
    fn choose(&self, demand: &Demand, sight: &mut Sight<'_>) -> Vec<Share> {
        let view = &sight.view;
        let candidate = |slot| {
            let offer = view.offer(slot)?;
            Some(Candidate { slot, offer, host: "", rank: () })
        };
        let score = |slot, free: &Offer<'_>, placed| {
            let row = view.table.row(slot);
            let total = row.total();
            Value((self.0)(&WorkerChoice {
                demand,
                host: &row.host,
                free: *free,
                total,
                running: row.executors,
                placed,
            }))
        };
        fill_by(score, demand, view.index().slots().filter_map(candidate))
    }
}

/// A score with an order over all numbers, including NaN.
#[derive(Clone, Copy, Debug)]
struct Value(f64);

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        // Signs of zero and of NaN are ignored.
        let [one, two] =
            [self.0, other.0].map(|value| if value.is_nan() { f64::NAN.abs() } else { value + 0.0 });
        one.total_cmp(&two)
    }
}
