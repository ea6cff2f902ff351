//! Thousands of worlds of one map run, from seeds.

use firesteel_world::map_runs::{Coverage, Scenario, run};

use crate::worlds::{number, say};

/// Worlds in the default run; `FIRESTEEL_SEEDS` sets another number.
const WORLDS: u64 = 4_000;

#[test]
fn every_item_of_every_world_is_accounted_for_once_and_every_run_ends() {
    let worlds = number("FIRESTEEL_SEEDS").unwrap_or(WORLDS);
    let (mut coverage, mut events) = (Coverage::default(), 0);
    for seed in 0..worlds {
        let outcome = run(Scenario::rolled(seed));
        if let Some(violation) = outcome.violation {
            panic!(
                "{violation}\nreplay it with\n    FIRESTEEL_SEED={seed} cargo test -p firesteel-world --test logic \
                 map_runs::worlds::replay -- --nocapture"
            );
        }
        coverage.add(&outcome.coverage);
        events += outcome.events;
    }
    say(&format_args!("{worlds} worlds, {events} events"));
    for (kind, name, count) in coverage.rows() {
        say(&format_args!("{count:>12}  {kind} {name}"));
    }
    if worlds >= WORLDS {
        let never: Vec<_> = coverage.rows().into_iter().filter(|(_, _, count)| *count == 0).collect();
        assert!(never.is_empty(), "never happened: {never:?}");
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
