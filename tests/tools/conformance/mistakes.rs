//! What the runner must reject: Masters with deliberate mistakes, and adapters that do not work.

use firesteel_testkit::Finished;

use super::cases::Few;
use super::runner::{hold, hold_few};

/// An adapter without a mistake.
const HONEST: &str = "\"$FIRESTEEL\" plan --jsonl -";

/// The number of differing decisions that the runner reports.
fn differing(done: &Finished) -> usize {
    let last = done.stdout.lines().last().unwrap_or_default();
    let count = last.rsplit_once(" the same, ").and_then(|(_, end)| end.strip_suffix(" differ"));
    count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no count at the end: {done}"))
}

/// The number of decisions that differ without a mistake, because their sum overflows.
fn excepted(few: &Few) -> usize {
    let done = hold_few(few, HONEST);
    assert_eq!(done.code(), 0, "{done}");
    differing(&done)
}

/// Each mistake changes a question before Firesteel's Master gets it.
pub(crate) fn wrong_rules() {
    let few = Few::write();
    let excepted = excepted(&few);
    for (mistake, lie) in [
        ("never spreads", "s/\"spread_out\":true/\"spread_out\":false/"),
        ("ignores limits", "s/\"executor_limit\":[0-9][0-9]*/\"executor_limit\":null/g"),
        ("forgets executors", "s/\"existing_executors\":\\[[^]]*\\]/\"existing_executors\":[]/g"),
        ("ignores the order of Workers", "s/\"policy\":\"[A-Z_]*\"/\"policy\":\"WORKER_ID\"/"),
        ("uses dead Workers", "s/\"DEAD\"/\"ALIVE\"/g"),
        ("ignores the default of cores", "s/\"default_cores\":[0-9][0-9]*/\"default_cores\":null/"),
        ("ignores resources", "s/\"resources_per_executor\":{[^}]*}/\"resources_per_executor\":{}/"),
    ] {
        let done = hold_few(&few, &format!("sed '{lie}' | {HONEST}"));
        assert_eq!(done.code(), 1, "a Master that {mistake}: {done}");
        assert!(differing(&done) > excepted + 10, "a Master that {mistake}: {done}");
        assert!(
            done.stdout.contains(": Spark ") && done.stdout.contains(", the adapter "),
            "{mistake}: {done}"
        );
    }
}

/// Each mistake changes one value of a correct decision.
pub(crate) fn wrong_values() {
    let few = Few::write();
    let excepted = excepted(&few);
    let pass = Few::PLACEMENTS + 1;
    for (line, change, words) in [
        (
            1,
            "s/\\[7,0\\]/[6,1]/",
            "placements.jsonl case 0 (unset_cores): assigned_cores[0]: Spark 7, the adapter 6",
        ),
        (
            1,
            "s/\\[7,0\\]/[7]/",
            "placements.jsonl case 0 (unset_cores): number of assigned_cores: Spark 2, the adapter 1",
        ),
        (
            pass,
            "s/\"exec_id\":0/\"exec_id\":1/",
            "passes.jsonl case 0 (ties): launches[0].exec_id: Spark 0, the adapter 1",
        ),
        (
            pass,
            "s/\"RUNNING\"/\"WAITING\"/",
            "passes.jsonl case 0 (ties): apps_after[0].state: Spark \"RUNNING\", the adapter \"WAITING\"",
        ),
        (
            pass,
            "s/\"app\":0/\"app\":false/",
            "passes.jsonl case 0 (ties): launches[0].app: Spark 0, the adapter false",
        ),
    ] {
        let done = hold_few(&few, &format!("{HONEST} | sed '{line}{change}'"));
        assert_eq!((done.code(), differing(&done)), (1, excepted + 1), "{change}: {done}");
        assert_eq!(done.stdout.lines().next(), Some(words), "{done}");
    }
    // Empty resources mean the same as missing ones, and 6.0 is the number 6.
    for same in ["s/\"rp_id\":0}/\"rp_id\":0,\"resources\":{}}/g", "s/\"cores\":6,/\"cores\":6.0,/g"] {
        let done = hold_few(&few, &format!("{HONEST} | sed '{same}'"));
        assert_eq!((done.code(), differing(&done)), (0, excepted), "{same}: {done}");
    }
}

pub(crate) fn broken_adapters() {
    let few = Few::write();
    for (script, words) in [
        ("cat", "case 0: the decision has no assigned_cores"),
        ("exit 3", "ended with exit status 3"),
        ("\"$FIRESTEEL\" plan --jsonl - | head -n 100", "the adapter ended before placements.jsonl case 100"),
        ("\"$FIRESTEEL\" plan --jsonl - | sed 5d", "case 4: the decision has another number: {\"i\":5,"),
        ("\"$FIRESTEEL\" plan --jsonl - | sed p", "case 1: the decision has another number: {\"i\":0,"),
        ("\"$FIRESTEEL\" plan --jsonl -; echo '{}'", "the adapter wrote more decisions than there are cases"),
        ("\"$FIRESTEEL\" plan --jsonl -; exit 1", "ended with exit status 1"),
        ("echo hello; \"$FIRESTEEL\" plan --jsonl -", "case 0: no JSON: hello"),
        ("while :; do echo '[]'; done", "case 0: the decision has another number: []"),
    ] {
        let done = hold_few(&few, script);
        assert_eq!(done.code(), 2, "{script}: {done}");
        assert!(done.stderr.contains(words), "{script}: {done}");
    }
    let done = hold(&[], &["/no/such/adapter"]);
    assert!(done.code() == 2 && done.stderr.contains("/no/such/adapter"), "{done}");
}

pub(crate) fn wrong_usage() {
    for (options, words) in [
        (&["--except", "int-overflow"][..], "no case is of kind int-overflow"),
        (&["--release", "2.4.8"], "there are no cases"),
        (&["--cases", "/no/such/file"], "/no/such/file"),
        (&["--first", "few"], "--first"),
    ] {
        let done = hold(options, &["true"]);
        assert_eq!(done.code(), 2, "{options:?}: {done}");
        assert!(done.stderr.contains(words), "{options:?}: {done}");
    }
}
