//! Deliberate bugs: each must be caught, so that the laws are known to bite.

use firesteel_world::sessions::{Scenario, SessionSabotage, run_sabotaged};

use crate::suites::worlds;

/// Each bug, within how many worlds it must be caught, and words of the sentence that catches it.
#[rustfmt::skip]
const BUGS: &[(SessionSabotage, u64, &str)] = &[
    (SessionSabotage::DropWant, 5, "the session is not over"),
    (SessionSabotage::WantTwice, 5, "a line is wanted while one is awaited"),
    (SessionSabotage::DropSubmit, 10, "was not answered"),
    (SessionSabotage::SubmitTwice, 10, "is next"),
    (SessionSabotage::MisplaceTask, 10, "runs elsewhere"),
    (SessionSabotage::SubmitAtEnd, 10, "after the end of the application"),
    (SessionSabotage::DropAnswer, 10, "was not answered"),
    (SessionSabotage::AnswerTwice, 10, "is answered twice"),
    (SessionSabotage::DropComplaint, 10, "was not answered"),
    (SessionSabotage::MissTaskEnd, 40, "the session is not over"),
    (SessionSabotage::MissRequest, 100, "the session was asked to end, and goes on"),
    (SessionSabotage::MissApplicationEnd, 40, "DriverLost without a reason"),
    (SessionSabotage::DropRecordEnd, 10, "is not completed"),
    (SessionSabotage::DropSettle, 5, "the session is not over"),
    (SessionSabotage::DropUnmute, 200, "while outputs are dropped"),
    (SessionSabotage::DropForget, 40, "while an answer is awaited"),
    (SessionSabotage::DropCancel, 40, "ctrl-c does not end task"),
    (SessionSabotage::DropEnd, 5, "its application goes on"),
    (SessionSabotage::DropFinish, 5, "the session is not over"),
    (SessionSabotage::FinishTwice, 5, "after the end of the session"),
    (SessionSabotage::WrongCode, 10, "was expected"),
];

#[test]
fn every_deliberate_bug_of_a_session_is_caught_by_its_sentence() {
    worlds::every_bug_is_caught(BUGS, |seed, sabotage| {
        run_sabotaged(Scenario::rolled(seed), sabotage).violation
    });
}

#[test]
fn every_deliberate_bug_of_a_session_has_its_row() {
    worlds::every_bug_has_its_row(BUGS, &SessionSabotage::ALL);
}
