//! What all suites share whose worlds are made from seeds: how they are steered, and that bugs made on purpose are caught.

use std::fmt;

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
            sentences.push(sentence);
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
