//! An index gives the same decisions as a scan of every worker, after any history.

use std::collections::BTreeMap;

use firesteel_placement::advanced::index::{Index, Share, Slot};
use firesteel_placement::advanced::offers::{place, place_ranked};
use firesteel_placement::{Cores, Demand, MiB, Strategy};

use super::history::{History, Model, Step};
use super::reference::case;
use super::reference::{self, Ask};
use crate::suites::laws::{Verdict, ensure, hold};

/// The largest number of workers for which the slow reference is used.
const FEW: usize = 40;

/// A million cases in a release build: `FIRESTEEL_CASES=1000000 cargo test --release -p firesteel-world --test logic
/// placement::index`.
#[test]
fn an_index_decides_what_looking_at_every_worker_decides() {
    hold("placement::index", 10_000, |history: &History| {
        let order = case::worker_order(history.order);
        for index in [Index::new(order), Index::in_leaves(order)] {
            let mut cluster = Cluster::of(history, index);
            for step in &history.steps {
                cluster.step(step)?;
                cluster.check()?;
            }
        }
        Ok(())
    });
}

/// The same cluster twice: with an index, and as a plain table.
struct Cluster {
    order: reference::Order,
    index: Index<String>,
    model: Model,
    placements: Vec<Placed>,
    placed_last: Vec<Share>,
}

struct Placed {
    ask: Ask,
    /// Worker, executors and cores of each share.
    shares: Vec<(String, i64, i64)>,
}

/// The executors of some shares, as pairs of worker and cores.
fn one_by_one(shares: &[Share], names: &BTreeMap<Slot, String>) -> Vec<(String, i64)> {
    let each = |share: &Share| {
        std::iter::repeat_n((names[&share.slot].clone(), share.cores.0), share.executors as usize)
    };
    shares.iter().flat_map(each).collect()
}

impl Cluster {
    fn of(history: &History, index: Index<String>) -> Self {
        let (model, placements) = (Model::default(), Vec::new());
        let mut cluster = Self { order: history.order, index, model, placements, placed_last: Vec::new() };
        for worker in &history.workers {
            cluster.comes(worker.clone());
        }
        cluster
    }

    fn step(&mut self, step: &Step) -> Verdict {
        match step {
            Step::Comes(worker) => self.comes(worker.clone()),
            Step::Goes(n) => {
                if let Some(id) = self.model.nth(*n) {
                    let known = self.index.slot(&id);
                    ensure!(self.index.remove(&id) == known && known.is_some(), "{id} cannot be removed");
                    self.model.remove(&id);
                }
            }
            Step::Changes(n, worker) => {
                if let Some(id) = self.model.nth(*n) {
                    self.comes(reference::Worker { id, ..worker.clone() });
                }
            }
            Step::Places { ask, spread_out, kept } => self.places(ask, *spread_out, *kept)?,
            Step::Ends(n) => {
                if let Some(n) = n.checked_rem(self.placements.len()) {
                    let Placed { ask, shares } = self.placements.swap_remove(n);
                    for (id, executors, cores) in shares {
                        self.model.hold(&id, &ask, -executors, -cores);
                        self.sync(&id);
                    }
                }
            }
        }
        Ok(())
    }

    fn comes(&mut self, worker: reference::Worker) {
        let id = worker.id.clone();
        self.model.set(worker);
        self.sync(&id);
    }

    /// Some workers are near, some come last, and some are avoided, depending on their ids.
    fn places_near(&self, demand: &Demand, strategy: Strategy) -> Verdict {
        let rank = |id: &str| id.bytes().fold(0_u64, |sum, byte| sum * 7 + u64::from(byte)) % 6;
        let (names, order) = (self.names(), case::worker_order(self.order));
        let of_rank = |wanted: u64| {
            let slots = self.index.iter().filter(|(id, _)| rank(id) == wanted).map(|(_, slot)| slot);
            slots.collect::<Vec<_>>()
        };
        let avoids = |id: &str| rank(id) == 5;
        let (near, last) = ([of_rank(1), of_rank(0)], [of_rank(4)]);
        let shares = self.index.place_ranked(demand, strategy, (&near, &last), |slot| avoids(&names[&slot]));
        let eligible = self.model.offers().filter(|offer| !avoids(offer.worker));
        let flat = place_ranked(demand, eligible, order, strategy, |offer| match rank(offer.worker) {
            1 => 0,
            0 => 1,
            4 => 3,
            _ => 2,
        });
        let flat: Vec<_> =
            flat.executors().map(|placed| (placed.worker.to_owned(), placed.cores.0)).collect();
        let indexed = one_by_one(&shares, &names);
        ensure!(
            indexed == flat,
            "with some near and some last, every worker: {flat:?}, the index: {indexed:?}"
        );
        Ok(())
    }

    fn names(&self) -> BTreeMap<Slot, String> {
        self.index.iter().map(|(id, slot)| (slot, id.clone())).collect()
    }

    /// Updates a worker's free amounts in the index.
    fn sync(&mut self, id: &str) {
        if let Some(worker) = self.model.get(id) {
            let (cores, memory) = (Cores(worker.cores), MiB(worker.memory));
            self.index.insert(id.to_owned(), cores, memory, self.model.resources(id));
        }
    }

    fn places(&mut self, ask: &Ask, spread_out: bool, kept: bool) -> Verdict {
        let strategy = if spread_out { Strategy::SpreadOut } else { Strategy::Consolidate };
        let (demand, order) = (case::demand(ask), case::worker_order(self.order));
        // Whatever the vector contains already.
        let mut shares = self.placed_last.clone();
        self.index.place_into(&mut shares, &demand, strategy);
        ensure!(shares == self.index.place(&demand, strategy), "placed twice, otherwise, for {ask:?}");
        self.placed_last.clone_from(&shares);
        let names = self.names();
        let indexed = one_by_one(&shares, &names);

        let flat = place(&demand, self.model.offers(), order, strategy);
        let flat: Vec<_> =
            flat.executors().map(|placed| (placed.worker.to_owned(), placed.cores.0)).collect();
        ensure!(indexed == flat, "every worker: {flat:?}, the index: {indexed:?}, asked {ask:?}");
        let workers = self.model.workers();
        if workers.len() <= FEW {
            let slow = reference::place(ask, &workers, self.order, spread_out);
            ensure!(indexed == slow, "the rule: {slow:?}, the index: {indexed:?}, asked {ask:?}");
        }
        self.places_near(&demand, strategy)?;
        let anywhere = self.model.offers().any(|offer| offer.fits(&demand));
        ensure!(self.index.fits_anywhere(&demand) == anywhere, "is there room for {ask:?}?");
        for (offer, (_, slot)) in self.model.offers().zip(self.index.iter()).take(FEW) {
            ensure!(self.index.fits(slot, &demand) == offer.fits(&demand), "{offer:?} for {ask:?}");
        }
        if kept {
            self.index.take(&demand, &shares);
            let held = |share: &Share| {
                let executors = share.executors as i64;
                (names[&share.slot].clone(), executors, share.cores.0 * executors)
            };
            let shares: Vec<_> = shares.iter().map(held).collect();
            for (id, executors, cores) in &shares {
                self.model.hold(id, ask, *executors, *cores);
            }
            self.placements.push(Placed { ask: ask.clone(), shares });
        }
        Ok(())
    }

    fn check(&self) -> Verdict {
        self.index.check(self.model.offers())
    }
}
