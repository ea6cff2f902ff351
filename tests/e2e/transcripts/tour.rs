//! The first minutes in the README, and the tour in docs/TOUR.md. Each is a page: its blocks that begin with
//! ```` ```console ```` are one session.

use std::path::{Path, PathBuf};

use super::normal::Normal;
use super::session::Session;
use super::{difference, read, updates};

const README: &str = "README.md";
const TOUR: &str = "docs/TOUR.md";

const OPEN: &str = "```console\n";
const CLOSE: &str = "```";
/// In an HTML comment before a block: a command that is repeated until it succeeds.
const UNTIL: &str = "<!-- until ";
/// The directory in the documents, which stands for the test's.
const DIRECTORY: &str = "/tmp/tour";
/// The ports in the documents.
const NAMED: [&str; 3] = ["7077", "7078", "7079"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// A part of a document: the text between blocks, or a block.
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

/// The blocks of each document as one page.
pub(super) fn pages() -> [String; 2] {
    [README, TOUR].map(|name| {
        let text = read(&repository().join(name));
        let blocks = parts(&text).into_iter().filter_map(|part| match part {
            Part::Block(block) => Some(block.to_owned()),
            Part::Words(_) => None,
        });
        blocks.collect::<Vec<_>>().concat()
    })
}

/// Free ports that replace the ports in a document while it is played. They have the same number of digits and the
/// same order: tables sort Workers by id, and an id ends in the port.
struct Ports([(&'static str, String); 3]);

impl Ports {
    /// The first free ports from `start` on, which must be below 9,000.
    fn free(start: u16) -> Self {
        let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
        let free = (start..10_000).filter(is_free).map(|port| port.to_string());
        // A port of the documents would be mistaken for the one that it stands for.
        let mut free = free.filter(|port| !NAMED.contains(&port.as_str()));
        Self(NAMED.map(|named| (named, free.next().expect("there are free ports"))))
    }

    fn put_in(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (named, free)| text.replace(named, free))
    }

    fn take_out(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (named, free)| text.replace(free, named))
    }
}

/// A block with the answers of now.
fn play(block: &str, session: &mut Session, ports: &Ports) -> String {
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
        let (said, _) = session.run(&ports.put_in(&command));
        played += &ports.take_out(&said);
        if !played.ends_with('\n') {
            played.push('\n');
        }
    }
    played
}

/// Plays the document with this name and compares its answers.
fn check(name: &str, ports: &Ports) {
    let path = repository().join(name);
    let text = read(&path);
    let repository = repository().display().to_string();
    let mut session =
        Session::start(&[("SPARK_MASTER_PORT", &ports.put_in("7077")), ("FIRESTEEL", &repository)]);
    session.run("ln -s \"$FIRESTEEL\"/fixtures fixtures");
    let (mut old, mut new) = (Normal::default(), Normal::default());
    let (mut recorded, mut found, mut written) = (String::new(), String::new(), String::new());
    for part in parts(&text) {
        match part {
            Part::Words(words) => {
                written += words;
                for line in words.lines().filter_map(|line| line.strip_prefix(UNTIL)) {
                    let command = line.strip_suffix("-->").expect("a comment is closed");
                    session.wait_until(&ports.put_in(command));
                }
            }
            Part::Block(block) => {
                let played = play(block, &mut session, ports);
                recorded += &old.form(block, Path::new(DIRECTORY));
                found += &new.form(&played, session.directory());
                written += &format!("{OPEN}{played}{CLOSE}");
            }
        }
    }
    if updates() {
        let shown = written.replace(&session.directory().display().to_string(), DIRECTORY);
        std::fs::write(&path, shown).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    assert!(
        recorded == found,
        "{name} does not show what the commands print (UPDATE_GOLDEN=1 rewrites it):\n{}",
        difference(&recorded, &found)
    );
}

/// A number below `limit` that differs between test processes that run at the same time.
fn lot(limit: u16) -> u16 {
    u16::try_from(std::process::id() % u32::from(limit)).expect("it is below a u16")
}

// The two tests run at the same time, with ports from disjoint ranges.

#[test]
fn the_readme_shows_what_the_commands_print() {
    check(README, &Ports::free(2000 + lot(3000)));
}

#[test]
fn the_tour_shows_what_the_commands_print() {
    check(TOUR, &Ports::free(5500 + lot(3000)));
}
