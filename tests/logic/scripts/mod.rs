//! Golden scripts: pages of commands to a real Master, with everything that it decided under each.
//!
//! A page is made of paragraphs. One that begins with `#` is for people. Any other is commands, a line each,
//! then `----`, then what the Master did. `UPDATE_GOLDEN=1` writes the parts under the lines anew; commit only
//! differences that you can explain.

pub mod command;
mod stage;
pub mod words;

use std::fmt::Write as _;
use std::time::Duration;

use firesteel_protocol::{Machine, Timestamp};

use self::stage::Stage;
use super::suites::golden;
use crate::fixtures;

/// A page, with the answers of the machine of today in place of those that stand there.
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

/// Plays the page of that name, and holds what the machine does against what stands there.
#[expect(clippy::disallowed_methods, reason = "tests read their scripts")]
pub fn check(directory: &str, name: &str, machine: &mut dyn FnMut(&str) -> Vec<String>) {
    let name = format!("{directory}/{name}.txt");
    let path = fixtures::path(&name);
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    golden::check(&name, &play(&page, machine));
}

/// The names of a directory's pages, in order. One that no test plays would be no test.
pub fn pages(directory: &str) -> Vec<String> {
    let found = std::fs::read_dir(fixtures::path(directory)).expect("the scripts are there");
    let mut found: Vec<String> = found
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".txt").map(str::to_owned))
        .collect();
    found.sort_unstable();
    found
}

/// The hour at which every page begins: 2026-01-01 00:00 UTC.
pub const BEGINNING: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// A machine on its stage, with the time there.
pub trait Timed {
    type Machine: Machine;

    fn machine(&self) -> &Self::Machine;

    /// The time on the stage.
    fn now(&mut self) -> &mut Timestamp;

    /// The time of the machine's deadline has come: what it does, a line each.
    fn wake(&mut self) -> Vec<String>;

    /// Time passes; the machine is woken whenever it wants to be.
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

/// Where the pages are.
const DIRECTORY: &str = "../tests/logic/scripts";

/// A stage with its machine in a field, the time in the field `now`, and a function `apply` for the machine's events.
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

/// One test for each page of a directory, and one that every page there is played. `Stage` plays a command.
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
    leavers
    history
    one_application
    killed
    refusals
}
