//! An allocator and a simulated manager: thousands of worlds from seeds, and deliberate bugs.

mod deliberate;

use firesteel_world::containers::{Scenario, run};

use super::suites::worlds::{self, number, say, worlds_from_seeds};

/// Worlds in the default run; `FIRESTEEL_SEEDS` sets another number.
const WORLDS: u64 = 4_000;

worlds_from_seeds!(|seed| run(Scenario::rolled(seed)));

#[test]
fn worlds_of_containers_keep_every_law_under_faults_and_come_right_after_them() {
    let coverage = worlds::every_law_is_kept("containers", WORLDS, world);
    let (played, failed) =
        (number("FIRESTEEL_SEEDS").unwrap_or(WORLDS), coverage.times("allocator effect", "Fail"));
    say(&format_args!("{failed} given up"));
    if played >= WORLDS {
        assert!(failed < played / 2, "{failed} of {played} were given up");
    }
}
