//! An allocator and a fake manager: thousands of worlds from seeds, allocators that err on purpose.

mod deliberate;

use firesteel_world::containers::{Coverage, Scenario, run};

use crate::worlds::{number, say};

/// Worlds in the default run; `FIRESTEEL_SEEDS` sets another number.
const WORLDS: u64 = 4_000;

#[test]
fn worlds_of_containers_keep_every_law_under_faults_and_come_right_after_them() {
    let worlds = number("FIRESTEEL_SEEDS").unwrap_or(WORLDS);
    let (mut coverage, mut events, mut failed) = (Coverage::default(), 0, 0);
    for seed in 0..worlds {
        let outcome = run(Scenario::rolled(seed));
        if let Some(violation) = outcome.violation {
            panic!(
                "{violation}\nreplay it with\n    FIRESTEEL_SEED={seed} cargo test -p firesteel-world --test logic \
                 containers::replay -- --nocapture"
            );
        }
        coverage.add(&outcome.coverage);
        events += outcome.events;
        failed += u64::from(outcome.failed);
    }
    say(&format_args!("{worlds} worlds, {failed} given up, {events} events"));
    for (kind, name, count) in coverage.rows() {
        say(&format_args!("{count:>12}  {kind} {name}"));
    }
    if worlds >= WORLDS {
        let never: Vec<_> = coverage.rows().into_iter().filter(|(_, _, count)| *count == 0).collect();
        assert!(never.is_empty(), "never happened: {never:?}");
        assert!(failed < worlds / 2, "{failed} of {worlds} were given up");
    }
}

#[test]
fn replay() {
    let seed = number("FIRESTEEL_SEED").unwrap_or(0);
    let outcome = run(Scenario::rolled(seed));
    outcome.trace.iter().for_each(|line| say(line));
    assert_eq!(outcome.violation, None);
}

#[test]
fn the_same_seed_is_the_same_world() {
    for seed in 0..5 {
        let trace = || run(Scenario::rolled(seed)).trace;
        assert!(trace() == trace(), "seed {seed}");
    }
}
