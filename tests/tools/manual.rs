//! Checks the manual pages with groff.

use std::process::Command;

use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::{firesteel, run};
use libtest_mimic::Trial;

const GROFF: Component = Component { name: "groff", look: groff_is_there, prepare: || Readiness::Ready };

pub(crate) fn trials() -> Vec<Trial> {
    GROFF.trials(&[("manual::groff_has_nothing_to_warn_of", accepted)])
}

fn groff_is_there() -> Result<(), String> {
    let found = Command::new("groff").arg("--version").output();
    found.map(|_| ()).map_err(|error| format!("groff, of Debian's package groff: {error}"))
}

fn accepted() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let written = run(firesteel().args(["man", "--out"]).arg(directory.path()));
    assert_eq!(written.code(), 0, "{written}");
    let pages: Vec<_> = std::fs::read_dir(directory.path()).expect("it is there").flatten().collect();
    assert!(pages.len() > 10, "{pages:?}");
    for page in pages {
        let arguments = ["-man", "-ww", "-z", "-Tutf8"];
        let judged = run(Command::new("groff").args(arguments).arg(page.path()));
        assert_eq!((judged.code(), judged.stderr.as_str()), (0, ""), "{}", page.path().display());
    }
}
