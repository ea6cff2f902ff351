//! The invariants of a map run.

use firesteel_protocol::machine::{Violation, ensure};

use super::{Ending, MapRun, Phase};

pub(super) fn check(run: &MapRun) -> Result<(), Violation> {
    if let Some(sentence) = run.items.contradiction() {
        return Err(Violation { machine: "map run", sentence });
    }
    let totals = run.tally.totals;
    let counted = totals.succeeded + totals.failed + totals.cancelled + totals.unusable + totals.open;
    ensure!(
        "map run",
        counted == totals.taken,
        "{} items were taken, and {counted} can be accounted for",
        totals.taken
    );
    let open = run.items.begun().open as u64;
    ensure!("map run", open == totals.open, "{open} items are open, and {} are counted", totals.open);
    ensure!(
        "map run",
        totals.unprinted <= totals.succeeded,
        "{} items succeeded, and {} of them were not printed",
        totals.succeeded,
        totals.unprinted
    );
    match run.phase {
        Phase::Reading(_) | Phase::Draining => {}
        Phase::Ending(_) => {
            ensure!("map run", run.ending != Ending::Completed, "tasks are cancelled without a reason");
        }
        Phase::Finishing | Phase::Closing { .. } | Phase::Saving | Phase::Ended => {
            ensure!("map run", open == 0, "{open} items are open, and no more tasks end");
        }
    }
    run.effects.check("map run")
}
