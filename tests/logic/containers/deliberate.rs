//! Deliberate bugs: each must be caught, to prove that the laws notice errors.

use firesteel_world::containers::{ContainerSabotage, Scenario, run_sabotaged};

use crate::suites::worlds;

/// Each bug, the number of worlds within which it must be caught, and words of the sentence that reports it.
#[rustfmt::skip]
const BUGS: &[(ContainerSabotage, u64, &str)] = &[
    (ContainerSabotage::DropRelease, 20, "is neither used nor given back"),
    (ContainerSabotage::DropZero, 10, "0 are pending"),
    (ContainerSabotage::AskForMore, 3, "the manager is told to want"),
    (ContainerSabotage::DoubleLaunch, 3, "are launched in"),
    (ContainerSabotage::WrongHost, 3, "is said to be on elsewhere"),
    (ContainerSabotage::ForgetGranted, 3, "is neither used nor given back"),
    (ContainerSabotage::DropEnded, 20, "is not ended, and its container"),
    (ContainerSabotage::DoubleEnded, 10, "is told twice"),
    (ContainerSabotage::DropAnswer, 20, "is not answered"),
    (ContainerSabotage::DropInclude, 40, "not all is well"),
    (ContainerSabotage::BlindToHosts, 100, "though host is wanted"),
    (ContainerSabotage::BlindToRacks, 200, "though rack is wanted"),
];

#[test]
fn every_deliberate_bug_of_an_allocator_is_caught_by_its_sentence() {
    worlds::every_bug_is_caught(BUGS, |seed, sabotage| {
        run_sabotaged(Scenario::rolled(seed), sabotage).violation
    });
}

#[test]
fn every_deliberate_bug_of_an_allocator_has_its_row() {
    worlds::every_bug_has_its_row(BUGS, &ContainerSabotage::ALL);
}
