//! Shared parts of suites with worlds from seeds: their settings, and the check that deliberate bugs are caught.

use std::fmt;

use firesteel_world::{Coverage, Outcome};

#[expect(clippy::disallowed_methods, reason = "tests are steered by the environment")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

pub fn number(name: &str) -> Option<u64> {
    let text = variable(name)?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// Prints a line, for `--nocapture` and for the log of a failure.
#[expect(clippy::disallowed_macros, reason = "tests print what they saw")]
pub fn say(line: &dyn fmt::Display) {
    println!("{line}");
}

/// Runs this number of a suite's worlds, or as many as `FIRESTEEL_SEEDS` says. Every law must hold in each. In a run of
/// the default size, everything that can occur must have occurred.
pub fn every_law_is_kept(suite: &str, worlds: u64, run: impl Fn(u64) -> Outcome) -> Coverage {
    let played = number("FIRESTEEL_SEEDS").unwrap_or(worlds);
    let (mut coverage, mut events) = (Coverage::default(), 0);
    for seed in 0..played {
        let outcome = run(seed);
        if let Some(violation) = outcome.violation {
            panic!(
                "{violation}\nreplay it with\n    FIRESTEEL_SEED={seed} cargo test -p firesteel-world --test logic \
                 {suite}::replay -- --nocapture"
            );
        }
        coverage.add(&outcome.coverage);
        events += outcome.events;
    }
    say(&format_args!("{played} worlds, {events} events"));
    for (kind, name, count) in coverage.rows() {
        say(&format_args!("{count:>12}  {kind} {name}"));
    }
    if played >= worlds {
        let never: Vec<_> = coverage.rows().filter(|(.., count)| *count == 0).collect();
        assert!(never.is_empty(), "never happened: {never:?}");
    }
    coverage
}

/// Runs the world with the seed in `FIRESTEEL_SEED`, and prints all its events.
pub fn replay(run: impl Fn(u64) -> Outcome) {
    let outcome = run(number("FIRESTEEL_SEED").unwrap_or(0));
    outcome.trace.iter().for_each(|line| say(line));
    assert_eq!(outcome.violation, None);
}

/// Checks that two worlds with the same seed are equal.
pub fn a_seed_is_one_world(run: impl Fn(u64) -> Outcome) {
    for seed in 0..5 {
        assert!(run(seed).trace == run(seed).trace, "seed {seed}");
    }
}

/// Checks that each bug is caught within its number of worlds, by a sentence with the given words. `sentence` returns
/// what is wrong with the world of a seed that has the bug, or an empty text.
pub fn every_bug_is_caught<B: Copy + fmt::Debug>(
    bugs: &[(B, u64, &str)],
    sentence: impl Fn(u64, B) -> Option<String>,
) {
    let mut free = Vec::new();
    for &(bug, within, words) in bugs {
        let mut sentences = Vec::new();
        let catch = |seed: &u64| {
            let sentence = sentence(*seed, bug).unwrap_or_default();
            let caught = sentence.contains(words);
            sentences.extend(Some(sentence).filter(|sentence| !sentence.is_empty()));
            caught
        };
        match (0..within).find(catch) {
            Some(seed) => say(&format_args!("{:22} {:>3}  {words}", format!("{bug:?}"), seed + 1)),
            None => free.push(format!("{bug:?}: {sentences:#?}")),
        }
    }
    assert!(free.is_empty(), "these bugs were not caught:\n{}", free.join("\n"));
}

/// Checks that each bug has exactly one row.
pub fn every_bug_has_its_row<B: PartialEq + fmt::Debug>(bugs: &[(B, u64, &str)], all: &[B]) {
    for bug in all {
        assert_eq!(bugs.iter().filter(|(known, ..)| known == bug).count(), 1, "{bug:?}");
    }
}

/// Makes the tests of a suite of worlds: `replay` shows one, and the same seed gives the same world.
macro_rules! worlds_from_seeds {
    ($world:expr) => {
        fn world(seed: u64) -> firesteel_world::Outcome {
            $world(seed)
        }

        #[test]
        fn replay() {
            $crate::suites::worlds::replay(world);
        }

        #[test]
        fn the_same_seed_is_the_same_world() {
            $crate::suites::worlds::a_seed_is_one_world(world);
        }
    };
}

pub(crate) use worlds_from_seeds;
