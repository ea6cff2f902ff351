//! The score of an executor on a Worker: the capacity that it leaves there, and how much of this capacity no executor
//! can use.

use std::collections::BTreeMap;
use std::fmt;

use super::expression::{Expression, Number};
use super::learned::DemandModel;
use super::room::Room;
use crate::explain::shortfall::Amounts;
use crate::index::Slot;
use crate::resources::amount::WHOLE;
use crate::resources::resource_name::without_kind;
use crate::{Amount, Cores, Demand, ExecutorSize, MiB, Offer, Quantity};

/// Fractions of the cluster's total are integers: multiples of 1 / `PARTS`, rounded down.
const PARTS: u64 = 1 << 56;

/// The total amounts of all Workers of a cluster, free or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterTotal {
    cores: u64,
    memory: u64,
    /// The number of addresses by the name of the resource, all kinds together.
    resources: BTreeMap<String, u64>,
}

impl ClusterTotal {
    /// Adds the total amounts of a new Worker.
    pub fn add(&mut self, worker: &Offer<'_>) {
        self.cores = self.cores.saturating_add(positive(worker.cores.0));
        self.memory = self.memory.saturating_add(positive(worker.memory.0));
        for (name, addresses) in worker.resources.iter() {
            let count = self.resources.entry(without_kind(name).to_owned()).or_default();
            *count += addresses.count() as u64;
        }
        self.resources.retain(|_, count| *count > 0);
    }

    /// Subtracts the total amounts of a Worker that has left.
    pub fn remove(&mut self, worker: &Offer<'_>) {
        self.cores = self.cores.saturating_sub(positive(worker.cores.0));
        self.memory = self.memory.saturating_sub(positive(worker.memory.0));
        for (name, addresses) in worker.resources.iter() {
            if let Some(count) = self.resources.get_mut(without_kind(name)) {
                *count = count.saturating_sub(addresses.count() as u64);
            }
        }
        self.resources.retain(|_, count| *count > 0);
    }

    /// The cores of all Workers.
    pub(super) fn cores(&self) -> Cores {
        Cores(i64::try_from(self.cores).unwrap_or(i64::MAX))
    }

    /// The memory of all Workers.
    pub(super) fn memory(&self) -> MiB {
        MiB(i64::try_from(self.memory).unwrap_or(i64::MAX))
    }

    /// The addresses of a custom resource on all Workers, all kinds together.
    pub(super) fn addresses(&self, name: &str) -> Quantity {
        self.resources.get(name).map_or(Quantity::ZERO, |count| Quantity::whole(*count))
    }

    /// The total amounts of the cluster.
    #[must_use]
    pub fn amounts(&self) -> Amounts {
        let resources = self.resources.iter().map(|(name, count)| (name.clone(), Quantity::whole(*count)));
        Amounts { cores: self.cores(), memory: self.memory(), resources: resources.collect() }
    }
}

/// The quantity that a policy minimises.
#[derive(Clone, Copy, Debug)]
pub enum Measure<'a> {
    /// The dominant share of what is left over on the Worker. Ties are broken by the sum of all shares.
    LeftOver,
    /// The left-over addresses of custom resources that one more executor of the same kind could not use. Ties are
    /// broken by the left-over amounts, as with `LeftOver`.
    Unusable,
    /// How much the loss of the Worker grows, by this demand model. Ties are broken by the left-over amounts, as with
    /// `LeftOver`.
    Learned(&'a DemandModel),
    /// The value of this formula. Ties are broken by the left-over amounts, as with `LeftOver`.
    Expression(Formula<'a>),
}

/// An expression, and a function that returns the total amounts of Workers.
#[derive(Clone, Copy)]
pub struct Formula<'a> {
    /// The expression.
    pub expression: &'a Expression,
    /// Returns the total amounts of a Worker, free or not. It is called only if the expression has a field that needs
    /// them.
    pub whole: &'a dyn Fn(Slot) -> Option<Offer<'a>>,
}

/// Shows only the expression.
impl fmt::Debug for Formula<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(f)
    }
}

/// The kind of a measure, without its demand model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MeasureKind {
    LeftOver,
    Unusable,
    Learned,
    Expression(Expression),
}

impl Measure<'_> {
    pub(super) fn kind(self) -> MeasureKind {
        match self {
            Self::LeftOver => MeasureKind::LeftOver,
            Self::Unusable => MeasureKind::Unusable,
            Self::Learned(_) => MeasureKind::Learned,
            Self::Expression(formula) => MeasureKind::Expression(formula.expression.clone()),
        }
    }
}

/// The measure of one executor on one Worker. A lower score is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    /// The measure itself. The left-over amounts decide only between equal values.
    spoilt: Number,
    dominant: u64,
    sum: u64,
}

/// Computes the scores of a demand's executors.
#[derive(Debug)]
pub(super) struct Scorer<'a, 'm> {
    measure: Measure<'m>,
    demand: &'a Demand,
    total: &'a ClusterTotal,
    /// The weight of one core.
    cores: u64,
    /// The weight of one MiB.
    memory: u64,
    resources: Vec<WeightedResource<'a>>,
}

/// A custom resource, all kinds together: the amount that one executor takes, and the weight of an address.
#[derive(Debug)]
struct WeightedResource<'a> {
    name: &'a str,
    taken: Quantity,
    weight: u64,
}

impl<'a, 'm> Scorer<'a, 'm> {
    /// A scorer for the executors of this demand, on a cluster with these total amounts.
    pub(super) fn new(measure: Measure<'m>, demand: &'a Demand, total: &'a ClusterTotal) -> Self {
        let resource = |(name, count): (&'a String, &u64)| {
            let of_it = demand.resources.iter().filter(|(asked, _)| without_kind(asked) == name);
            let taken = of_it.map(|(_, amount)| amount.quantity()).sum();
            WeightedResource { name, taken, weight: weight(*count) }
        };
        let resources = total.resources.iter().map(resource).collect();
        let (cores, memory) = (weight(total.cores), weight(total.memory));
        Self { measure, demand, total, cores, memory, resources }
    }

    pub(super) fn demand(&self) -> &Demand {
        self.demand
    }

    pub(super) fn kind(&self) -> MeasureKind {
        self.measure.kind()
    }

    /// The score of the first executor on a Worker with this offer. `None` if the executor does not fit.
    pub(super) fn first_score(&self, slot: Slot, offer: &Offer<'_>) -> Option<Score> {
        offer.fits(self.demand).then(|| self.score((slot, offer), 0))
    }

    /// Whether a score depends only on the offer. An expression may also depend on the Worker's total amounts.
    pub(super) fn needs_only_offers(&self) -> bool {
        !matches!(self.measure, Measure::Expression(_))
    }

    /// The score of the next executor on this offer of a Worker, from which `before` other executors have already
    /// taken. The executor must fit.
    pub(super) fn score(&self, (slot, offer): (Slot, &Offer<'_>), before: u64) -> Score {
        let Demand { size, memory, .. } = self.demand;
        let executors = i64::try_from(before).unwrap_or(i64::MAX).saturating_add(1);
        let left = |free: i64, each: i64| free.saturating_sub(each.max(0).saturating_mul(executors));
        let cores_left = left(offer.cores.0, size.step().0);
        let memory_left = left(offer.memory.0, memory.0);
        let mut score = Score::default();
        score.add(positive(cores_left).saturating_mul(self.cores));
        score.add(positive(memory_left).saturating_mul(self.memory));
        let [mut asked, mut not_asked] = [0_u64; 2];
        for WeightedResource { name, taken: each, weight } in &self.resources {
            let left = offer.resources.quantity(name).less(each.times(executors as u64));
            let part = weighed(left, *weight);
            score.add(part);
            match each.thousandths() {
                0 => not_asked = not_asked.saturating_add(part),
                1.. => asked = asked.saturating_add(part),
            }
        }
        let has_addresses = |(name, each): (&String, &Amount)| {
            offer.resources.fit(name, *each).is_none_or(|fitting| fitting > executors as u64)
        };
        let one_more_fits = || match size {
            ExecutorSize::Fixed(each) => {
                cores_left >= each.0
                    && memory_left >= memory.0
                    && self.demand.resources.iter().all(has_addresses)
            }
            // The first executor takes all the cores.
            ExecutorSize::OnePerWorker => false,
        };
        score.spoilt = match self.measure {
            Measure::LeftOver => Number::default(),
            Measure::Unusable => {
                let unusable = if one_more_fits() { not_asked } else { not_asked.saturating_add(asked) };
                Number::whole(i64::try_from(unusable).unwrap_or(i64::MAX))
            }
            Measure::Learned(demand_model) => {
                let mut room = Room::of(offer);
                (0..before).for_each(|_| room.take(self.demand));
                Number::whole(demand_model.growth(&room, self.demand))
            }
            Measure::Expression(formula) => formula.value(self.demand, self.total, (slot, offer), before),
        };
        score
    }
}

impl Score {
    /// Adds the left-over fraction of one amount.
    fn add(&mut self, part: u64) {
        self.dominant = self.dominant.max(part);
        self.sum = self.sum.saturating_add(part);
    }
}

fn weight(total: u64) -> u64 {
    PARTS.checked_div(total).unwrap_or(0)
}

/// The weight of a quantity of addresses, if one address has this weight.
fn weighed(quantity: Quantity, weight: u64) -> u64 {
    let thousandths = quantity.thousandths();
    let whole = (thousandths / WHOLE).saturating_mul(weight);
    let part = u128::from(thousandths % WHOLE) * u128::from(weight) / u128::from(WHOLE);
    whole.saturating_add(u64::try_from(part).unwrap_or(u64::MAX))
}

fn positive(amount: i64) -> u64 {
    u64::try_from(amount).unwrap_or(0)
}
