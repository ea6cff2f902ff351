//! Thousands of worlds of one session, from seeds.

use firesteel_world::Outcome;
use firesteel_world::sessions::{Scenario, run};

use crate::suites::worlds;

/// Worlds in the default run; `FIRESTEEL_SEEDS` sets another number.
const WORLDS: u64 = 6_000;

fn world(seed: u64) -> Outcome {
    run(Scenario::rolled(seed))
}

#[test]
fn every_command_of_every_world_is_answered_once_and_every_session_ends() {
    worlds::every_law_is_kept("sessions::worlds", WORLDS, world);
}

#[test]
fn replay() {
    worlds::replay(world);
}

#[test]
fn the_same_seed_is_the_same_world() {
    worlds::a_seed_is_one_world(world);
}
