//! How many decisions a second does the Master make, beside other schedulers on their own benchmarks?
//!
//! The real state machine decides, in this process: no socket, no journal. A workload is set up in a new Master, and is
//! timed only from the event that makes it decide until all effects are there. Then the effects are counted: a workload
//! that was not placed as a whole has no time.
//!
//! `run`, beside this file, runs the others' benchmarks by turns with these workloads.
//!
//! ```text
//! cargo bench -p firesteel-core --bench field
//! cargo bench -p firesteel-core --bench field -- --rounds 9
//! cargo bench -p firesteel-core --bench field -- preemptions     # the workloads whose name has this word
//! cargo bench -p firesteel-core --bench field -- --lines         # for `run`: name, decisions, seconds
//! cargo bench -p firesteel-core --bench field -- --test          # once and small: measures nothing
//! ```

#![allow(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench")]
#![allow(unreachable_pub, reason = "nothing outside can reach into a bench")]

mod cluster;
mod gangs;
#[path = "../master_events.rs"]
#[allow(dead_code, reason = "other benches use more of it")]
mod master_events;
mod nomad;
mod preemptions;
mod workload;
mod yunikorn;

use workload::{Scale, Workload};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    if has("--test") {
        let seconds: f64 = workloads(Scale::Small).iter().map(|workload| workload.seconds(1)).sum();
        assert!(seconds > 0.0, "they take time");
        return println!("the workloads are decided");
    }
    let at = arguments.iter().position(|argument| argument == "--rounds").map(|at| at + 1);
    let given = at.map(|at| arguments.get(at).and_then(|number| number.parse().ok()));
    let rounds = given.map_or(5, |number| number.expect("--rounds has a number"));
    let words = arguments.iter().enumerate().filter(|(n, word)| !word.starts_with("--") && Some(*n) != at);
    let words: Vec<&str> = words.map(|(_, word)| word.as_str()).collect();
    let wanted = |workload: &Workload| words.iter().all(|word| workload.name.contains(word));
    if !has("--lines") {
        println!("| | decisions | ms | a second | at least | aim | |");
        println!("|---|---:|---:|---:|---:|---:|---|");
    }
    for workload in workloads(Scale::Full).into_iter().filter(wanted) {
        let seconds = workload.seconds(rounds);
        match has("--lines") {
            true => println!("{}\t{}\t{seconds}", workload.name, workload.decisions),
            false => println!("{}", workload.row(seconds)),
        }
    }
}

fn workloads(scale: Scale) -> Vec<Workload> {
    let all = [yunikorn::workloads(scale), nomad::workloads(scale), gangs::workloads(scale)];
    all.into_iter().flatten().chain(preemptions::workloads(scale)).collect()
}
