//! Thousands of worlds of one map run, from seeds.

use firesteel_world::map_runs::{Scenario, run};

use crate::suites::worlds::{self, worlds_from_seeds};

/// Worlds in the default run; `FIRESTEEL_SEEDS` sets another number.
const WORLDS: u64 = 4_000;

worlds_from_seeds!(|seed| run(Scenario::rolled(seed)));

#[test]
fn every_item_of_every_world_is_accounted_for_once_and_every_run_ends() {
    worlds::every_law_is_kept("map_runs::worlds", WORLDS, world);
}
