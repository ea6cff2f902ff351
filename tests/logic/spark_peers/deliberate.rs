//! Deliberate bugs: each must be caught, to prove that the laws notice errors.

use firesteel_world::spark_peers::{Scenario, SparkSabotage, run_sabotaged};

use crate::suites::worlds;

/// Each bug, the number of worlds within which it must be caught, and words of the sentence that reports it.
#[rustfmt::skip]
const BUGS: &[(SparkSabotage, u64, &str)] = &[
    (SparkSabotage::WrongChannel, 10, "speaks"),
    (SparkSabotage::WrongPeer, 10, "goes to"),
    (SparkSabotage::DropLeave, 10, "have not left"),
    (SparkSabotage::DoubleLeave, 10, "is left twice"),
    (SparkSabotage::DoubleAnswer, 10, "is answered twice"),
    (SparkSabotage::DropAnswer, 10, "is the Master's answer"),
    (SparkSabotage::FalseAnswer, 10, "is the Master's answer"),
    (SparkSabotage::SpeakOn, 10, "after its close it wants"),
    (SparkSabotage::IgnoreToken, 300, "somebody speaks for"),
    (SparkSabotage::DoubleOrder, 10, "runs already"),
    (SparkSabotage::DropOrder, 10, "no order is written"),
    (SparkSabotage::DropWithdraw, 10, "is still in the directory"),
    (SparkSabotage::DropEnter, 10, "and not entered"),
    (SparkSabotage::NeverMute, 100, "does not close"),
    (SparkSabotage::DropNote, 10, "are in the log"),
    (SparkSabotage::DropBytes, 10, "bytes are said"),
    (SparkSabotage::SameNumber, 20, "have the number"),
    (SparkSabotage::DoubleRegister, 10, "registers 2 times"),
    (SparkSabotage::OtherWorker, 10, "speaks for worker-0"),
];

#[test]
fn every_deliberate_bug_of_a_connection_is_caught_by_its_sentence() {
    worlds::every_bug_is_caught(BUGS, |seed, sabotage| {
        run_sabotaged(Scenario::rolled(seed), sabotage).violation
    });
}

#[test]
fn every_deliberate_bug_of_a_connection_has_its_row() {
    worlds::every_bug_has_its_row(BUGS, &SparkSabotage::ALL);
}
