//! Masters that are restarted with an older copy of their state, with a part of it, or with another cluster's: worlds
//! from seeds, with deliberate bugs.

use firesteel_world::older_states::{StateSabotage, run, run_sabotaged};

use crate::suites::worlds::{self, worlds_from_seeds};

/// Worlds in the default run; `FIRESTEEL_SEEDS` sets another number.
const WORLDS: u64 = 400;

worlds_from_seeds!(run);

#[test]
fn no_executor_is_started_twice_and_an_older_state_is_noticed() {
    worlds::every_law_is_kept("simulation::older_states", WORLDS, world);
}

/// Each bug, the number of worlds within which it must be caught, and words of the sentence that reports it.
const BUGS: &[(StateSabotage, u64, &str)] = &[
    (StateSabotage::ForgetMarks, 20, "is ended by the Master of another cluster's state"),
    (StateSabotage::SameRun, 20, "and nobody says so"),
    (StateSabotage::HideOtherStates, 20, "is ended by the Master of another cluster's state"),
    (StateSabotage::HideOwnState, 20, "and nobody says so"),
];

#[test]
fn every_deliberate_bug_of_a_state_is_caught_by_its_sentence() {
    worlds::every_bug_is_caught(BUGS, |seed, sabotage| run_sabotaged(seed, sabotage).violation);
}

#[test]
fn every_deliberate_bug_of_a_state_has_its_row() {
    worlds::every_bug_has_its_row(BUGS, &StateSabotage::ALL);
}
