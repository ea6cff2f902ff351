//! Seeds that once showed something, each with a sentence. A seed is a cluster only as long as the scenarios
//! are rolled as they are: when that changes, a seed here is one cluster more and its sentence is history.

use super::{Seed, say, survive};

const SEEDS: [(Seed, &str); 6] = [
    (
        Seed::Small(932),
        "executors of another profile, too small for the tasks, held all of an application's cores",
    ),
    (
        Seed::Small(8),
        "a task that was ended from outside had its driver take the executor for one that leaves",
    ),
    (
        Seed::Small(86),
        "a stranger's application, whose program does not exist, is launched until it is given up",
    ),
    (
        Seed::Small(120),
        "a Worker refused for its predecessor's address comes back until the Master has noticed",
    ),
    (Seed::Large(0), "a Master crashes over hundreds of Workers, and all register again"),
    (Seed::Large(1), "connections are cut in a cluster of hundreds"),
];

#[test]
fn seeds_that_showed_something_pass() {
    for (seed, story) in SEEDS {
        say(&format_args!("{seed:?}: {story}"));
        survive(seed);
    }
}
