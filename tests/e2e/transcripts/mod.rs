//! Transcripts: typed commands, and everything that they print.
//!
//! A page under `pages/` is a text like this:
//!
//! ```text
//! cluster workers=2 cores=4 memory=2g
//!
//! # Two items of which one fails.
//! $ firesteel map -- sh -c 'exit "$1"' sh ::: 0 3
//! firesteel: 2 items in N s: 1 succeeded, 1 failed; 3 retries
//! [exit code 1]
//! ```
//!
//! The first line may start a cluster, whose URL is then in `MASTER` (`option=value` words after `workers=` are flags
//! of the Workers; `master:KEY=VALUE` and `worker:KEY=VALUE` are properties). All commands of a page run in one bash,
//! in an empty directory, with the binary under test as `firesteel`, without standard input; standard output and
//! standard error come as one. A command goes on in the next line after a backslash. A line `~ COMMAND` shows
//! nothing: it is repeated until it succeeds, which is how a page waits. `#` is for people.
//!
//! Values that differ between runs have a normal form: ids are numbered, times and ports are words, blanks within
//! tables are two ([`normal`]). `UPDATE_GOLDEN=1` records the answers; commit only differences that you can explain.
//! The README and docs/TOUR.md are pages too ([`tour`]): their answers are not normalised, and the test compares the
//! normal forms.
//!
//! Every option of every command occurs on some page, or in `elsewhere.txt` with its test. For every command there is
//! an example that fails.

mod normal;
mod options;
mod page;
mod session;
mod tour;

use std::path::{Path, PathBuf};

use page::Page;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/e2e/transcripts")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether to record answers.
fn updates() -> bool {
    std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1")
}

/// Compares the answers on a page with those of now.
fn check(name: &str) {
    let path = directory().join("pages").join(format!("{name}.txt"));
    let text = read(&path);
    let found = Page::parse(&text).play().to_string();
    if updates() {
        std::fs::write(&path, found).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    assert!(
        text == found,
        "pages/{name}.txt: the answers are others (UPDATE_GOLDEN=1 takes them):\n{}",
        difference(&text, &found)
    );
}

/// The lines around the first difference, old with `-`, new with `+`.
fn difference(recorded: &str, found: &str) -> String {
    let same = recorded.lines().zip(found.lines()).take_while(|(old, new)| old == new).count();
    let before = recorded.lines().take(same).skip(same.saturating_sub(6)).map(|line| (' ', line));
    let old = recorded.lines().skip(same).take(12).map(|line| ('-', line));
    let new = found.lines().skip(same).take(12).map(|line| ('+', line));
    before.chain(old).chain(new).map(|(sign, line)| format!("{sign} {line}\n")).collect()
}

macro_rules! pages {
    ($($page:ident)*) => {
        $(#[test]
        fn $page() {
            check(stringify!($page));
        })*

        /// A page without a test would check nothing.
        #[test]
        fn every_page_is_played() {
            let pages = std::fs::read_dir(directory().join("pages")).expect("the pages are there");
            let mut found: Vec<String> = pages
                .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned())
                .collect();
            found.sort();
            let mut listed = vec![$(concat!(stringify!($page), ".txt").to_owned()),*];
            listed.sort();
            assert_eq!(found, listed);
        }
    };
}

pages! { general journal secret logs map launch shell files status applications plan simulate daemons settings config completions resources policies turns yarn submit detach cluster }
