//! Preemption: which executors must end so that others fit.

use std::borrow::Cow;

use crate::{Cores, Demand, MiB, Offer, Resources};

/// A Worker with executors that may be preempted.
#[derive(Clone, Debug)]
pub struct PreemptibleWorker {
    /// The number of free cores.
    pub cores: Cores,
    /// The amount of free memory.
    pub memory: MiB,
    /// The free addresses of each resource.
    pub resources: Resources,
    /// The executors in the order of preemption: lowest priority first, then youngest first.
    pub victims: Vec<Victim>,
}

/// An executor that may be preempted.
#[derive(Clone, Debug)]
pub struct Victim {
    /// The priority of its application.
    pub priority: i32,
    /// The cores that it holds.
    pub cores: Cores,
    /// The memory that it holds.
    pub memory: MiB,
    /// The addresses that it holds.
    pub resources: Resources,
}

impl PreemptibleWorker {
    /// A Worker with these free amounts and without victims.
    #[must_use]
    pub fn new(free: &Offer<'_>) -> Self {
        let resources = free.resources.clone();
        Self { cores: free.cores, memory: free.memory, resources, victims: Vec::new() }
    }
}

/// The choice of victims on one Worker, as far as it is made.
#[derive(Debug)]
struct Choice<'a> {
    worker: &'a PreemptibleWorker,
    /// The numbers of the victims that end, in order.
    ended: Vec<usize>,
    /// The number of new executors.
    placed: u64,
}

/// Chooses the executors that must end so that `executors` of the demand fit. Returns the numbers of the victims of each
/// Worker, in the order of `workers`. `None` if more than `most` victims would be needed, or if all of them would not
/// suffice; then nothing is to end.
///
/// For one executor, the fewest victims of a Worker end: the exact minimum if it is one or two, else a set of which each
/// victim is needed. Among Workers, the one with the fewest victims is taken, then the one whose victims have the lowest
/// maximum priority, then the first one. For several executors this is repeated. Victims that turn out not to be needed
/// are spared at the end.
#[must_use]
pub fn victims(
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
            Some(((more.len(), highest, number), more))
        });
        let ((_, _, number), more) = cheapest.min_by_key(|(cost, _)| *cost)?;
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
    /// The further victims that one more executor needs: none if it fits. `None` if all victims do not suffice.
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

    /// Whether this number of executors fits after the chosen victims and `more` have ended.
    fn fits(&self, demand: &Demand, executors: u64, more: &[usize]) -> bool {
        self.executors_that_fit(demand, more) >= executors
    }

    /// The number of executors that fit after the chosen victims and `more` have ended.
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

/// Spares the victims that need not end for this number of executors, on whichever Workers the executors then fit.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExecutorSize;

    fn demand(cores: i64) -> Demand {
        Demand { size: ExecutorSize::Fixed(Cores(cores)), memory: MiB(1), ..Demand::default() }
    }

    /// A Worker with these free cores, and with victims of these priorities and cores.
    fn worker(cores: i64, victims: &[(i32, i64)]) -> PreemptibleWorker {
        let free = Offer { worker: "w", cores: Cores(cores), memory: MiB(100), resources: Resources::NONE };
        let victim = |&(priority, cores): &(i32, i64)| Victim {
            priority,
            cores: Cores(cores),
            memory: MiB(1),
            resources: Resources::default(),
        };
        PreemptibleWorker { victims: victims.iter().map(victim).collect(), ..PreemptibleWorker::new(&free) }
    }

    type Row<'a> = (i64, u64, usize, &'a [(i64, &'a [(i32, i64)])], Option<&'a [&'a [usize]]>);

    #[test]
    fn the_fewest_and_the_lowest_end_and_none_in_vain() {
        let rows: &[Row<'_>] = &[
            // The first victim that suffices, not the first of all.
            (4, 1, 9, &[(0, &[(0, 2), (0, 4), (1, 4)])], Some(&[&[1]])),
            // The Worker where the fewest end.
            (4, 1, 9, &[(0, &[(0, 2), (0, 2)]), (2, &[(5, 2)])], Some(&[&[], &[0]])),
            // Among equal Workers, the one with the lowest priority.
            (4, 1, 9, &[(0, &[(3, 4)]), (0, &[(1, 4)])], Some(&[&[], &[0]])),
            // Two victims suffice together.
            (4, 1, 9, &[(0, &[(0, 1), (0, 2), (0, 2)])], Some(&[&[1, 2]])),
            // Three victims, and each is needed.
            (6, 1, 9, &[(0, &[(0, 1), (0, 2), (0, 2), (0, 2)])], Some(&[&[1, 2, 3]])),
            // More victims than are allowed: none ends.
            (6, 1, 2, &[(0, &[(0, 2), (0, 2), (0, 2)])], None),
            // All victims together do not suffice.
            (6, 1, 9, &[(1, &[(0, 2), (0, 2)]), (5, &[])], None),
            // The executor fits already.
            (2, 1, 0, &[(2, &[(0, 2)])], Some(&[&[]])),
            // A gang on two Workers. One of its executors fits already.
            (2, 3, 2, &[(2, &[(0, 2)]), (0, &[(0, 2), (0, 1)])], Some(&[&[0], &[0]])),
            // The victim for the first executor is not needed once a larger one ends.
            (2, 3, 9, &[(0, &[(0, 2), (1, 6)])], Some(&[&[1]])),
        ];
        for (cores, executors, most, workers, expected) in rows {
            let workers: Vec<_> = workers.iter().map(|(free, victims)| worker(*free, victims)).collect();
            let found = victims(&demand(*cores), *executors, *most, &workers);
            let expected = expected.map(|all| all.iter().map(|one| one.to_vec()).collect::<Vec<_>>());
            assert_eq!(found, expected, "{executors} of {cores} cores on {workers:?}");
        }
    }
}
