//! What all suites share whose worlds are made from seeds: how they are steered, and that bugs made on purpose are caught.

use std::fmt;

use firesteel_world::{Coverage, Outcome};

/// What the environment says of that name.
#[expect(clippy::disallowed_methods, reason = "tests are steered by the environment")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The same as a number.
pub fn number(name: &str) -> Option<u64> {
    let text = variable(name)?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// For those who run with `--nocapture`, and for the log of a failure.
#[expect(clippy::disallowed_macros, reason = "tests print what they saw")]
pub fn say(line: &dyn fmt::Display) {
    println!("{line}");
}

/// Plays so many worlds of a suite, or as many as `FIRESTEEL_SEEDS` says. Every law is kept in each of them and, if they are
/// as many as by default, everything that can happen has happened.
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

/// Plays the world of the seed that `FIRESTEEL_SEED` names, and prints all that happens.
pub fn replay(run: impl Fn(u64) -> Outcome) {
    let outcome = run(number("FIRESTEEL_SEED").unwrap_or(0));
    outcome.trace.iter().for_each(|line| say(line));
    assert_eq!(outcome.violation, None);
}

/// The same happens in the worlds of the same seed.
pub fn a_seed_is_one_world(run: impl Fn(u64) -> Outcome) {
    for seed in 0..5 {
        assert!(run(seed).trace == run(seed).trace, "seed {seed}");
    }
}

/// Each bug is caught within so many worlds, by a sentence with those words. `sentence` is what is wrong with a world of
/// that seed where there is that bug, or empty.
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

/// Each of all bugs has one row.
pub fn every_bug_has_its_row<B: PartialEq + fmt::Debug>(bugs: &[(B, u64, &str)], all: &[B]) {
    for bug in all {
        assert_eq!(bugs.iter().filter(|(known, ..)| known == bug).count(), 1, "{bug:?}");
    }
}

/// The worlds of a suite, each from its seed: `replay` shows one, and the same seed is the same world.
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
