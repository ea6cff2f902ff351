//! Golden scripts: pages of commands to a real Master, each with all its effects.
//!
//! A page is made of paragraphs. One that begins with `#` is for people. Any other has commands, one per line, then
//! `----`, then the Master's effects. `UPDATE_GOLDEN=1` records the parts below the lines; commit only differences that
//! you can explain.

pub mod command;
mod stage;
pub mod words;

use std::fmt::Write as _;
use std::time::Duration;

use firesteel_protocol::{Machine, Timestamp};

use self::stage::Stage;
use super::suites::golden;
use crate::fixtures;

/// The page, with its answers replaced by those of the machine now.
fn play(page: &str, machine: &mut dyn FnMut(&str) -> Vec<String>) -> String {
    let mut played = String::new();
    for paragraph in page.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        if !played.is_empty() {
            played.push_str("\n\n");
        }
        if paragraph.starts_with('#') {
            played.push_str(paragraph);
            continue;
        }
        let commands: Vec<&str> = paragraph.lines().take_while(|line| *line != "----").collect();
        let _ = write!(played, "{}\n----", commands.join("\n"));
        for command in commands {
            for line in machine(command) {
                let _ = write!(played, "\n{line}");
            }
        }
    }
    played.push('\n');
    played
}

/// Plays the page with this name, and compares the effects with the recorded ones.
#[expect(clippy::disallowed_methods, reason = "tests read their scripts")]
pub fn check(directory: &str, name: &str, machine: &mut dyn FnMut(&str) -> Vec<String>) {
    let name = format!("{directory}/{name}.txt");
    let path = fixtures::path(&name);
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    golden::check(&name, &play(&page, machine));
}

/// The names of a directory's pages, in order. A page without a test would check nothing.
pub fn pages(directory: &str) -> Vec<String> {
    let found = std::fs::read_dir(fixtures::path(directory)).expect("the scripts are there");
    let mut found: Vec<String> = found
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".txt").map(str::to_owned))
        .collect();
    found.sort_unstable();
    found
}

/// The time at which every page begins: 2026-01-01 00:00 UTC.
pub const BEGINNING: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// A machine with a virtual clock.
pub trait Timed {
    type Machine: Machine;

    fn machine(&self) -> &Self::Machine;

    /// The clock's time.
    fn now(&mut self) -> &mut Timestamp;

    /// Wakes the machine at its deadline. Returns its effects, one per line.
    fn wake(&mut self) -> Vec<String>;

    /// Lets time pass, and wakes the machine at each deadline.
    fn advance(&mut self, millis: u64) -> Vec<String> {
        let end = *self.now() + Duration::from_millis(millis);
        let mut lines = Vec::new();
        while let Some((due, reason)) = self.machine().next_deadline()
            && due <= end
        {
            let now = due.max(*self.now());
            *self.now() = now;
            lines.push(format!("at {} ms: {reason:?}", now.since(BEGINNING).as_millis()));
            lines.extend(self.wake().into_iter().map(|line| format!("  {line}")));
        }
        *self.now() = end;
        lines
    }
}

const DIRECTORY: &str = "../tests/logic/scripts";

/// Implements [`Timed`] for a stage with the machine in a field, the time in the field `now`, and a function `apply`.
macro_rules! timed {
    ($stage:ty, $machine:ident: $kind:ty, $deadline:expr) => {
        impl $crate::scripts::Timed for $stage {
            type Machine = $kind;

            fn machine(&self) -> &$kind {
                &self.$machine
            }

            fn now(&mut self) -> &mut firesteel_protocol::Timestamp {
                &mut self.now
            }

            fn wake(&mut self) -> Vec<String> {
                self.apply($deadline)
            }
        }
    };
}

pub(crate) use timed;

/// Makes a test for each page of a directory, and one that checks that every page has a test. `Stage` plays the
/// commands.
macro_rules! scripts {
    ($directory:ident, $stage:ty: $($script:ident)+) => {
        $(#[test]
        fn $script() {
            let mut stage = <$stage>::default();
            $crate::scripts::check($directory, stringify!($script), &mut |command| stage.play(command));
        })+

        #[test]
        fn every_page_is_played() {
            let mut played = vec![$(stringify!($script).to_owned()),+];
            played.sort_unstable();
            assert_eq!($crate::scripts::pages($directory), played);
        }
    };
}

pub(crate) use scripts;

scripts! {
    DIRECTORY, Stage:
    classic
    decommission
    three_of_sixteen
    example_01
    example_02
    example_03
    example_04
    example_05
    example_06
    example_07
    example_08
    example_09
    example_10
    example_11
    example_12
    example_13
    example_14
    retries
    crash_loop
    exclusion
    worker_lost
    worker_reconnects
    targets
    profiles
    application_ends
    turns
    policies
    gang
    backfill
    estimates
    shortest
    priorities
    preemption
    queues
    recovery
    older_state
    ended_app_executors
    history
    one_application
    killed
    refusals
    rights
}
