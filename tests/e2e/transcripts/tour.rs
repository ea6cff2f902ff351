//! The tour in the README, which is a page: blocks that begin with ```` ```console ````, in one session.

use std::path::{Path, PathBuf};

use super::normal::Normal;
use super::session::Session;
use super::{difference, read, updates};

const OPEN: &str = "```console\n";
const CLOSE: &str = "```";
/// In an HTML comment before a block: a command that is repeated until it succeeds.
const UNTIL: &str = "<!-- until ";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")
}

/// The README in parts: what stands between blocks, and blocks.
enum Part<'a> {
    Words(&'a str),
    Block(&'a str),
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (block, after) = after.split_once(CLOSE).expect("a block is closed");
        parts.extend([Part::Words(before), Part::Block(block)]);
        rest = after;
    }
    parts.push(Part::Words(rest));
    parts
}

/// The blocks as one page.
pub(super) fn page() -> String {
    let text = read(&path());
    let blocks = parts(&text).into_iter().filter_map(|part| match part {
        Part::Block(block) => Some(block.to_owned()),
        Part::Words(_) => None,
    });
    blocks.collect::<Vec<_>>().concat()
}

/// A block, with the answers of now.
fn play(block: &str, session: &mut Session, port: &str) -> String {
    let mut played = String::new();
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("$ ") else { continue };
        let mut command = first.to_owned();
        while command.ends_with('\\')
            && let Some(next) = lines.next()
        {
            command = command + "\n" + next;
        }
        played += &format!("$ {command}\n");
        // A port that nobody else has stands in for the usual one.
        let (said, _) = session.run(&command.replace("7077", port));
        played += &said.replace(port, "7077");
        if !played.ends_with('\n') {
            played.push('\n');
        }
    }
    played
}

#[test]
fn the_tour_in_the_readme_is_what_happens() {
    let text = read(&path());
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        free.local_addr().expect("it is bound").port().to_string()
    };
    let repository =
        path().canonicalize().expect("it is there").parent().expect("it is in one").display().to_string();
    let mut session = Session::start(&[("SPARK_MASTER_PORT", &port), ("FIRESTEEL", &repository)]);
    session.run("ln -s \"$FIRESTEEL\"/fixtures fixtures");
    let (mut old, mut new) = (Normal::default(), Normal::default());
    let (mut recorded, mut found, mut written) = (String::new(), String::new(), String::new());
    for part in parts(&text) {
        match part {
            Part::Words(words) => {
                written += words;
                for line in words.lines().filter_map(|line| line.strip_prefix(UNTIL)) {
                    let command = line.strip_suffix("-->").expect("a comment is closed");
                    session.wait_until(&command.replace("7077", &port));
                }
            }
            Part::Block(block) => {
                let played = play(block, &mut session, &port);
                recorded += &old.form(block, session.directory());
                found += &new.form(&played, session.directory());
                written += &format!("{OPEN}{played}{CLOSE}");
            }
        }
    }
    if updates() {
        let shown = written.replace(&session.directory().display().to_string(), "/tmp/tour");
        std::fs::write(path(), shown).expect("the README can be written");
        return;
    }
    assert!(
        recorded == found,
        "the README's tour is not what happens (UPDATE_GOLDEN=1 takes it):\n{}",
        difference(&recorded, &found)
    );
}
