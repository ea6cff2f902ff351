//! Deliberate bugs: each must be caught, to prove that the laws notice errors.

use firesteel_world::attempts::{AttemptSabotage, Plan, run_sabotaged};

use crate::suites::worlds;

/// Each bug, the number of worlds within which it must be caught, and words of the sentence that reports it.
#[rustfmt::skip]
const BUGS: &[(AttemptSabotage, u64, &str)] = &[
    (AttemptSabotage::DropAdded, 10, "is launched, and its driver is not told"),
    (AttemptSabotage::DropEnded, 10, "its driver is told 0 times"),
    (AttemptSabotage::DoubleEnded, 10, "its driver is told 2 times"),
    (AttemptSabotage::DropStory, 40, "not all is well"),
    (AttemptSabotage::ReuseNumbers, 40, "is used again"),
    (AttemptSabotage::WrongHost, 10, "its driver is told"),
    (AttemptSabotage::ForgetWords, 10, "in its command"),
    (AttemptSabotage::TrustStrangers, 200, "is said to have ended as KILLED"),
    (AttemptSabotage::ForgetTargets, 10, "are asked for, the driver wants"),
    (AttemptSabotage::ForgetKills, 10, "not all is well"),
    (AttemptSabotage::MissTurn, 20, "are asked for, the driver wants"),
    (AttemptSabotage::DropGone, 40, "not all is well"),
    (AttemptSabotage::EarlyGone, 40, "is told that nothing is left"),
    (AttemptSabotage::DropRemoved, 100, "is not told that its application is over"),
    (AttemptSabotage::DoubleCall, 3, "while a call is open"),
    (AttemptSabotage::DropUnregister, 10, "not all is well"),
    (AttemptSabotage::DoubleUnregister, 10, "is told of the end twice"),
    (AttemptSabotage::WrongStatus, 40, "the manager is told SUCCEEDED"),
    (AttemptSabotage::EarlyLast, 40, "which begins no other then"),
    (AttemptSabotage::WrongCode, 10, "the process ends as"),
    (AttemptSabotage::WrongSilence, 100, "without reason"),
    (AttemptSabotage::EarlyCleaning, 40, "that another attempt may need"),
    (AttemptSabotage::DropCleaning, 10, "are left behind"),
    (AttemptSabotage::DropEndProgram, 100, "leaves its program behind"),
];

#[test]
fn every_deliberate_bug_of_an_application_master_is_caught_by_its_sentence() {
    worlds::every_bug_is_caught(BUGS, |seed, sabotage| run_sabotaged(Plan::rolled(seed), sabotage).violation);
}

#[test]
fn every_deliberate_bug_of_an_application_master_has_its_row() {
    worlds::every_bug_has_its_row(BUGS, &AttemptSabotage::ALL);
}
