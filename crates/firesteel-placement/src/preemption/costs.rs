//! The costs of freeing capacity, by Worker.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::PreemptibleWorker;
use super::choice::Choice;
use crate::Demand;

/// The cost of one more executor on a Worker: the victims that must end for it. The lowest cost comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// The number of victims that end.
    pub victims: usize,
    /// The highest priority of the victims. `None` if none ends.
    pub highest: Option<i32>,
    /// When the oldest of the victims was launched. The latest time costs the least, because the least work is
    /// repeated. `None` if none ends.
    pub oldest: Option<Reverse<u64>>,
}

/// The Workers of a cluster, by the cost of one more executor of a demand.
#[derive(Debug, Default)]
pub struct Costs {
    /// The cost by the Worker's number. `None`: the executor does not fit even if all victims end.
    by_worker: Vec<Option<Cost>>,
    /// The Workers where the executor can fit, the lowest cost first. Among equal costs, the first Worker.
    cheapest: BTreeSet<(Cost, usize)>,
}

/// The numbers of the victims on each Worker, by the Worker's number. Workers without victims are left out.
pub type Chosen = Vec<(usize, Vec<usize>)>;

impl Costs {
    /// The costs of each Worker, by number.
    pub fn new(by_worker: impl Iterator<Item = Option<Cost>>) -> Self {
        let by_worker: Vec<Option<Cost>> = by_worker.collect();
        let with_room = by_worker.iter().enumerate().filter_map(|(number, cost)| Some(((*cost)?, number)));
        let cheapest = with_room.collect();
        Self { by_worker, cheapest }
    }

    /// Replaces the cost of a Worker that has changed.
    pub fn set(&mut self, number: usize, cost: Option<Cost>) {
        let old = std::mem::replace(&mut self.by_worker[number], cost);
        if old == cost {
            return;
        }
        if let Some(old) = old {
            self.cheapest.remove(&(old, number));
        }
        if let Some(cost) = cost {
            self.cheapest.insert((cost, number));
        }
    }

    /// Chooses the executors that must end so that `executors` of the demand fit, in the same way as
    /// [`victims`](super::victims). `worker` looks up a Worker by its number. The costs do not change: the owner
    /// reports when the executors have ended.
    pub fn choose<W: Borrow<PreemptibleWorker>>(
        &mut self,
        demand: &Demand,
        executors: u64,
        most: usize,
        worker: impl Fn(usize) -> W,
    ) -> Option<Chosen> {
        let mut choices: BTreeMap<usize, Choice<W>> = BTreeMap::new();
        let enough = self.fill(demand, executors, most, worker, &mut choices);
        for (number, choice) in &choices {
            self.set(*number, choice.first);
        }
        enough?;
        spare(demand, executors, &mut choices);
        let ended = choices.into_iter().map(|(number, choice)| (number, choice.ended));
        Some(ended.filter(|(_, ended)| !ended.is_empty()).collect())
    }

    /// Places the executors one after the other, each where it costs least. `None` if that takes more than `most`
    /// victims, or if an executor does not fit anywhere.
    fn fill<W: Borrow<PreemptibleWorker>>(
        &mut self,
        demand: &Demand,
        executors: u64,
        most: usize,
        worker: impl Fn(usize) -> W,
        choices: &mut BTreeMap<usize, Choice<W>>,
    ) -> Option<()> {
        let mut left = most;
        for _ in 0..executors {
            let (cost, number) = *self.cheapest.first()?;
            left = left.checked_sub(cost.victims)?;
            let choice = choices.entry(number).or_insert_with(|| Choice::new(worker(number), Some(cost)));
            let more = choice.one_more(demand).expect("the cost is that of these victims");
            choice.place(more);
            if executors > 1 {
                let cost = choice.cost(demand);
                self.set(number, cost);
            }
        }
        Some(())
    }
}

/// Spares the victims that need not end for this number of executors, wherever the executors then fit. If a victim
/// ends, executors fit only on the Workers in `choices`.
fn spare<W: Borrow<PreemptibleWorker>>(
    demand: &Demand,
    executors: u64,
    choices: &mut BTreeMap<usize, Choice<W>>,
) {
    let mut fitting: u128 =
        choices.values().map(|choice| u128::from(choice.executors_that_fit(demand, &[]))).sum();
    for choice in choices.values_mut().rev() {
        for at in (0..choice.ended.len()).rev() {
            let before = choice.executors_that_fit(demand, &[]);
            let one = choice.ended.remove(at);
            let without = choice.executors_that_fit(demand, &[]);
            let others = fitting - u128::from(before);
            if others + u128::from(without) < u128::from(executors) {
                choice.ended.insert(at, one);
            } else {
                fitting = others + u128::from(without);
            }
        }
    }
}
