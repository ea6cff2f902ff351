//! Which executors must end so that others have room.

use crate::shortfall::Amounts;
use crate::{Cores, Demand, MiB, Offer, ResourceAmounts};

/// A worker with executors that may be ended for others.
#[derive(Clone, Debug)]
pub struct Stand {
    /// Free cores.
    pub cores: Cores,
    /// Free memory.
    pub memory: MiB,
    /// How many addresses of each resource are free.
    pub resources: ResourceAmounts,
    /// The executors, in the order in which they are to be ended: the lowest priority first, and of these the youngest.
    pub victims: Vec<Victim>,
}

/// An executor that may be ended.
#[derive(Clone, Debug)]
pub struct Victim {
    /// Its application's priority.
    pub priority: i32,
    /// What it holds.
    pub amounts: Amounts,
}

impl Stand {
    /// A worker with that free, and nobody on it to be ended.
    #[must_use]
    pub fn new(free: &Offer<'_>) -> Self {
        let resources = free.resources.amounts();
        Self { cores: free.cores, memory: free.memory, resources, victims: Vec::new() }
    }
}

/// What is decided of one worker while the choice is made.
#[derive(Debug)]
struct Choice<'a> {
    stand: &'a Stand,
    /// The victims that end, by their numbers, in order.
    ended: Vec<usize>,
    /// How many executors it is to take in.
    placed: u64,
}

/// Which executors are to end so that `executors` of the demand have room: for each stand the numbers of its victims, in
/// the same order. `None`: it would take more than `most` of them, or even all of them would not do. Then nobody is to
/// be ended.
///
/// The fewest of a worker are ended that let one more fit there: exactly where one or two suffice, and beyond that so
/// that none of them is superfluous. Of several workers the one is taken where the fewest end, among these where the
/// highest of their priorities is the lowest, and among these the first one. For several executors that is done again
/// and again, and then whoever turns out to be superfluous is let live.
#[must_use]
pub fn victims(demand: &Demand, executors: u64, most: usize, stands: &[Stand]) -> Option<Vec<Vec<usize>>> {
    let mut choices: Vec<Choice<'_>> =
        stands.iter().map(|stand| Choice { stand, ended: Vec::new(), placed: 0 }).collect();
    let mut ended = 0;
    for _ in 0..executors {
        let cheapest = choices.iter().enumerate().filter_map(|(number, choice)| {
            let more = choice.one_more(demand)?;
            let highest = more.iter().map(|&victim| choice.stand.victims[victim].priority).max();
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
    /// Which victims more must end for one more executor; none where there is room. `None`: nothing helps.
    fn one_more(&self, demand: &Demand) -> Option<Vec<usize>> {
        let fits = |more: &[usize]| self.fits(demand, self.placed + 1, more);
        if fits(&[]) {
            return Some(Vec::new());
        }
        let open: Vec<usize> =
            (0..self.stand.victims.len()).filter(|victim| !self.ended.contains(victim)).collect();
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

    /// Whether so many executors have room when those and `more` have ended.
    fn fits(&self, demand: &Demand, executors: u64, more: &[usize]) -> bool {
        self.room(demand, more) >= executors
    }

    fn room(&self, demand: &Demand, more: &[usize]) -> u64 {
        let Stand { cores, memory, resources, victims } = self.stand;
        let mut free = Amounts { cores: *cores, memory: *memory, resources: resources.clone() };
        self.ended.iter().chain(more).for_each(|victim| free.add(&victims[*victim].amounts));
        free.room(demand)
    }
}

/// Lets live whoever need not end for so many executors, wherever these then go.
fn spare(demand: &Demand, executors: u64, choices: &mut [Choice<'_>]) {
    let mut rooms: Vec<u64> = choices.iter().map(|choice| choice.room(demand, &[])).collect();
    for number in (0..choices.len()).rev() {
        for at in (0..choices[number].ended.len()).rev() {
            let one = choices[number].ended.remove(at);
            let room = std::mem::replace(&mut rooms[number], choices[number].room(demand, &[]));
            if rooms.iter().fold(0_u64, |sum, room| sum.saturating_add(*room)) < executors {
                choices[number].ended.insert(at, one);
                rooms[number] = room;
            }
        }
    }
}

impl Amounts {
    /// How many executors of a demand have room in so much.
    #[must_use]
    pub fn room(&self, demand: &Demand) -> u64 {
        let covered = demand
            .resources
            .iter()
            .all(|(name, amount)| self.resources.get(name).copied().unwrap_or(0) >= *amount);
        let step = demand.size.step();
        if !covered || step <= Cores::ZERO || self.cores < step || self.memory < demand.memory {
            return 0;
        }
        match demand.size {
            crate::ExecutorSize::OnePerWorker => 1,
            crate::ExecutorSize::Fixed(_) => demand
                .units_in(self.cores, self.memory, |name| self.resources.get(name).copied().unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExecutorSize, Resources};

    fn demand(cores: i64) -> Demand {
        Demand { size: ExecutorSize::Fixed(Cores(cores)), memory: MiB(1), ..Demand::default() }
    }

    /// So many free cores, and victims of that priority and so many cores.
    fn stand(cores: i64, victims: &[(i32, i64)]) -> Stand {
        let free = Offer { worker: "w", cores: Cores(cores), memory: MiB(100), resources: Resources::NONE };
        let victim = |&(priority, cores): &(i32, i64)| {
            let amounts = Amounts { cores: Cores(cores), memory: MiB(1), ..Amounts::default() };
            Victim { priority, amounts }
        };
        Stand { victims: victims.iter().map(victim).collect(), ..Stand::new(&free) }
    }

    type Row<'a> = (i64, u64, usize, &'a [(i64, &'a [(i32, i64)])], Option<&'a [&'a [usize]]>);

    #[test]
    fn the_fewest_and_the_lowest_end_and_nobody_in_vain() {
        let rows: &[Row<'_>] = &[
            // The first that suffices, not the first at all.
            (4, 1, 9, &[(0, &[(0, 2), (0, 4), (1, 4)])], Some(&[&[1]])),
            // The Worker where the fewest end.
            (4, 1, 9, &[(0, &[(0, 2), (0, 2)]), (2, &[(5, 2)])], Some(&[&[], &[0]])),
            // Among equals the lowest priority.
            (4, 1, 9, &[(0, &[(3, 4)]), (0, &[(1, 4)])], Some(&[&[], &[0]])),
            // Two that suffice together.
            (4, 1, 9, &[(0, &[(0, 1), (0, 2), (0, 2)])], Some(&[&[1, 2]])),
            // Three, and none of them in vain.
            (6, 1, 9, &[(0, &[(0, 1), (0, 2), (0, 2), (0, 2)])], Some(&[&[1, 2, 3]])),
            // More than are allowed: nobody.
            (6, 1, 2, &[(0, &[(0, 2), (0, 2), (0, 2)])], None),
            // Not enough even with all of them.
            (6, 1, 9, &[(1, &[(0, 2), (0, 2)]), (5, &[])], None),
            // There is room already.
            (2, 1, 0, &[(2, &[(0, 2)])], Some(&[&[]])),
            // A gang over two Workers, one of its executors where there is room.
            (2, 3, 2, &[(2, &[(0, 2)]), (0, &[(0, 2), (0, 1)])], Some(&[&[0], &[0]])),
            // Who was enough for the first is superfluous once a larger one ends.
            (2, 3, 9, &[(0, &[(0, 2), (1, 6)])], Some(&[&[1]])),
        ];
        for (cores, executors, most, stands, expected) in rows {
            let stands: Vec<Stand> = stands.iter().map(|(free, victims)| stand(*free, victims)).collect();
            let found = victims(&demand(*cores), *executors, *most, &stands);
            let expected = expected.map(|all| all.iter().map(|one| one.to_vec()).collect::<Vec<_>>());
            assert_eq!(found, expected, "{executors} of {cores} cores on {stands:?}");
        }
    }
}
