//! How many decisions per second does the Master make, compared with other schedulers on their own benchmarks?
//!
//! The real state machine decides, in this process, without sockets and journal. Each workload is set up in a new
//! Master. The time runs from the event that makes the Master decide until all effects are there. Then the effects are
//! counted: a workload that was not placed completely has no time.
//!
//! `run`, in the same folder, runs the other benchmarks in turn with these workloads.
//!
//! ```text
//! cargo bench -p firesteel-world --bench field
//! cargo bench -p firesteel-world --bench field -- --rounds 9
//! cargo bench -p firesteel-world --bench field -- preemptions     # the workloads whose name has this word
//! cargo bench -p firesteel-world --bench field -- --lines         # for `run`: name, decisions, seconds
//! cargo bench -p firesteel-world --bench field -- --test          # once and small: measures nothing
//! ```

#![allow(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a bench")]
#![allow(unreachable_pub, reason = "nothing outside can reach into a bench")]

mod cluster;
mod gangs;
mod nomad;
mod preemptions;
mod workload;
mod yunikorn;

use firesteel_testkit::arguments::{Arguments, Known};
use workload::{Scale, Workload};

fn main() {
    let small = workloads(Scale::Small);
    let words: Vec<&str> = small.iter().flat_map(|workload| workload.name.split(' ')).collect();
    let known = Known { flags: &["--lines"], numbers: &["--rounds"], words: &words };
    let arguments = Arguments::of(known);
    if arguments.test() {
        let seconds: f64 = small.iter().map(|workload| workload.seconds(1)).sum();
        assert!(seconds > 0.0, "they take time");
        return println!("the workloads are decided");
    }
    let rounds =
        arguments.number("--rounds").map_or(5, |rounds| usize::try_from(rounds).expect("it is small"));
    let wanted = |workload: &Workload| arguments.words().iter().all(|word| workload.name.contains(word));
    if !arguments.has("--lines") {
        println!("| | decisions | ms | a second | at least | aim | |");
        println!("|---|---:|---:|---:|---:|---:|---|");
    }
    for workload in workloads(Scale::Full).into_iter().filter(wanted) {
        let seconds = workload.seconds(rounds);
        match arguments.has("--lines") {
            true => println!("{}\t{}\t{seconds}", workload.name, workload.decisions),
            false => println!("{}", workload.row(seconds)),
        }
    }
}

fn workloads(scale: Scale) -> Vec<Workload> {
    let all = [yunikorn::workloads(scale), nomad::workloads(scale), gangs::workloads(scale)];
    all.into_iter().flatten().chain(preemptions::workloads(scale)).collect()
}
