//! Plays a page: one driver with executors from the beginning.

use std::collections::BTreeMap;

use bytes::Bytes;
use firesteel_engine::driver::{Driver, Effect, Event, Exclusion, Inbound, Note, Outbound, TaskOutcome};
use firesteel_placement::Cores;
use firesteel_protocol::Timestamp;
use firesteel_protocol::ids::{AttemptId, PeerId, TaskId};
use firesteel_protocol::machine::Machine as _;
use firesteel_protocol::messages::{
    DriverToExecutor, ExecutorToDriver, TaskDirectory, TaskEnd, TaskSpec, TaskState,
};
use firesteel_protocol::process::{Command, ExitStatus};

use super::nights;
use crate::scripts::command::{Words, millis};
use crate::scripts::{BEGINNING, Timed as _, timed};

/// A driver under test.
pub struct Stage {
    driver: Driver,
    now: Timestamp,
    /// The hosts of the executors, by number.
    hosts: Vec<String>,
    submitted: u64,
    /// The running attempts, each with its executor.
    running: BTreeMap<AttemptId, u32>,
}

impl Default for Stage {
    fn default() -> Self {
        let driver = Driver::new(nights::config(Exclusion::ByComparison, 1));
        Self { driver, now: BEGINNING, hosts: Vec::new(), submitted: 0, running: BTreeMap::new() }
    }
}

timed!(Stage, driver: Driver, Event::Deadline);

impl Stage {
    /// Plays one command. Returns the driver's effects, one per line.
    pub fn play(&mut self, line: &str) -> Vec<String> {
        let (verb, words) = Words::of(line);
        match verb {
            "hosts" => self.begin(&words),
            "tasks" => {
                let tasks: u64 = words.name(0).parse().expect("a number");
                (0..tasks).flat_map(|_| self.submit()).collect()
            }
            "end" => self.end(&words),
            "advance" => self.advance(millis(words.name(0))),
            other => panic!("no command is called {other:?}"),
        }
    }

    /// `hosts rule=comparison a=2 b=1`: another driver, with this number of one-core executors on each host.
    fn begin(&mut self, words: &Words<'_>) -> Vec<String> {
        let mut exclusion = Exclusion::ByComparison;
        self.hosts.clear();
        for &(key, value) in words.settings() {
            match (key, value) {
                ("rule", "comparison") => {}
                ("rule", "limits") => exclusion = Exclusion::ByLimits,
                (host, executors) => {
                    let executors: usize = executors.parse().expect("a number");
                    self.hosts.extend(std::iter::repeat_n(host.to_owned(), executors));
                }
            }
        }
        self.driver = Driver::new(nights::config(exclusion, 1));
        (self.submitted, self.running) = (0, BTreeMap::new());
        for event in nights::openings(&self.hosts, 1) {
            self.apply(event);
        }
        Vec::new()
    }

    fn submit(&mut self) -> Vec<String> {
        let spec = TaskSpec {
            command: Command::of("true"),
            directory: TaskDirectory::Executor,
            stdin: Bytes::new(),
            cores: Cores(1),
        };
        let task = TaskId(self.submitted);
        self.submitted += 1;
        self.apply(Event::Submit { task, request: spec.into() })
    }

    /// `end failing=a`, `end failing=0,3 times=6`: every running attempt ends, and fails on these hosts and executors.
    fn end(&mut self, words: &Words<'_>) -> Vec<String> {
        let failing: Vec<&str> =
            words.setting("failing").into_iter().flat_map(|all| all.split(',')).collect();
        let times: u32 = words.setting("times").map_or(1, |times| times.parse().expect("a number"));
        let mut lines = Vec::new();
        for _ in 0..times {
            for (attempt, executor) in self.running.clone() {
                let host = &self.hosts[executor as usize];
                let fails = failing
                    .iter()
                    .any(|name| *name == "all" || name == host || *name == executor.to_string());
                let end = TaskEnd::Exited(ExitStatus::Code(i32::from(fails)));
                let message = ExecutorToDriver::StatusUpdate { attempt, state: TaskState::Ended(end) };
                self.running.remove(&attempt);
                lines.extend(self.apply(Event::Received {
                    peer: nights::peer(executor),
                    message: Inbound::Executor(message),
                }));
            }
        }
        lines
    }

    fn apply(&mut self, event: Event) -> Vec<String> {
        let effects = self.driver.apply(self.now, event);
        self.driver.check().expect("the invariants hold");
        effects.into_iter().filter_map(|effect| self.see(effect)).collect()
    }

    fn see(&mut self, effect: Effect) -> Option<String> {
        match effect {
            Effect::Send {
                peer,
                message: Outbound::Executor(DriverToExecutor::LaunchTask { attempt, .. }),
            } => {
                let executor = nights::executor(peer);
                self.running.insert(attempt, executor);
                let host = &self.hosts[executor as usize];
                Some(format!("{executor} on {host} <- task {attempt}"))
            }
            Effect::TaskEnded { task, outcome } => Some(match outcome {
                TaskOutcome::Succeeded { .. } => format!("task {task} succeeded"),
                _ => format!("task {task} failed"),
            }),
            Effect::Note(
                note @ (Note::Excluded { .. } | Note::Readmitted { .. } | Note::HostsReadmitted { .. }),
            ) => Some(format!("({note})")),
            _ => None,
        }
    }
}

/// The kind of each peer of the driver, besides its Master.
#[test]
fn executors_have_the_peers_that_they_are_given() {
    assert_eq!([0, 7].map(|number| nights::executor(nights::peer(number))), [0, 7]);
    assert_ne!(nights::peer(0), PeerId(1));
}
