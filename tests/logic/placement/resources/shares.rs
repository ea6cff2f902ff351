//! Parts of addresses and kinds of resources, compared with a slow reference that counts each thousandth of each
//! address.

use std::collections::BTreeMap;

use firesteel_placement::Expression;
use firesteel_placement::advanced::index::{Index, Share, Slot};
use firesteel_placement::advanced::offers::place;
use firesteel_placement::advanced::policy::{
    Candidate, ClusterTotal, DemandStatistics, Formula, Measure, PlacementCache, fill,
};
use firesteel_placement::{
    Amount, Cores, Demand, ExecutorSize, MiB, Offer, Part, Quantity, ResourceAmounts, Resources, Strategy,
    WorkerOrder,
};
use quickcheck::{Arbitrary, Gen};

use crate::placement::reference::case::{below, pick};
use crate::suites::laws::{Verdict, ensure, hold};

/// A cluster in which executors start and end.
#[derive(Clone, Debug)]
struct History {
    /// The cores of each Worker, and the names of its addresses: address 0, 1 and so on.
    workers: Vec<(i64, Vec<&'static str>)>,
    order: WorkerOrder,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    /// Requests this number of executors of one core, each with these amounts in thousandths.
    Place { executors: u64, amounts: BTreeMap<&'static str, u64> },
    /// The executor at this index, modulo their number, ends.
    End(usize),
}

impl Arbitrary for History {
    fn arbitrary(g: &mut Gen) -> Self {
        let names: &[&[&'static str]] =
            &[&["gpu"], &["gpu:A"], &["gpu:A", "gpu:B"], &["gpu", "gpu:B"], &["nic", "gpu"]];
        let workers = (0..=below(g, 4)).map(|_| {
            let own = pick(g, names);
            (below(g, 20), (0..below(g, 6)).map(|_| pick(g, own)).collect())
        });
        let workers = workers.collect();
        let steps = (0..=below(g, 12)).map(|_| Step::arbitrary(g)).collect();
        Self { workers, order: pick(g, &WorkerOrder::ALL), steps }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let fewer_steps = (0..self.steps.len()).map(|at| {
            let mut less = self.clone();
            less.steps.remove(at);
            less
        });
        let fewer_workers = (0..self.workers.len()).filter(|_| self.workers.len() > 1).map(|at| {
            let mut less = self.clone();
            less.workers.remove(at);
            less
        });
        Box::new(fewer_steps.chain(fewer_workers).collect::<Vec<_>>().into_iter())
    }
}

impl Arbitrary for Step {
    fn arbitrary(g: &mut Gen) -> Self {
        if below(g, 3) == 0 {
            return Self::End(usize::arbitrary(g));
        }
        let amount = pick(g, &[1, 100, 250, 250, 333, 500, 600, 999, 1000, 1000, 2000, 0]);
        let mut amounts = BTreeMap::from([(pick(g, &["gpu", "gpu", "gpu:A", "gpu:B"]), amount)]);
        if below(g, 4) == 0 {
            amounts.insert("nic", pick(g, &[500, 1000]));
        }
        Self::Place { executors: 1 + below(g, 6) as u64, amounts }
    }
}

/// A Worker in the reference: name, address and free thousandths of each address, in order.
#[derive(Clone, Debug, PartialEq)]
struct SlowWorker(Vec<(&'static str, String, u64)>);

/// What one executor uses: index of the address, and thousandths.
type Held = Vec<(usize, u64)>;

impl SlowWorker {
    fn of(names: &[&'static str]) -> Self {
        let addresses = names.iter().enumerate().map(|(number, name)| (*name, number.to_string(), 1000));
        let mut all: Vec<_> = addresses.collect();
        all.sort();
        Self(all)
    }

    /// Takes amounts for one executor, or nothing if any is missing.
    fn take(&mut self, amounts: &BTreeMap<&'static str, u64>) -> Option<Held> {
        let before = self.clone();
        let mut held = Held::new();
        for (asked, amount) in amounts {
            let of_it = |name: &str| name == *asked || name.starts_with(&format!("{asked}:"));
            if amount % 1000 == 0 {
                for _ in 0..amount / 1000 {
                    let Some(at) = self.0.iter().position(|(name, _, free)| of_it(name) && *free == 1000)
                    else {
                        *self = before;
                        return None;
                    };
                    self.0[at].2 = 0;
                    held.push((at, 1000));
                }
                continue;
            }
            let mut best: Option<usize> = None;
            for (at, (name, _, free)) in self.0.iter().enumerate() {
                if of_it(name) && free >= amount && best.is_none_or(|best| *free < self.0[best].2) {
                    best = Some(at);
                }
            }
            let Some(at) = best else {
                *self = before;
                return None;
            };
            self.0[at].2 -= amount;
            held.push((at, *amount));
        }
        Some(held)
    }

    fn give_back(&mut self, held: &Held) {
        for (at, part) in held {
            self.0[*at].2 += part;
        }
    }

    /// How many executors fit, up to `most`.
    fn fit(&self, amounts: &BTreeMap<&'static str, u64>, most: u64) -> u64 {
        let mut free = self.clone();
        (0..most).take_while(|_| free.take(amounts).is_some()).count() as u64
    }

    /// The same resources in the crate's type.
    fn resources(&self) -> Resources {
        let mut all: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (name, address, free) in self.0.iter().filter(|(.., free)| *free > 0) {
            let word = Part::of(*free).map_or(address.clone(), |part| format!("{address}@{part}"));
            all.entry(name).or_default().push(word);
        }
        Resources::of_words(all).expect("no address occurs twice")
    }
}

fn amounts_of(amounts: &BTreeMap<&'static str, u64>) -> ResourceAmounts {
    let amount =
        |thousandths: u64| Part::of(thousandths).map_or(Amount::Whole(thousandths / 1000), Amount::Part);
    amounts.iter().map(|(name, thousandths)| ((*name).to_owned(), amount(*thousandths))).collect()
}

struct Cluster {
    ids: Vec<String>,
    cores: Vec<i64>,
    slow: Vec<SlowWorker>,
    free: Vec<Resources>,
    index: Index<String>,
    leaves: Index<String>,
    total: ClusterTotal,
    /// The Worker of each executor, and its resources in both accounts.
    running: Vec<(usize, Held, Resources)>,
    cache: PlacementCache,
    seen: DemandStatistics,
}

impl Cluster {
    fn of(history: &History) -> Self {
        let slow: Vec<SlowWorker> = history.workers.iter().map(|(_, names)| SlowWorker::of(names)).collect();
        let free: Vec<Resources> = slow.iter().map(SlowWorker::resources).collect();
        let mut cluster = Self {
            ids: (0..slow.len()).map(|number| format!("w{number}")).collect(),
            cores: history.workers.iter().map(|(cores, _)| *cores).collect(),
            slow,
            free,
            index: Index::new(history.order),
            leaves: Index::in_leaves(history.order),
            total: ClusterTotal::default(),
            running: Vec::new(),
            cache: PlacementCache::default(),
            seen: DemandStatistics::default(),
        };
        for (at, id) in cluster.ids.iter().enumerate() {
            let (cores, resources) = (Cores(cluster.cores[at]), &cluster.free[at]);
            cluster.index.insert(id.clone(), cores, MiB(0), resources);
            cluster.leaves.insert(id.clone(), cores, MiB(0), resources);
            cluster.total.add(&Offer { worker: id, cores, memory: MiB(0), resources });
        }
        cluster
    }

    fn offers(&self) -> Vec<Offer<'_>> {
        let all = self.ids.iter().zip(&self.cores).zip(&self.free);
        all.map(|((id, cores), resources)| Offer {
            worker: id,
            cores: Cores(*cores),
            memory: MiB(0),
            resources,
        })
        .collect()
    }

    /// Counts a request, and updates the learned policy if it is due.
    fn learn(&mut self, demand: &Demand) {
        self.seen.add(demand, demand.most_executors());
        if self.seen.is_demand_model_due() {
            let mut seen = std::mem::take(&mut self.seen);
            seen.learn(self.offers().into_iter());
            self.seen = seen;
            self.cache.clear();
        }
    }

    fn place(
        &mut self,
        order: WorkerOrder,
        executors: u64,
        amounts: &BTreeMap<&'static str, u64>,
    ) -> Verdict {
        let wanted = i64::try_from(executors).expect("it is small");
        let demand = Demand {
            size: ExecutorSize::Fixed(Cores(1)),
            resources: amounts_of(amounts),
            cores_left: Cores(wanted),
            ..Demand::default()
        };
        let mut room = 0;
        for (at, offer) in self.offers().iter().enumerate() {
            let most = u64::try_from(self.cores[at]).unwrap_or(0);
            let slow = self.slow[at].fit(amounts, most);
            let found = offer.executors_that_fit(&demand);
            ensure!(found == slow, "{found} executors fit on {}, and {slow} can be taken", offer.worker);
            let slot = self.index.slot(&self.ids[at]).expect("it is known");
            for index in [&self.index, &self.leaves] {
                ensure!(index.fits(slot, &demand) == (slow > 0), "an index errs about {}", offer.worker);
            }
            room += slow;
        }
        for strategy in [Strategy::SpreadOut, Strategy::Consolidate] {
            let placement = place(&demand, self.offers(), order, strategy);
            let expected: Vec<_> = placement.executors().map(|one| one.worker.to_owned()).collect();
            ensure!(expected.len() as u64 == room.min(executors), "{} placed of {room}", expected.len());
            for index in [&self.index, &self.leaves] {
                let shares = index.place(&demand, strategy);
                ensure!(
                    self.one_by_one(&shares) == expected,
                    "{strategy:?}: {shares:?}, expected {expected:?}"
                );
            }
        }
        let slots: Vec<_> = self.ids.iter().map(|id| self.index.slot(id).expect("it is known")).collect();
        let mut shares = Vec::new();
        self.learn(&demand);
        let text = "left.gpu - left.gpu.whole - left.gpu:A100.largest * free.gpu:T4 + total.cores * placed";
        let expression = text.parse::<Expression>().expect("it can be read");
        let total = |slot: Slot| {
            let cores = Cores(slot.index() as i64);
            Some(Offer { worker: "", cores, memory: MiB(0), resources: Resources::NONE })
        };
        let formula = Formula { expression: &expression, whole: &total };
        let learned = Measure::Learned(self.seen.demand_model());
        for measure in [Measure::Expression(formula), Measure::LeftOver, Measure::Unusable, learned] {
            let offers = self.offers();
            let candidates = slots.iter().zip(&offers);
            let candidates =
                candidates.map(|(slot, offer)| Candidate { slot: *slot, offer: *offer, host: "", rank: () });
            shares = fill(measure, &demand, candidates, &self.total);
            let placed = shares.iter().map(|share| share.executors).sum::<u64>();
            ensure!(placed == room.min(executors), "{measure:?} places {placed} of {room}");
            let (free, cores, ids) = (&self.free, &self.cores, &self.ids);
            let offer = |slot| {
                let at = slots.iter().position(|other| *other == slot)?;
                Some(Offer {
                    worker: &ids[at],
                    cores: Cores(cores[at]),
                    memory: MiB(0),
                    resources: &free[at],
                })
            };
            let all = slots.iter().copied();
            let plain = |slot| self.index.plain(slot);
            let cached = self.cache.place(measure, &demand, &self.total, all, plain, offer);
            ensure!(cached == shares, "{measure:?}: the cache gives {cached:?}, not {shares:?}");
        }
        // Commits the last placement, first in the indexes, then executor by executor.
        self.index.take(&demand, &shares);
        self.leaves.take(&demand, &shares);
        for share in &shares {
            let at = slots.iter().position(|slot| *slot == share.slot).expect("it is one of them");
            self.cache.changed(share.slot);
            for _ in 0..share.executors {
                let held = self.slow[at].take(amounts).ok_or("the reference has no room")?;
                let taken = self.free[at].take(&demand.resources).ok_or("a Worker has no room")?;
                self.cores[at] -= 1;
                self.running.push((at, held, taken));
            }
        }
        self.check()
    }

    fn end(&mut self, number: usize) -> Verdict {
        if self.running.is_empty() {
            return Ok(());
        }
        let (at, held, taken) = self.running.remove(number % self.running.len());
        self.cores[at] += 1;
        self.slow[at].give_back(&held);
        self.free[at].give_back(taken);
        let slot = self.index.slot(&self.ids[at]).expect("it is known");
        for index in [&mut self.index, &mut self.leaves] {
            index.set(slot, Cores(self.cores[at]), MiB(0), &self.free[at]);
        }
        self.cache.changed(slot);
        self.check()
    }

    fn check(&self) -> Verdict {
        for index in [&self.index, &self.leaves] {
            index.check(self.offers())?;
        }
        for (slow, free) in self.slow.iter().zip(&self.free) {
            ensure!(slow.resources().to_string() == free.to_string(), "{free} is free, expected {slow:?}");
        }
        Ok(())
    }

    fn one_by_one(&self, shares: &[Share]) -> Vec<String> {
        let name = |share: &Share| self.ids.iter().find(|id| self.index.slot(*id) == Some(share.slot));
        let each = shares.iter().filter_map(|share| Some((name(share)?, share.executors)));
        each.flat_map(|(id, count)| std::iter::repeat_n(id.clone(), count as usize)).collect()
    }
}

#[test]
fn parts_and_kinds_are_given_as_the_slow_reference_gives_them() {
    hold("placement::shares", 20_000, |history: &History| {
        let mut cluster = Cluster::of(history);
        cluster.check()?;
        for step in &history.steps {
            match step {
                Step::Place { executors, amounts } => cluster.place(history.order, *executors, amounts)?,
                Step::End(number) => cluster.end(*number)?,
            }
        }
        while !cluster.running.is_empty() {
            cluster.end(0)?;
        }
        let words = |all: &[Resources]| all.iter().map(Resources::to_string).collect::<Vec<_>>();
        let whole = Cluster::of(history).free;
        ensure!(words(&whole) == words(&cluster.free), "not all came back: {:?}", cluster.free);
        Ok(())
    });
}

/// The free amounts of a Worker, and two kinds of executors.
#[derive(Clone, Debug)]
struct Two {
    free: Resources,
    mine: ResourceAmounts,
    executors: u64,
    theirs: ResourceAmounts,
}

impl Arbitrary for Two {
    fn arbitrary(g: &mut Gen) -> Self {
        let words = (0..below(g, 5)).map(|number| {
            let part = pick(g, &[100, 300, 500, 900, 1000, 1000]);
            let address = number.to_string();
            let word = Part::of(part).map_or(address.clone(), |part| format!("{address}@{part}"));
            (pick(g, &["gpu:A", "gpu:B", "gpu"]), [word])
        });
        let words: Vec<_> = words.collect();
        let asked = |g: &mut Gen| {
            let name = pick(g, &["gpu", "gpu", "gpu:A"]);
            amounts_of(&BTreeMap::from([(name, pick(g, &[100, 250, 500, 700, 1000, 2000]))]))
        };
        Self {
            free: Resources::of_words(words).expect("no address occurs twice"),
            mine: asked(g),
            executors: below(g, 6) as u64,
            theirs: asked(g),
        }
    }
}

#[test]
fn what_is_set_aside_stays_enough_whatever_others_take_of_the_rest() {
    let fitting = |free: &Resources, asked: &ResourceAmounts| {
        asked.iter().filter_map(|(name, each)| free.fit(name, *each)).min().unwrap_or(u64::MAX)
    };
    hold("placement::shares::set_aside", 50_000, |two: &Two| {
        let Two { free, mine, executors, theirs } = two;
        let before = fitting(free, mine).min(*executors);
        let mut open = free.less(mine, *executors);
        let mut left = free.clone();
        while let Some(taken) = open.take(theirs) {
            ensure!(left.take_these(&taken), "{taken} is open and not free");
        }
        let after = fitting(&left, mine).min(*executors);
        ensure!(after == before, "{before} executors had room, and {after} have it still: {left}");
        let wanted: Quantity = mine.values().map(|each| each.quantity().times(*executors)).sum();
        let kept: Quantity = free.without(&free.less(mine, *executors)).parts().map(|(.., part)| part).sum();
        let all: Quantity = mine.keys().map(|name| free.quantity(name)).sum();
        ensure!(kept >= wanted.min(all), "{kept} of {all} is kept for {wanted}");
        Ok(())
    });
}

#[test]
fn an_executor_fits_if_and_only_if_it_can_take_and_gives_back_what_it_took() {
    hold("placement::shares::take", 50_000, |two: &Two| {
        for asked in [&two.mine, &two.theirs] {
            let mut free = two.free.clone();
            let covered = free.covers(asked);
            let taken = free.take(asked);
            ensure!(taken.is_some() == covered, "{asked:?} of {}: {covered}, {taken:?}", two.free);
            let Some(taken) = taken else {
                ensure!(free == two.free, "something was taken");
                continue;
            };
            for (name, amount) in asked {
                ensure!(taken.quantity(name) == amount.quantity(), "{taken} for {amount} of {name}");
            }
            let told = taken.as_asked(asked);
            ensure!(two.free.named_as_here(&told) == taken, "{told} is told of {taken}");
            free.give_back(taken);
            ensure!(free == two.free, "{free} after the end, {} before", two.free);
        }
        Ok(())
    });
}
