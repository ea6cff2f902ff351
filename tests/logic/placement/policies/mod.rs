//! Policies choose the stated worker, stay within free amounts, and place as many executors as Spark's rule.

mod expressions;
mod kept_gpus;

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::Expression;
use firesteel_placement::advanced::index::{Index, Share, Slot};
use firesteel_placement::advanced::offers::place;
use firesteel_placement::advanced::policy::{
    Candidate, ClusterTotal, Formula, Measure, PlacementCache, fill, fill_by_rest, spread_held,
};
use firesteel_placement::{
    Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Resources, Strategy, WorkerOrder,
};

use super::history::{History, Model, Step};
use super::reference::case::{self, Case, Translated, worker_order};
use super::reference::{Ask, Worker};
use crate::suites::laws::{Verdict, ensure, hold};

const MEASURES: [Measure; 2] = [Measure::LeftOver, Measure::Unusable];

/// The same workers by number, as in an index.
pub(super) struct Numbered<'a> {
    pub(super) index: Index<&'a str>,
    pub(super) offers: Vec<Offer<'a>>,
}

impl<'a> Numbered<'a> {
    pub(super) fn new(offers: Vec<Offer<'a>>) -> Self {
        let mut index = Index::new(WorkerOrder::WorkerId);
        for offer in &offers {
            index.insert(offer.worker, offer.cores, offer.memory, offer.resources);
        }
        Self { index, offers }
    }

    /// Candidates with a separate host each, and the rank of their id.
    pub(super) fn candidates(&self, rank: impl Fn(&str) -> u64) -> impl Iterator<Item = Candidate<'a, u64>> {
        self.offers.iter().map(move |offer| Candidate {
            slot: self.index.slot(&offer.worker).expect("it was inserted"),
            offer: *offer,
            host: offer.worker,
            rank: rank(offer.worker),
        })
    }

    pub(super) fn whole(&self) -> ClusterTotal {
        let mut whole = ClusterTotal::default();
        self.offers.iter().for_each(|offer| whole.add(offer));
        whole
    }

    /// Worker, executors and cores of each share.
    pub(super) fn named(&self, shares: &[Share]) -> Vec<(&'a str, u64, i64)> {
        let names: BTreeMap<Slot, &str> = self.index.iter().map(|(id, slot)| (slot, *id)).collect();
        shares.iter().map(|share| (names[&share.slot], share.executors, share.cores.0)).collect()
    }
}

/// A request, and the id, executors and cores of each worker.
type Placed = (Ask, Vec<(String, i64, i64)>);

/// Places one executor after the other, each time checking every worker. It shares only the unit of shares with the
/// code under test.
fn one_by_one(
    measure: Measure,
    ask: &Ask,
    workers: &[Worker],
    rank: impl Fn(&str) -> u64,
) -> BTreeMap<String, u64> {
    one_by_one_with(&|_| 0, matches!(measure, Measure::Unusable), ask, workers, rank)
}

/// A Worker that is considered for one more executor.
pub(super) struct Looked<'a> {
    pub(super) before: &'a Worker,
    pub(super) after: &'a Worker,
    /// How many executors of this placement it has already.
    pub(super) placed: u64,
}

/// Like `one_by_one`, with a value that precedes all measures.
pub(super) fn one_by_one_with(
    value: &dyn Fn(&Looked<'_>) -> i128,
    counts_unusable: bool,
    ask: &Ask,
    workers: &[Worker],
    rank: impl Fn(&str) -> u64,
) -> BTreeMap<String, u64> {
    let each = ask.cores.expect("only executors of a fixed size are placed one by one");
    let total = |amount: fn(&Worker) -> i64| workers.iter().map(|worker| amount(worker).max(0) as u64).sum();
    let (cores, memory): (u64, u64) = (total(|worker| worker.cores), total(|worker| worker.memory));
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in workers.iter().flat_map(|worker| &worker.resources) {
        *kinds.entry(name).or_default() += count;
    }
    let part = |whole: u64| (1_u64 << 56).checked_div(whole).unwrap_or(0);
    let asked = |name: &str| ask.resources.get(name).copied().unwrap_or(0);
    let mut free: Vec<Worker> = workers.to_vec();
    let fits = |worker: &Worker| {
        worker.cores >= each
            && worker.memory >= ask.memory
            && ask.resources.iter().all(|(name, count)| worker.resources.get(name).unwrap_or(&0) >= count)
    };
    let take = |worker: &Worker| {
        let mut after = worker.clone();
        after.cores -= each;
        after.memory -= ask.memory;
        for (name, count) in &mut after.resources {
            *count -= asked(name);
        }
        after
    };
    let key = |worker: &Worker, placed: u64| {
        let after = take(worker);
        let value = value(&Looked { before: worker, after: &after, placed });
        let shares = kinds
            .iter()
            .map(|(name, whole)| (*name, after.resources.get(*name).copied().unwrap_or(0) * part(*whole)));
        let resources: Vec<(&str, u64)> = shares.collect();
        let useless = |(name, _): &&(&str, u64)| asked(name) == 0 || !fits(&after);
        let unusable: u64 = resources.iter().filter(useless).map(|(_, share)| share).sum();
        let amounts = [after.cores.max(0) as u64 * part(cores), after.memory.max(0) as u64 * part(memory)];
        let all: Vec<u64> =
            amounts.into_iter().chain(resources.into_iter().map(|(_, share)| share)).collect();
        let dominant = all.iter().copied().max().unwrap_or(0);
        let unusable = if counts_unusable { unusable } else { 0 };
        (rank(&worker.id), value, unusable, dominant, all.iter().sum::<u64>(), worker.id.clone())
    };
    let mut left = (ask.cores_left / each).max(0) as u64;
    left = left.min(ask.limit.map_or(u64::MAX, |limit| limit.saturating_sub(ask.held)));
    let mut given: BTreeMap<String, u64> = BTreeMap::new();
    let placed = |given: &BTreeMap<String, u64>, worker: &Worker| given.get(&worker.id).copied().unwrap_or(0);
    while left > 0
        && let Some(best) = free
            .iter()
            .enumerate()
            .filter(|(_, worker)| fits(worker))
            .min_by_key(|(_, worker)| key(worker, placed(&given, worker)))
    {
        let n = best.0;
        *given.entry(free[n].id.clone()).or_default() += 1;
        free[n] = take(&free[n]);
        left -= 1;
    }
    given
}

#[test]
fn each_executor_goes_where_the_measure_is_the_least() {
    hold("placement::policies", 4_000, |case: &Case| {
        if case.ask.cores.is_none() {
            return Ok(());
        }
        let translated = case.translate();
        let numbered = Numbered::new(translated.offers());
        for measure in MEASURES {
            for rank in [|_: &str| 0, |id: &str| id.len() as u64 % 2] {
                let shares = fill(measure, &translated.demand, numbered.candidates(rank), &numbered.whole());
                let given = numbered.named(&shares).into_iter();
                let given: BTreeMap<String, u64> =
                    given.map(|(id, executors, _)| (id.to_owned(), executors)).collect();
                let expected = one_by_one(measure, &case.ask, &case.workers, rank);
                ensure!(given == expected, "{measure:?} gives {given:?}, one by one {expected:?}");
            }
        }
        Ok(())
    });
}

#[test]
fn policies_place_as_many_executors_as_sparks_rule_and_never_more_than_there_is_room_for() {
    hold("placement::policies", 4_000, |case: &Case| {
        let translated = case.translate();
        let Translated { demand, order, .. } = &translated;
        let numbered = Numbered::new(translated.offers());
        let whole = numbered.whole();
        let spark = place(demand, translated.offers(), *order, Strategy::SpreadOut);
        let (count, cores) =
            spark.executors().fold((0, 0), |(count, cores), it| (count + 1, cores + it.cores.0));
        let held = |slot: Slot| slot.index() as u64 % 3;
        let backwards = || {
            let mut candidates: Vec<_> = numbered.candidates(|_| 0).collect();
            candidates.reverse();
            candidates
        };
        let [fitted, usable] = MEASURES.map(|it| fill(it, demand, numbered.candidates(|_| 0), &whole));
        let spread = spread_held(demand, numbered.candidates(|_| 0), *order, held, |_| 0);
        let rest = |slot: Slot| rest_of(slot);
        let own = Some(Duration::from_secs(300));
        let together = fill_by_rest(demand, numbered.candidates(|_| 0), &whole, rest, own);
        let together_again = fill_by_rest(demand, backwards(), &whole, rest, own);
        let [fitted_again, usable_again] = MEASURES.map(|it| fill(it, demand, backwards(), &whole));
        let spread_again = spread_held(demand, backwards(), *order, held, |_| 0);
        ensure!(
            [&fitted, &usable, &spread, &together]
                == [&fitted_again, &usable_again, &spread_again, &together_again],
            "it depends on the order in which workers are told"
        );
        for shares in [&fitted, &usable, &spread, &together] {
            let given: u64 = shares.iter().map(|share| share.executors).sum();
            let taken: i64 = shares.iter().map(|share| share.executors as i64 * share.cores.0).sum();
            match demand.size {
                ExecutorSize::Fixed(_) => {
                    ensure!(given == count, "{given} executors, Spark's rule has {count}")
                }
                ExecutorSize::OnePerWorker if demand.limit == ExecutorLimit::Unlimited => {
                    ensure!(taken == cores, "{taken} cores, Spark's rule has {cores}");
                }
                ExecutorSize::OnePerWorker => {
                    ensure!(
                        taken <= demand.cores_left.0.max(0) && given <= demand.executors_allowed(),
                        "too many"
                    );
                }
            }
            within(&numbered, demand, shares)?;
        }
        Ok(())
    });
}

/// How long a Worker will be in use: one of four is idle, the others run for one, ten and a hundred minutes.
fn rest_of(slot: Slot) -> Option<Duration> {
    match slot.index() % 4 {
        0 => None,
        n => Some(Duration::from_secs(6 * 10_u64.pow(n as u32))),
    }
}

#[test]
fn executors_that_end_in_time_are_not_put_where_they_keep_a_worker_in_use_for_longer() {
    hold("placement::policies", 4_000, |case: &Case| {
        let translated = case.translate();
        let demand = &translated.demand;
        let numbered = Numbered::new(translated.offers());
        for own in [None, Some(30), Some(500), Some(100_000)] {
            let own = own.map(Duration::from_secs);
            let shares = fill_by_rest(demand, numbered.candidates(|_| 0), &numbered.whole(), rest_of, own);
            let given = |slot: Slot| {
                shares.iter().find(|share| share.slot == slot).map_or(0, |share| share.executors)
            };
            // How badly a Worker suits: it is not in use, or too briefly.
            let longer = |slot: Slot| {
                let rest = rest_of(slot).map(|rest| rest.max(Duration::from_secs(60)));
                (rest.is_none(), rest.zip(own).is_some_and(|(rest, own)| rest < own))
            };
            let worst = shares.iter().map(|share| longer(share.slot)).max();
            for candidate in numbered.candidates(|_| 0) {
                let here = given(candidate.slot);
                let one_more = Demand { held: 0, limit: ExecutorLimit::AtMost(here + 1), ..demand.clone() };
                let one_more = Demand { cores_left: Cores::UNLIMITED, ..one_more };
                let room = place(&one_more, [candidate.offer], WorkerOrder::WorkerId, Strategy::SpreadOut);
                let is_better = worst.is_some_and(|worst| longer(candidate.slot) < worst);
                ensure!(
                    !is_better || room.executors().count() as u64 <= here,
                    "{} has room and suits better",
                    candidate.offer.worker
                );
            }
        }
        Ok(())
    });
}

fn within(numbered: &Numbered<'_>, demand: &Demand, shares: &[Share]) -> Verdict {
    for (id, executors, cores) in numbered.named(shares) {
        let offer = numbered.offers.iter().find(|offer| offer.worker == id).expect("it is one of them");
        let memory = demand.memory.0 * executors as i64;
        ensure!(offer.cores.0 >= cores * executors as i64, "{id} has {} cores", offer.cores);
        ensure!(offer.memory.0 >= memory, "{id} has {}", offer.memory);
        for (name, each) in &demand.resources {
            ensure!(
                offer.resources.fit(name, *each).is_none_or(|fitting| fitting >= executors),
                "{id} has not so many of {name}"
            );
        }
    }
    Ok(())
}

#[test]
fn best_fit_passes_no_worker_by_that_has_as_little_of_everything_and_less_of_something() {
    hold("placement::policies", 4_000, |case: &Case| {
        let translated = case.translate();
        let demand = &translated.demand;
        let numbered = Numbered::new(translated.offers());
        let shares = fill(Measure::LeftOver, demand, numbered.candidates(|_| 0), &numbered.whole());
        let Some((chosen, ..)) = numbered.named(&shares).first().copied() else { return Ok(()) };
        let amounts = |worker: &Worker| {
            let resources =
                ["fpga", "gpu", "nic"].map(|name| *worker.resources.get(name).unwrap_or(&0) as i64);
            [vec![worker.cores, worker.memory], resources.to_vec()].concat()
        };
        let of = |id: &str| case.workers.iter().find(|worker| worker.id == id).expect("it is one of them");
        let chosen_amounts = amounts(of(chosen));
        for offer in numbered.offers.iter().filter(|offer| offer.fits(demand)) {
            let others = amounts(of(offer.worker));
            let no_more = others.iter().zip(&chosen_amounts).all(|(other, chosen)| other <= chosen);
            ensure!(!no_more || others == chosen_amounts, "{chosen} and not {}", offer.worker);
        }
        Ok(())
    });
}

#[test]
fn spreading_over_what_is_held_leaves_nobody_behind_by_more_than_one() {
    hold("placement::policies", 4_000, |case: &Case| {
        let translated = case.translate();
        let demand = &translated.demand;
        let numbered = Numbered::new(translated.offers());
        let held = |slot: Slot| slot.index() as u64 % 4;
        let of = |id: &str| held(numbered.index.slot(&id).expect("it is one of them"));
        let shares = spread_held(demand, numbered.candidates(|_| 0), translated.order, held, of);
        if demand.size == ExecutorSize::OnePerWorker {
            return Ok(());
        }
        let given: BTreeMap<&str, u64> =
            numbered.named(&shares).into_iter().map(|(id, executors, _)| (id, executors)).collect();
        for (id, executors) in &given {
            let most = of(id) + executors;
            for offer in numbered.offers.iter().filter(|offer| offer.fits(demand)) {
                let here = given.get(offer.worker).copied().unwrap_or(0);
                let one_more = Demand { held: 0, limit: ExecutorLimit::AtMost(here + 1), ..demand.clone() };
                let one_more = Demand { cores_left: Cores::UNLIMITED, ..one_more };
                let room = place(&one_more, [*offer], WorkerOrder::WorkerId, Strategy::SpreadOut);
                if room.executors().count() as u64 > here {
                    let fewest = of(offer.worker) + here;
                    ensure!(most <= fewest + 1, "{id} runs {most}, {} {fewest} with room", offer.worker);
                }
            }
        }
        let spread = spread_held(demand, numbered.candidates(|_| 0), translated.order, |_| 0, |_| 0);
        let spark = place(demand, translated.offers(), translated.order, Strategy::SpreadOut);
        let spark: Vec<_> = spark.executors().map(|it| (it.worker, it.cores.0)).collect();
        let spread = numbered.named(&spread).into_iter();
        let spread: Vec<_> =
            spread.flat_map(|(id, executors, cores)| vec![(id, cores); executors as usize]).collect();
        ensure!(spread == spark, "with nothing held {spread:?}, Spark's rule {spark:?}");
        Ok(())
    });
}

#[test]
fn workers_that_share_a_host_count_as_one_place() {
    let offer = |worker| Offer { worker, cores: Cores(8), memory: MiB(8192), resources: Resources::NONE };
    let offers = ["a", "b", "c"].map(offer);
    let numbered = Numbered::new(offers.to_vec());
    let demand = Demand { size: ExecutorSize::Fixed(Cores(1)), cores_left: Cores(3), ..Demand::default() };
    let on_two = numbered.candidates(|_| 0).map(|candidate| Candidate {
        host: if candidate.offer.worker == "c" { "h2" } else { "h1" },
        ..candidate
    });
    let shares = spread_held(&demand, on_two, WorkerOrder::WorkerId, |_| 0, |_| 0);
    assert_eq!(numbered.named(&shares), [("a", 1, 1), ("c", 1, 1), ("b", 1, 1)]);
}

#[test]
fn the_cache_decides_what_looking_at_every_worker_decides() {
    let expressions = ["total.cores * 3 - left.cores", "left.gpu % 2 + placed"];
    let expressions = expressions.map(|text| text.parse::<Expression>().expect("it can be read"));
    hold("placement::policies", 2_000, |history: &History| {
        let mut model = Model::default();
        let mut index: Index<String> = Index::new(worker_order(history.order));
        let mut cache = PlacementCache::default();
        let mut placed: Vec<Placed> = Vec::new();
        let comes = |model: &mut Model, index: &mut Index<String>, worker: &Worker| {
            index.insert(worker.id.clone(), Cores(0), MiB(0), Resources::NONE);
            model.set(worker.clone());
        };
        for worker in &history.workers {
            comes(&mut model, &mut index, worker);
        }
        for step in &history.steps {
            match step {
                Step::Comes(worker) => {
                    comes(&mut model, &mut index, worker);
                    cache.clear();
                }
                Step::Goes(n) => {
                    if let Some(id) = model.nth(*n) {
                        index.remove(&id);
                        model.remove(&id);
                        cache.clear();
                    }
                }
                Step::Changes(n, worker) => {
                    if let Some(id) = model.nth(*n) {
                        model.set(Worker { id: id.clone(), ..worker.clone() });
                        cache.changed(index.slot(&id).expect("it is known"));
                    }
                }
                Step::Ends(n) => {
                    if let Some(n) = n.checked_rem(placed.len()) {
                        let (ask, shares) = placed.swap_remove(n);
                        for (id, executors, cores) in shares {
                            model.hold(&id, &ask, -executors, -cores);
                            index.slot(&id).into_iter().for_each(|slot| cache.changed(slot));
                        }
                    }
                }
                Step::Places { ask, spread_out, kept } => {
                    let measure = if *spread_out { Measure::LeftOver } else { Measure::Unusable };
                    let demand = case::demand(ask);
                    // Scores are relative to a total that does not change with free amounts.
                    let mut whole = ClusterTotal::default();
                    history.workers.iter().for_each(|worker| {
                        let resources = case::addresses(worker);
                        let (cores, memory) = (Cores(worker.cores), MiB(worker.memory));
                        whole.add(&Offer { worker: &worker.id, cores, memory, resources: &resources });
                    });
                    let slot = |id: &str| index.slot(&id.to_owned()).expect("it is known");
                    let offers: BTreeMap<Slot, Offer<'_>> =
                        model.offers().map(|offer| (slot(offer.worker), offer)).collect();
                    let workers = || model.offers().map(|offer| (slot(offer.worker), offer));
                    let total = |slot: Slot| {
                        let cores = Cores(slot.index() as i64 % 7);
                        Some(Offer { worker: "", cores, memory: MiB(0), resources: Resources::NONE })
                    };
                    let by_expression =
                        |expression| Measure::Expression(Formula { expression, whole: &total });
                    // The last value is kept.
                    let mut shares = Vec::new();
                    for measure in expressions.iter().map(by_expression).chain([measure]) {
                        let all = workers().map(|(slot, _)| slot);
                        let offer = |slot| offers.get(&slot).copied();
                        let plain = |slot| {
                            let offer =
                                offer(slot).filter(|offer| *offer.resources == Resources::default())?;
                            Some((offer.cores, offer.memory))
                        };
                        shares = cache.place(measure, &demand, &whole, all, plain, offer);
                        let candidates =
                            workers().map(|(slot, offer)| Candidate { slot, offer, host: "", rank: () });
                        let flat = fill(measure, &demand, candidates, &whole);
                        ensure!(
                            shares == flat,
                            "{measure:?}: the cache {shares:?}, every worker {flat:?}, asked {ask:?}"
                        );
                    }
                    if *kept {
                        let names: Vec<(String, i64, i64)> = shares
                            .iter()
                            .map(|share| {
                                let id = offers[&share.slot].worker.to_owned();
                                let executors = share.executors as i64;
                                (id, executors, executors * share.cores.0)
                            })
                            .collect();
                        for ((id, executors, cores), share) in names.iter().zip(&shares) {
                            model.hold(id, ask, *executors, *cores);
                            cache.changed(share.slot);
                        }
                        placed.push((ask.clone(), names));
                    }
                }
            }
        }
        Ok(())
    });
}
