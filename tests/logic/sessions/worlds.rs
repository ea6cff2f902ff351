//! Thousands of worlds of one session, from seeds.

use firesteel_world::sessions::{Scenario, run};

use crate::suites::worlds::{self, worlds_from_seeds};

/// Worlds in the default run; `FIRESTEEL_SEEDS` sets another number.
const WORLDS: u64 = 6_000;

worlds_from_seeds!(|seed| run(Scenario::rolled(seed)));

#[test]
fn every_command_of_every_world_is_answered_once_and_every_session_ends() {
    worlds::every_law_is_kept("sessions::worlds", WORLDS, world);
}
