//! Deliberate bugs of exclusion: each must be caught, to prove that the laws of the nights notice errors.

use super::nights::{Bug, violation};
use crate::suites::worlds;

/// Each bug, the number of nights within which it must be caught, and words of the sentence that reports it.
const BUGS: &[(Bug, u64, &str)] = &[
    (Bug::ExcludesByChance, 3, "by chance"),
    (Bug::NeverExcludes, 1, "where everything fails, is never left"),
    (Bug::BlamesAnother, 1, "where nothing fails"),
];

#[test]
fn every_deliberate_bug_is_caught_by_its_sentence() {
    worlds::every_bug_is_caught(BUGS, |seed, bug| violation(seed, Some(bug)));
}

#[test]
fn every_deliberate_bug_has_its_row() {
    worlds::every_bug_has_its_row(BUGS, Bug::ALL);
}

#[test]
fn without_a_bug_no_sentence_is_said() {
    for seed in 0..20 {
        assert_eq!(violation(seed, None), None, "seed {seed}");
    }
}
