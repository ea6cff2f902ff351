//! Connections of Spark's peers at a Master: golden scripts of recorded connections with all effects, and worlds from
//! seeds with hostile peers and deliberate bugs.
//!
//! Pages have the format of a Master's (see `scripts`).

mod deliberate;
mod stage;
mod words;

use firesteel_world::spark_peers::{Scenario, run};

use self::stage::Stage;
use super::suites::worlds::{self, worlds_from_seeds};
use crate::scripts::scripts;

const DIRECTORY: &str = "../tests/logic/spark_peers";

scripts! {
    DIRECTORY, Stage:
    called
    driver_3_5_7
    driver_4_0_1
    driver_4_3_0
    ends
    submission_3_5_7
    submission_4_0_1
    worker_3_5_7
    worker_4_1_4
    worker_4_3_0
}

/// Worlds in the default run; `FIRESTEEL_SEEDS` sets another number.
const WORLDS: u64 = 300;

worlds_from_seeds!(|seed| run(Scenario::rolled(seed)));

#[test]
fn nobody_speaks_for_another_one_and_the_honest_are_served_whatever_strangers_do() {
    worlds::every_law_is_kept("spark_peers", WORLDS, world);
}
