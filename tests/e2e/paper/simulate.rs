//! `firesteel simulate` from the user's view.

use std::path::{Path, PathBuf};

use firesteel_testkit::{firesteel, run};
use serde_json::Value;

use super::pictures;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn simulate(words: &str) -> Value {
    let trace = root().join("fixtures/traces/synthetic");
    let done = run(firesteel().arg("simulate").arg(trace).args(words.split_whitespace()).arg("--json"));
    assert_eq!(done.code(), 0, "{done}");
    serde_json::from_str(&done.stdout).expect("it is JSON")
}

/// Two runs differ only in the Master's time.
#[test]
fn the_same_words_give_the_same_numbers() {
    let words =
        "--policy spark,best-fit --workers 40x64x256g --load 0.8 --applications 300 --longest 1h --seeds 2";
    let told = || {
        let mut value = simulate(words);
        let policies = value["policies"].as_array_mut().expect("policies are a list");
        for seed in policies.iter_mut().flat_map(|policy| policy["seeds"].as_array_mut().expect("seeds, too"))
        {
            assert!(seed["master_ms"].take().as_f64().is_some_and(|taken| taken > 0.0));
            assert_eq!(seed["wait"]["applications"], 300);
        }
        value
    };
    let first = told();
    assert_eq!(first, told());
    assert_eq!(
        (&first["schema"], &first["kind"], &first["workers"]),
        (&2.into(), &"replay".into(), &40.into())
    );
}

/// `UPDATE_GOLDEN=1` records them.
#[test]
fn the_committed_pictures_are_what_these_commands_draw() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for (name, words) in [
        ("fill", "--policy spark,cores-ascending,best-fit,least-fragmentation --static-fill --seeds 3"),
        (
            "waits",
            "--policy spark,spark-consolidate,cores-ascending,best-fit --workers 200x64x256g --load 0.95 --longest 1h",
        ),
    ] {
        let (drawn, committed) =
            (directory.path().join(name), root().join(format!("docs/pictures/simulate-{name}.svg")));
        let words = format!("{words} --svg {}", drawn.display());
        simulate(&words);
        let found = std::fs::read_to_string(&drawn).expect("it was drawn");
        pictures::check(&found);
        if std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
            std::fs::create_dir_all(committed.parent().expect("it is in a directory"))
                .expect("it can be made");
            std::fs::write(&committed, found).expect("it can be written");
        } else {
            let recorded = std::fs::read_to_string(&committed).expect("it is committed");
            assert!(recorded == found, "{} is another one; UPDATE_GOLDEN=1 draws it", committed.display());
        }
    }
}

#[test]
fn what_cannot_be_read_is_named_with_its_file_and_line() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let write = |name: &str, text: &str| {
        std::fs::write(directory.path().join(name), text).expect("it can be written");
    };
    let failed = || {
        let done = run(firesteel().arg("simulate").arg(directory.path()));
        assert_eq!((done.code(), done.stdout.as_str()), (2, ""), "{done}");
        done.stderr.replace(&directory.path().display().to_string(), "DIR")
    };
    assert_eq!(failed(), "firesteel: cannot open DIR/workers.csv: No such file or directory (os error 2)\n");
    write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn-0,32000,262144,0,\n");
    write("pods.csv", "name,cpu_milli\np-0,1000\n");
    assert_eq!(failed(), "firesteel: DIR/pods.csv: line 2: there is no column memory_mib\n");
    write("workers.csv", "count,cores,memory_mib,gpus\n1,0,1,0\n");
    write("applications.csv", "");
    assert_eq!(failed(), "firesteel: DIR/workers.csv: line 2: cores: 0 is not from 1 to 65536\n");
}
