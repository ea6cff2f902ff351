//! Thousands of worlds of one map run, from seeds.

use firesteel_world::Outcome;
use firesteel_world::map_runs::{Scenario, run};

use crate::suites::worlds;

/// Worlds in the default run; `FIRESTEEL_SEEDS` sets another number.
const WORLDS: u64 = 4_000;

fn world(seed: u64) -> Outcome {
    run(Scenario::rolled(seed))
}

#[test]
fn every_item_of_every_world_is_accounted_for_once_and_every_run_ends() {
    worlds::every_law_is_kept("map_runs::worlds", WORLDS, world);
}

#[test]
fn replay() {
    worlds::replay(world);
}

#[test]
fn the_same_seed_is_the_same_world() {
    worlds::a_seed_is_one_world(world);
}
