//! Peers of Spark's and strangers at one Master: worlds from seeds, and connections that err on purpose.

mod deliberate;

use firesteel_world::Outcome;
use firesteel_world::spark_peers::{Scenario, run};

use crate::worlds;

/// Worlds in the default run; `FIRESTEEL_SEEDS` sets another number.
const WORLDS: u64 = 300;

fn world(seed: u64) -> Outcome {
    run(Scenario::rolled(seed))
}

#[test]
fn nobody_speaks_for_another_one_and_the_honest_are_served_whatever_strangers_do() {
    worlds::every_law_is_kept("spark_peers", WORLDS, world);
}

#[test]
fn replay() {
    worlds::replay(world);
}

#[test]
fn the_same_seed_is_the_same_world() {
    worlds::a_seed_is_one_world(world);
}
