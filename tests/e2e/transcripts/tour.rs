//! The tour in docs/TOUR.md, which is a page: blocks that begin with ```` ```console ````, in one session.

use std::path::{Path, PathBuf};

use super::normal::Normal;
use super::session::Session;
use super::{difference, read, updates};

const OPEN: &str = "```console\n";
const CLOSE: &str = "```";
/// In an HTML comment before a block: a command that is repeated until it succeeds.
const UNTIL: &str = "<!-- until ";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TOUR.md")
}

/// The tour in parts: what stands between blocks, and blocks.
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

/// Ports that nobody else has stand in for those that the tour names. They have as many digits and the same order: the
/// Workers in the tables are in the order of their ids, which end in the port.
struct Ports([(&'static str, String); 3]);

impl Ports {
    fn free() -> Self {
        let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
        let somewhere = 2000 + (std::process::id() % 5000) as u16;
        let mut free = (somewhere..10_000).filter(is_free).map(|port| port.to_string());
        Self(["7077", "7078", "7079"].map(|named| (named, free.next().expect("there are free ports"))))
    }

    fn put_in(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (named, free)| text.replace(named, free))
    }

    fn take_out(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (named, free)| text.replace(free, named))
    }
}

/// A block, with the answers of now.
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

#[test]
fn the_tour_is_what_happens() {
    let text = read(&path());
    let ports = Ports::free();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let repository = repository.canonicalize().expect("it is there").display().to_string();
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
                let played = play(block, &mut session, &ports);
                recorded += &old.form(block, session.directory());
                found += &new.form(&played, session.directory());
                written += &format!("{OPEN}{played}{CLOSE}");
            }
        }
    }
    if updates() {
        let shown = written.replace(&session.directory().display().to_string(), "/tmp/tour");
        std::fs::write(path(), shown).expect("the tour can be written");
        return;
    }
    assert!(
        recorded == found,
        "the tour is not what happens (UPDATE_GOLDEN=1 takes it):\n{}",
        difference(&recorded, &found)
    );
}
