//! Lines of a plan: what is refused, with which message.

use firesteel_sim::plan::{self, LineError};

#[test]
fn a_bad_line_is_refused_with_its_number_and_field() {
    let call = r#"{"i":0,"spread_out":true,"app":{"cores_max":4,"cores_per_executor":2,"memory_per_executor_mb":512,
        "executor_limit":null},"workers":[{"cores_free":8,"memory_free_mb":1024,"resources_free":{"gpu":1}}]}"#
        .replace('\n', " ");
    for (from, to, expected) in [
        ("{\"i\":0,", "{", "missing field `i`"),
        ("\"cores_max\":4,", "", "app: missing field `cores_max`"),
        ("true", "\"yes\"", "spread_out: invalid type: string \"yes\", expected a boolean"),
        (
            "\"cores_per_executor\":2",
            "\"cores_per_executor\":2.5",
            "app.cores_per_executor: invalid type: floating point `2.5`, expected i64",
        ),
        (
            "\"executor_limit\":null",
            "\"executor_limit\":-1",
            "app.executor_limit: invalid value: integer `-1`, expected u64",
        ),
        ("1024,", "null,", "workers[0].memory_free_mb: invalid type: null, expected i64"),
        (
            "\"gpu\":1",
            "\"gpu\":100000",
            "workers[0].resources_free.gpu: a Worker has at most 65535 addresses, not 100000",
        ),
        ("]}", "]", "EOF while parsing an object"),
        ("]}", "]} 7", "trailing characters"),
    ] {
        let bad = call.replacen(from, to, 1);
        assert_ne!(bad, call);
        let lines = format!("{call}\n\n{bad}\n{call}");
        let read: Vec<_> = plan::calls(lines.as_bytes()).collect();
        assert_eq!(read.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true], "{bad}");
        assert_eq!(said(&read[1]), format!("line 3: {expected}"));
    }
}

#[test]
fn a_pass_names_the_field_that_is_wrong_too() {
    let pass = |profiles: &str, state: &str| {
        format!(
            r#"{{"i":1,"spread_out":false,"policy":"WORKER_ID","default_cores":null,"workers":[{{"id":"w1","state":"{state}",
            "cores":8,"cores_free":8,"memory_mb":1024,"memory_free_mb":1024}}],"apps":[{{"cores_max":null,"profiles":[{profiles}],
            "next_executor_id":0}}]}}"#
        )
        .replace('\n', " ")
    };
    let default = r#"{"rp_id":0,"cores":2,"memory_mb":null,"executor_limit":null}"#;
    let other = r#"{"rp_id":1,"cores":"2","memory_mb":null,"executor_limit":null}"#;
    for (profiles, state, expected) in [
        (String::new(), "ALIVE", "apps[0].profiles: invalid length 0, expected the default profile at least"),
        (
            format!("{default},{other}"),
            "ALIVE",
            "apps[0].profiles[1].cores: invalid type: string \"2\", expected i64",
        ),
        (
            default.to_owned(),
            "SLEEPY",
            "workers[0].state: unknown variant `SLEEPY`, expected one of `ALIVE`, `DEAD`, `DECOMMISSIONED`, `UNKNOWN`",
        ),
    ] {
        let read: Vec<_> = plan::passes(pass(&profiles, state).as_bytes()).collect();
        assert_eq!(read.len(), 1);
        assert_eq!(said(&read[0]), format!("line 1: {expected}"));
    }
    assert!(plan::passes(pass(default, "ALIVE").as_bytes()).all(|pass| pass.is_ok()));
}

#[test]
fn a_pass_that_says_what_cannot_be_is_refused() {
    let pass = |profiles: &str, next: u32, workers: &str| {
        format!(
            r#"{{"i":9,"spread_out":true,"policy":"WORKER_ID","default_cores":null,"workers":[{workers}],"apps":[{{"cores_max":4,"profiles":[{profiles}],"existing_executors":[{{"rp_id":0,"cores":1,"count":2}}],"next_executor_id":{next}}}]}}"#
        )
    };
    let profile = |id: u32| format!(r#"{{"rp_id":{id},"cores":1,"memory_mb":512,"executor_limit":null}}"#);
    let worker =
        r#"{"id":"w1","state":"ALIVE","cores":8,"cores_free":8,"memory_mb":1024,"memory_free_mb":1024}"#;
    let (one, two) = (profile(0), format!("{},{}", profile(0), profile(0)));
    for (line, expected) in [
        (
            pass(&two, 2, worker),
            "pass 9: apps[0].profiles: the first profile must be number 0, and all numbers must differ",
        ),
        (
            pass(&one, 1, worker),
            "pass 9: apps[0].next_executor_id: 1 is too low, since the application holds 2 executors",
        ),
        (
            pass(&one, 2, &format!("{worker},{worker}")),
            "pass 9: worker w1 has the id, address or connection of another one",
        ),
    ] {
        let pass = plan::passes(line.as_bytes()).next().expect("a line").expect("well formed");
        assert_eq!(pass.answer().map_err(|error| error.to_string()), Err(expected.to_owned()));
    }
    let sound = pass(&one, 2, worker);
    let pass = plan::passes(sound.as_bytes()).next().expect("a line").expect("well formed");
    assert_eq!(pass.answer().map(|answer| answer.launches.len()), Ok(2));
}

#[test]
fn an_answer_is_one_line() {
    let call = r#"{"i":7,"spread_out":true,"app":{"cores_max":null,"cores_per_executor":2,"memory_per_executor_mb":512,"executor_limit":null},"workers":[{"cores_free":5,"memory_free_mb":9999},{"cores_free":1,"memory_free_mb":9999}]}"#;
    let pass = r#"{"i":8,"spread_out":true,"policy":"WORKER_ID","default_cores":3,"workers":[{"id":"w1","state":"ALIVE","cores":8,"cores_free":8,"memory_mb":1024,"memory_free_mb":1024,"resources":{"gpu":{"addresses":["0","1"],"free":["1"]}}}],"apps":[{"cores_max":null,"profiles":[{"rp_id":0,"cores":null,"memory_mb":512,"executor_limit":null,"resources":{"gpu":1}}],"next_executor_id":5}]}"#;
    let mut written = Vec::new();
    for question in plan::questions(format!("{call}\n{pass}").as_bytes()) {
        let answer = question.expect("it is well formed").answer().expect("it can be");
        plan::write_line(&mut written, &answer).expect("a vector takes it");
    }
    let expected = [
        r#"{"i":7,"assigned_cores":[4,0]}"#,
        r#"{"i":8,"launches":[{"app":0,"worker":"w1","exec_id":5,"cores":3,"memory_mb":512,"rp_id":0,"resources":{"gpu":["1"]}}],"apps_after":[{"cores_left":0,"state":"RUNNING"}]}"#,
    ];
    assert_eq!(String::from_utf8(written).expect("text").lines().collect::<Vec<_>>(), expected);
}

fn said<T>(read: &Result<T, LineError>) -> String {
    read.as_ref().err().map(ToString::to_string).unwrap_or_default()
}
