//! Victims of preemption by a slow reference, which keeps no state between executors.

use std::borrow::Cow;

use firesteel_placement::advanced::preemption::PreemptibleWorker;
use firesteel_placement::{Demand, Offer};

/// A partial choice of victims on one Worker.
#[derive(Debug)]
struct Choice<'a> {
    worker: &'a PreemptibleWorker,
    /// The indexes of the chosen victims, in order.
    ended: Vec<usize>,
    placed: u64,
}

/// The result that `victims` must give. Every Worker is checked again for each executor.
pub(crate) fn victims(
    demand: &Demand,
    executors: u64,
    most: usize,
    workers: &[PreemptibleWorker],
) -> Option<Vec<Vec<usize>>> {
    let mut choices: Vec<Choice<'_>> =
        workers.iter().map(|worker| Choice { worker, ended: Vec::new(), placed: 0 }).collect();
    let mut ended = 0;
    for _ in 0..executors {
        let cheapest = choices.iter().enumerate().filter_map(|(number, choice)| {
            let more = choice.one_more(demand)?;
            let highest = more.iter().map(|&victim| choice.worker.victims[victim].priority).max();
            let oldest = more.iter().map(|&victim| choice.worker.victims[victim].launched).min();
            let youth = oldest.map(|launched| u64::MAX - launched);
            Some(((more.len(), highest, youth, number), more))
        });
        let ((_, _, _, number), more) = cheapest.min_by_key(|(cost, _)| *cost)?;
        ended += more.len();
        if ended > most {
            return None;
        }
        let choice = &mut choices[number];
        choice.ended.extend(more);
        choice.ended.sort_unstable();
        choice.placed += 1;
    }
    spare(demand, executors, &mut choices);
    Some(choices.into_iter().map(|choice| choice.ended).collect())
}

impl Choice<'_> {
    /// The additional victims for one more executor: none if it fits. `None` if all victims together do not suffice.
    fn one_more(&self, demand: &Demand) -> Option<Vec<usize>> {
        let fits = |more: &[usize]| self.fits(demand, self.placed + 1, more);
        if fits(&[]) {
            return Some(Vec::new());
        }
        let open: Vec<usize> =
            (0..self.worker.victims.len()).filter(|victim| !self.ended.contains(victim)).collect();
        if !fits(&open) {
            return None;
        }
        if let Some(one) = open.iter().find(|one| fits(&[**one])) {
            return Some(vec![*one]);
        }
        let pairs =
            open.iter().enumerate().flat_map(|(at, one)| open[at + 1..].iter().map(|other| [*one, *other]));
        if let Some(pair) = pairs.into_iter().find(|pair| fits(pair)) {
            return Some(pair.to_vec());
        }
        let enough = (3..=open.len()).find(|count| fits(&open[..*count]))?;
        let mut some = open[..enough].to_vec();
        for at in (0..some.len()).rev() {
            let one = some.remove(at);
            if !fits(&some) {
                some.insert(at, one);
            }
        }
        Some(some)
    }

    /// Whether this number of executors fits once the chosen victims and `more` have ended.
    fn fits(&self, demand: &Demand, executors: u64, more: &[usize]) -> bool {
        self.executors_that_fit(demand, more) >= executors
    }

    /// How many executors fit once the chosen victims and `more` have ended.
    fn executors_that_fit(&self, demand: &Demand, more: &[usize]) -> u64 {
        let PreemptibleWorker { mut cores, mut memory, ref resources, ref victims } = *self.worker;
        let mut resources = Cow::Borrowed(resources);
        for victim in self.ended.iter().chain(more).map(|victim| &victims[*victim]) {
            cores += victim.cores;
            memory += victim.memory;
            if !victim.resources.is_empty() {
                resources.to_mut().add(&victim.resources);
            }
        }
        Offer { worker: "", cores, memory, resources: &resources }.executors_that_fit(demand)
    }
}

/// Removes victims that are not needed for this number of executors, on whichever Workers the executors then fit.
fn spare(demand: &Demand, executors: u64, choices: &mut [Choice<'_>]) {
    let mut fitting: Vec<u64> = choices.iter().map(|choice| choice.executors_that_fit(demand, &[])).collect();
    for number in (0..choices.len()).rev() {
        for at in (0..choices[number].ended.len()).rev() {
            let one = choices[number].ended.remove(at);
            let without = choices[number].executors_that_fit(demand, &[]);
            let before = std::mem::replace(&mut fitting[number], without);
            if fitting.iter().fold(0_u64, |sum, count| sum.saturating_add(*count)) < executors {
                choices[number].ended.insert(at, one);
                fitting[number] = before;
            }
        }
    }
}
