//! Which failures of a task are retried.

use std::path::Path;

use firesteel_testkit::{Finished, firesteel, run};

/// Maps a command that records each attempt and exits with the code. Returns the result and the number of attempts.
fn attempts(code: i32, options: &[&str], directory: &Path) -> (Finished, usize) {
    let notes = directory.join(format!("{code}{}", options.concat().replace('/', "")));
    let script = format!("echo x >> {}; exit {code}", notes.display());
    let mut command = firesteel();
    command.args(["map", "--master", "local-cluster[1,1,1024]"]).args(options);
    let done = run(command.args(["--", "sh", "-c", &script, "sh", ":::", "a"]));
    let count = std::fs::read_to_string(&notes).expect("the command has written").lines().count();
    (done, count)
}

#[test]
fn a_task_is_not_retried_after_a_fatal_exit_code() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twice = ["--conf", "spark.task.maxFailures=2"];
    for (code, options, expected) in [
        (124, &[][..], 1),
        (124, &["--fatal-exit-codes", "none"], 2),
        (3, &[], 2),
        (3, &["--fatal-exit-codes", "2-4,9"], 1),
        (126, &[], 2),
        (3, &["--conf", "firesteel.task.fatalExitCodes=3"], 1),
    ] {
        let options = [&twice[..], options].concat();
        let (done, count) = attempts(code, &options, directory.path());
        assert_eq!((done.code(), count), (1, expected), "exit code {code} with {options:?}: {done}");
        let said = done.stderr.contains(&format!("exit code {code}, which is not retried"));
        assert_eq!(said, expected == 1, "{done}");
    }
}

#[test]
fn the_time_that_timeout_gives_an_item_passes_once() {
    let mut command = firesteel();
    command.args([
        "map",
        "--master",
        "local-cluster[1,1,1024]",
        "--",
        "timeout",
        "0.1",
        "sleep",
        ":::",
        "600",
    ]);
    let done = run(&mut command);
    assert_eq!(done.code(), 1, "{done}");
    assert!(done.stderr.contains("(600): exit code 124, which is not retried"), "{done}");
    assert!(!done.stderr.contains("repeated"), "{done}");
}

#[test]
fn exit_codes_that_are_none_are_refused() {
    for codes in ["0", "256", "x", ""] {
        let done = run(firesteel().args(["map", "--fatal-exit-codes", codes, "--", "true", ":::", "a"]));
        assert_eq!(done.code(), 2, "{done}");
        let said =
            format!("firesteel.task.fatalExitCodes cannot be {codes:?} (--fatal-exit-codes): write numbers");
        assert!(done.stderr.contains(&said), "{done}");
    }
}
