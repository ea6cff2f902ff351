//! Deliberate bugs: each must be caught, to prove that the laws notice errors.

use firesteel_world::map_runs::{MapSabotage, Scenario, run_sabotaged};

use crate::suites::worlds;

/// Each bug, the number of worlds within which it must be caught, and words of the sentence that reports it.
#[rustfmt::skip]
const BUGS: &[(MapSabotage, u64, &str)] = &[
    (MapSabotage::ReadTwice, 5, "an item is read while one is awaited"),
    (MapSabotage::DropRead, 5, "the run is not over"),
    (MapSabotage::SubmitTwice, 5, "is next"),
    (MapSabotage::DropSubmit, 5, "a task is printed that never was"),
    (MapSabotage::DropFinish, 10, "the run is not over"),
    (MapSabotage::ClaimSuccess, 10, "the Master is told"),
    (MapSabotage::DropCancel, 40, "the run is not over"),
    (MapSabotage::DropPrint, 5, "not every task is printed"),
    (MapSabotage::PrintTwice, 5, "a task is printed twice"),
    (MapSabotage::DropMark, 5, "items are said to be"),
    (MapSabotage::MarkUnprinted, 5, "and it is not"),
    (MapSabotage::MissTaskEnd, 5, "items are said to be"),
    (MapSabotage::DropRest, 5, "the run is not over"),
    (MapSabotage::FinishEarly, 5, "the rest was not left"),
    (MapSabotage::FinishTwice, 5, "comes after the end of the run"),
];

#[test]
fn every_deliberate_bug_of_a_map_run_is_caught_by_its_sentence() {
    worlds::every_bug_is_caught(BUGS, |seed, sabotage| {
        run_sabotaged(Scenario::rolled(seed), sabotage).violation
    });
}

#[test]
fn every_deliberate_bug_of_a_map_run_has_its_row() {
    worlds::every_bug_has_its_row(BUGS, &MapSabotage::ALL);
}
