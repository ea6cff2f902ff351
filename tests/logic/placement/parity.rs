//! All placement algorithms compared with the slow reference: the closed form over offers, the index in buckets, the
//! index in leaves.

use firesteel_placement::advanced::index::Index;
use firesteel_placement::advanced::offers::place;
use firesteel_placement::{Cores, MiB, Offer};

use super::reference;
use super::reference::case::{Case, Translated};
use crate::suites::laws::{ensure, hold};

/// Ten million cases in a release build take some minutes of one core: `FIRESTEEL_CASES=10000000 cargo test --release
/// -p firesteel-world --test logic placement::parity`.
#[test]
fn whatever_places_decides_what_dealing_core_by_core_decides() {
    hold("placement::parity", 100_000, |case: &Case| {
        let expected = reference::place(&case.ask, &case.workers, case.order, case.spread_out);
        let translated = case.translate();
        let Translated { demand, order, strategy, .. } = &translated;
        let offers = translated.offers();

        let placement = place(demand, offers.iter().copied(), *order, *strategy);
        let flat: Vec<_> =
            placement.executors().map(|placed| (placed.worker.to_owned(), placed.cores.0)).collect();
        ensure!(flat == expected, "the rule launches {expected:?}, the closed form {flat:?}");

        for mut index in [Index::new(*order), Index::in_leaves(*order)] {
            for offer in &offers {
                index.insert(offer.worker, offer.cores, offer.memory, offer.resources);
            }
            let name = |slot| index.iter().find(|(_, known)| *known == slot).map_or("", |(name, _)| *name);
            let shares = index.place(demand, *strategy);
            let launched = shares.iter().flat_map(|share| {
                let one = (name(share.slot).to_owned(), share.cores.0);
                std::iter::repeat_n(one, share.executors as usize)
            });
            let indexed: Vec<_> = launched.collect();
            ensure!(indexed == expected, "the rule launches {expected:?}, the index {indexed:?}");
            // After commit and release, the state is as before.
            index.take(demand, &shares);
            let taken: (Cores, MiB) = shares.iter().fold((Cores(0), MiB(0)), |(cores, memory), share| {
                (cores + share.total(), memory + MiB(demand.memory.0 * share.executors as i64))
            });
            let free = |index: &Index<&str>| {
                let all = index.iter().filter_map(|(_, slot)| index.free(slot));
                all.fold((Cores(0), MiB(0)), |sum, free| (sum.0 + free.0, sum.1 + free.1))
            };
            let left = free(&index);
            index.give_back(demand, &shares);
            let before = free(&index);
            ensure!(
                (left.0 + taken.0, left.1 + taken.1) == before,
                "of {before:?}, {taken:?} are taken, and {left:?} are left"
            );
            index.check(offers_by_id(&offers))?;
        }
        Ok(())
    });
}

fn offers_by_id<'a>(offers: &[Offer<'a>]) -> Vec<Offer<'a>> {
    let mut offers = offers.to_vec();
    offers.sort_by_key(|offer| offer.worker);
    offers
}
