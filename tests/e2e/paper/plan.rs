//! `firesteel plan` as called by other programs.

use std::io::Read;
use std::path::{Path, PathBuf};

use firesteel_testkit::{firesteel, run, run_with_input};
use flate2::read::GzDecoder;
use serde_json::Value;

fn recorded(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/conformance").join(name);
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("a fixture is text");
    text
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// Both recorded files at once, on standard input: each answer has the recorded fields. Where Spark's sum of cores
/// overflowed, the tests of the placement check the right answer instead.
#[test]
fn every_recorded_decision_is_answered_alike_and_in_order() {
    let questions = recorded("placements.jsonl.gz") + &recorded("passes.jsonl.gz");
    let done = run_with_input(firesteel().args(["plan", "--jsonl", "-"]), questions.clone().into_bytes());
    assert_eq!((done.code(), done.stderr.as_str()), (0, ""));
    let (questions, answers) = (lines(&questions), lines(&done.stdout));
    assert_eq!((questions.len(), answers.len()), (7000, 7000));
    let mut compared = 0;
    for (question, answer) in questions.iter().zip(&answers) {
        assert_eq!(question["i"], answer["i"]);
        if question["kind"] != "int_overflow" {
            for (field, value) in answer.as_object().expect("an answer is an object") {
                assert_eq!(*value, question[field], "{field} of {}", question["i"]);
            }
            compared += 1;
        }
    }
    assert!(compared > 6500, "only {compared} answers were compared");
}

#[test]
fn a_bad_line_is_named_with_its_field_and_the_answers_before_it_stand() {
    let call = r#"{"i":7,"spread_out":true,"app":{"cores_max":4,"default_cores":null,"cores_per_executor":2,"memory_per_executor_mb":1,"executor_limit":null,"resources_per_executor":{},"rp_id":0,"existing_executors":[]},"workers":[{"cores":8,"cores_free":8,"memory_mb":9,"memory_free_mb":9}]}"#;
    let answer = "{\"i\":7,\"assigned_cores\":[4]}\n";
    for (bad, words) in [
        ("{", "line 2: "),
        ("[]", "line 2: "),
        (&call.replace("\"cores_free\":8", "\"cores_free\":\"x\""), "line 2: workers[0].cores_free: "),
        (&call.replace("\"spread_out\":true,", ""), "line 2: missing field `spread_out`"),
        (&format!("{call} {{}}"), "line 2: "),
        (
            r#"{"i":1,"spread_out":true,"policy":"BEST","default_cores":null,"workers":[],"apps":[]}"#,
            "line 2: policy: ",
        ),
    ] {
        let input = format!("{call}\n{bad}\n{call}\n");
        let done = run_with_input(firesteel().args(["plan", "--jsonl", "-"]), input.into_bytes());
        assert_eq!(done.code(), 2, "{done}");
        assert_eq!(done.stdout, answer, "{bad}");
        let said = done.stderr.strip_prefix("firesteel: standard input: ").unwrap_or_default();
        assert!(said.starts_with(words) && said.trim_end().lines().count() == 1, "{bad}: {done}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let done = run(firesteel().args(["plan", "--jsonl", "/no/such/file"]));
    assert_eq!(done.code(), 2);
    assert_eq!(done.stderr, "firesteel: cannot open /no/such/file: No such file or directory (os error 2)\n");
}
