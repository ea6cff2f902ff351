//! The journal of a Master under blows, checked by a program that shares no code with it.

use std::path::Path;
use std::process::Command;

use firesteel_testkit::{Cluster, Daemon, Finished, firesteel, run, run_with_input};
use libtest_mimic::Trial;
use nix::sys::signal::Signal;

use crate::conformance::runner::PYTHON;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/tools/grants.py");

pub(crate) fn trials() -> Vec<Trial> {
    PYTHON.trials(&[("grants::no_core_and_no_number_is_given_twice", checked_from_outside)])
}

fn checked(history: &str) -> Finished {
    run_with_input(Command::new("python3").arg(SCRIPT), history.as_bytes().to_vec())
}

fn dumped(state: &Path) -> String {
    let done = run(firesteel().args(["journal", "dump"]).arg(state));
    assert_eq!(done.code(), 0, "{done}");
    done.stdout
}

/// A run with six executors of a core, one after the other on each core.
fn six(cluster: &Cluster) -> Daemon {
    let arguments = ["launch", "--num-executors", "6", "--executor-cores", "1", "--until", "all", "--"];
    Daemon::spawn(cluster.command(&arguments).args(["sleep", "0.5"]))
}

fn checked_from_outside() {
    let mut cluster = Cluster::plan().durable().worker(&["--cores", "2", "--memory", "2g"]).start(3);
    let mut runs: Vec<Daemon> = (0..4).map(|_| six(&cluster)).collect();
    let submitted = cluster.said(&["submit", "--deploy-mode", "cluster", "--", "sleep", "1"]);
    assert!(submitted.contains("driver-"), "{submitted}");
    cluster.workers[0].signal(Signal::SIGKILL);
    cluster.workers[0].wait();
    cluster.master.wait_for_line(&["removed worker-"]);
    // The log is ahead of the journal. An answer is not.
    cluster.json(&["status"]);
    cluster.restart_master();
    cluster.add_worker(&[]);
    runs.push(six(&cluster));
    for run in &mut runs {
        assert_eq!(run.wait(), 0, "{}", run.log());
    }
    cluster.kill_master();

    let history = dumped(&cluster.state());
    let judged = checked(&history);
    assert!(
        judged.code() == 0 && judged.stdout.contains("no core and no number was given twice"),
        "{judged}"
    );
    let lines: Vec<&str> = history.lines().collect();
    let ends = |line: &&str| line.contains(": executor ") && line.contains(" ended: ");
    let launches = |line: &&str| line.contains(" launched on Worker ") && line.contains(": executor ");
    for (forged, words) in [
        (Vec::from_iter(lines.iter().copied().filter(|line| !ends(line))), "cores"),
        (
            Vec::from_iter(lines.iter().flat_map(|line| vec![*line; 1 + usize::from(launches(line))])),
            "is given again",
        ),
    ] {
        let judged = checked(&forged.join("\n"));
        assert!(judged.code() == 1 && judged.stdout.contains(words), "{judged}");
    }
}
