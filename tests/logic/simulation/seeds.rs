//! Notable seeds, each with a sentence. The first few have revealed bugs; the others show unusually much of something.
//!
//! A seed gives the same cluster only while scenarios and machines do not change. After a change, a seed here is just
//! one more cluster, and its sentence is history.

use super::{Seed, play};
use crate::suites::worlds::say;

const SEEDS: &[(Seed, &str)] = &[
    (
        Seed::Small(9890),
        "a Worker dropped an order that crossed its new registration, and the order was not repeated",
    ),
    (
        Seed::Small(4731),
        "a task bound to an executor ended with its application's old numbers, and an executor of the new ones took \
         the same number at once",
    ),
    (Seed::Small(3310), "executors on a Worker that was about to end were ended for others, in vain"),
    (Seed::Small(4889), "a stranger reported to the Master that a live executor of a launch had failed"),
    (Seed::Small(643), "an executor was excluded while it was idle, and its idle time began anew"),
    (Seed::Small(1085), "orders to launch are lost with a Worker's connection, nine times"),
    (Seed::Small(598), "a silent Worker is found out by its missing heartbeats, with all its executors"),
    (Seed::Small(1494), "two applications are given up because their executors fail"),
    (Seed::Small(214), "a stranger takes an executor's place and floods its driver with output"),
    (Seed::Small(1243), "a Worker is asked to end a second time and leaves executors to its reaper"),
    (Seed::Small(1461), "no driver finds a Master in time"),
    (Seed::Small(155), "users give up while executors wait at the driver for the Master's word"),
    (Seed::Small(693), "Workers come back with executors of applications that have ended"),
    (Seed::Small(68), "a Master takes a Worker's connection and does not answer"),
    (Seed::Small(424), "executors come to a driver whose numbers are taken by strangers"),
    (Seed::Small(960), "Workers are told to register again over and over"),
    (Seed::Small(1040), "executors and tasks have to be killed because they do not listen"),
    (Seed::Small(1104), "the Master dies five times"),
    (Seed::Small(31), "the Master removes an application under its driver"),
    (
        Seed::Small(327),
        "the last executor near a task's hosts left with its Worker after tasks were given out",
    ),
    (Seed::Small(312), "an order is repeated in a stall, and its executor runs all the same"),
    (
        Seed::Small(17266),
        "a stranger with a Worker of its own sends heartbeats in the name of others, and is silent",
    ),
    (Seed::Small(24678), "a driver's tasks all end before its Master has answered"),
    (
        Seed::Small(1056),
        "a launcher returns to its Master after two final ends, and does not ask for these cores again",
    ),
    (Seed::Small(1538), "a driver returns to a Master that has ended its application, and is told how"),
    (Seed::Small(1106), "a launcher hangs up during a partition, and its Master learns of it afterwards"),
    (
        Seed::Large(14),
        "a driver had met the next leader, and registered with the former one, whose answer was late on its way",
    ),
    (
        Seed::Small(13961),
        "what was preempted for others left room for a cluster driver, which went on waiting",
    ),
    (Seed::Small(15059), "a state of one page, which does not say what cluster drivers need"),
    (Seed::Large(2), "a Master is recovered whose latest applications have ended and are forgotten"),
    (Seed::Large(0), "a cluster of hundreds under faults"),
    (Seed::Large(184), "what an application was given for preempted executors is preempted in the same pass"),
    (Seed::Large(50), "an executor is preempted whose driver is away and cannot be told"),
    (
        Seed::Small(10932),
        "a driver readmits a host while it has no Master, which had heard that it avoids it",
    ),
    (
        Seed::Small(17778),
        "an executor lives that is older than others which ended while its driver was parted from its Master",
    ),
    (Seed::Small(28217), "the Master dies before it has written down that an executor started"),
    (
        Seed::Large(208),
        "an application has hundreds of tasks, and the executor with most of its cores is excluded again and again",
    ),
    (Seed::Small(86769), "an executor of a gang is preempted in the pass in which the gang begins"),
    (
        Seed::Small(127176),
        "two applications take turns in step, each with a profile that needs all of one Worker",
    ),
    (
        Seed::Small(159440),
        "a heartbeat names an order that a report has answered, and files of an earlier order take minutes to come",
    ),
    (Seed::Small(164730), "an application ends for failures while an executor runs on a Worker that leaves"),
    (
        Seed::Small(177368),
        "a Worker's heartbeat is held up until it is silent, and comes before the Master looks",
    ),
    (Seed::Small(201543), "an executor is proven between two early ends on a Worker"),
    (
        Seed::Small(221660),
        "an application's only other Worker is too small for the executors that it wants now",
    ),
    (Seed::Small(249572), "a launcher ends while it has no Master, which has just given it an executor"),
    (Seed::Large(1), "another cluster of hundreds under faults"),
];

#[test]
fn seeds_with_a_story_pass() {
    for &(seed, story) in SEEDS {
        say(&format_args!("{seed:?}: {story}"));
        play(seed).unwrap_or_else(|violation| panic!("{violation}"));
    }
}
