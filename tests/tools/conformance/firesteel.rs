//! Runs the cases against Firesteel's Master. Its adapter is `firesteel plan --jsonl -`.

use std::fs;

use firesteel_testkit::{binary, firesteel, run_with_input};
use tempfile::TempDir;

use super::{cases, runner};

fn adapter() -> [&'static str; 4] {
    [binary(), "plan", "--jsonl", "-"]
}

/// Firesteel differs where the sum of Spark's cores overflows: docs/PARITY.md.
pub(crate) fn decides_alike() {
    let done = runner::hold(&["--except", "int_overflow"], &adapter());
    assert_eq!(
        (done.code(), done.stdout.as_str(), done.stderr.as_str()),
        (
            0,
            "34 of 58 cases of kind int_overflow differ, which are excepted\n7000 cases: 6966 the same, 34 differ\n",
            ""
        )
    );
    let done = runner::hold(&["--first", "1"], &adapter());
    assert_eq!(done.code(), 1, "{done}");
    assert!(done.stdout.contains("(int_overflow): ") && done.stdout.contains("... and 33 more\n"), "{done}");
}

pub(crate) fn is_not_shown_the_results() {
    let directory = TempDir::new().expect("a temporary directory");
    let seen = directory.path().join("seen");
    let script = format!("tee '{}' | \"$FIRESTEEL\" plan --jsonl -", seen.display());
    let done = runner::hold_script(&["--except", "int_overflow"], &script);
    assert_eq!(done.code(), 0, "{done}");
    let seen = fs::read_to_string(seen).expect("what the adapter was told");
    let hidden = ["releases", "assigned_cores", "launches", "apps_after"];
    let mut count = 0;
    for (mut case, question) in cases::json(&cases::all()).zip(cases::json(&seen)) {
        let fields = case.as_object_mut().expect("a case is an object");
        fields.retain(|name, _| !hidden.contains(&name.as_str()));
        assert_eq!(question, case);
        count += 1;
    }
    assert_eq!(count, 7000);
}

/// The README shows a case and its decision.
pub(crate) fn answers_the_example() {
    let readme = cases::text("README.md");
    let example: Vec<&str> = readme.lines().filter(|line| line.starts_with("{\"i\":1,")).collect();
    let [case, decision] = example[..] else {
        panic!("the README has one case and one decision: {example:?}")
    };
    let done: firesteel_testkit::Finished =
        run_with_input(firesteel().args(&adapter()[1..]), case.as_bytes().to_vec());
    assert_eq!((done.code(), done.stdout.trim_end()), (0, decision));
}
