//! Havoc: a cluster of real processes computes while its processes are killed, paused, stalled and cut off at random,
//! bits are flipped, the Master's state is removed, and long messages take the little memory that the Master has.
//!
//! ```text
//! cargo test -p firesteel --test e2e havoc -- --nocapture
//! FIRESTEEL_HAVOC_SECONDS=1200 FIRESTEEL_SEED=7 cargo test -p firesteel --test e2e havoc -- --nocapture
//! ```
//!
//! `firesteel map` runs repeatedly on the cluster, each time with a known output. A line with figures comes at the end.
//! Havoc fails if an output was wrong, if a run got stuck, or if a process of the cluster is left at the end. The seed
//! decides the faults and their order, not the state in which they strike.

use std::thread;
use std::time::{Duration, Instant};

mod deeds;
mod route;
mod runs;
mod victims;

use deeds::Actions;
use runs::Runs;
use victims::Victims;

/// A number from the environment, or else the default.
fn asked(variable: &str, or: u64) -> u64 {
    std::env::var(variable).map_or(or, |words| words.parse().expect("it is a number"))
}

#[test]
fn no_output_is_wrong_and_nothing_is_stuck_or_left_over() {
    let (seconds, seed) = (asked("FIRESTEEL_HAVOC_SECONDS", 20), asked("FIRESTEEL_SEED", 1));
    let victims = Victims::start();
    let (mut deeds, mut runs) = (Actions::new(seed), Runs::default());
    let end = Instant::now() + Duration::from_secs(seconds);
    thread::scope(|scope| {
        let (victims, deeds) = (&victims, &mut deeds);
        scope.spawn(move || {
            while Instant::now() < end {
                deeds.next(victims);
            }
            victims.heal();
        });
        while Instant::now() < end {
            runs.next(victims);
        }
    });
    let orphans = victims.end();
    println!("havoc: {seconds} s, seed {seed}: {deeds}; {runs}; {} orphans", orphans.len());
    assert!(runs.are_sound(), "{runs}");
    assert!(orphans.is_empty(), "left over: {orphans:?}");
}
