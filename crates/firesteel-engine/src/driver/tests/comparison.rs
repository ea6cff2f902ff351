//! Firesteel's rule: executors and hosts that are worse than the others get no tasks for minutes, and then a trial.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{AttemptId, ExecutorId, ProfileId, TaskId, WorkerId};
use firesteel_protocol::messages::{
    DriverToExecutor, ExecutorState, ExecutorToDriver, MasterToDriver, TaskState,
};
use firesteel_protocol::process::ExitStatus;

use super::bench::*;
use crate::driver::{Effect, Event, ExclusionCause, Inbound, Note, Outbound, Readmission, Reason};

const MINUTE: Duration = Duration::from_secs(60);

/// A driver whose tasks end in rounds.
struct Play {
    bench: Bench,
    /// The tasks that run, by executor.
    running: BTreeMap<u32, Vec<AttemptId>>,
    next: u64,
    /// The notes about exclusion and readmission.
    notes: Vec<Note>,
}

impl Play {
    /// A driver with executors of one core each, four on each of the hosts `h0`, `h1`, ...
    fn on_hosts(hosts: u32) -> Self {
        let mut bench = Bench::registered();
        for id in 0..hosts * 4 {
            let mut message = register(id, 1);
            if let ExecutorToDriver::RegisterExecutor { host, .. } = &mut message {
                *host = format!("h{}", id / 4);
            }
            bench.executor(id, message);
        }
        Self { bench, running: BTreeMap::new(), next: 0, notes: Vec::new() }
    }

    fn see(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send {
                    peer,
                    message: Outbound::Executor(DriverToExecutor::LaunchTask { attempt, .. }),
                } => {
                    let id = u32::try_from(peer.0 - 10).expect("it is an executor");
                    self.running.entry(id).or_default().push(attempt);
                }
                Effect::Note(
                    note @ (Note::Excluded { .. } | Note::Readmitted { .. } | Note::HostsReadmitted { .. }),
                ) => {
                    self.notes.push(note);
                }
                _ => {}
            }
        }
    }

    fn submit(&mut self) {
        let effects = self.bench.submit(self.next, 1);
        self.next += 1;
        self.see(effects);
    }

    fn end(&mut self, id: u32, attempt: AttemptId, fails: bool) {
        let effects = self.bench.end(id, attempt, exit(i32::from(fails)));
        self.see(effects);
    }

    fn pass(&mut self, time: Duration) {
        let effects = self.bench.pass(time);
        self.see(effects);
    }

    /// Submits as many tasks as there are executors. A second later, all running tasks end, in the order of their
    /// executors.
    fn round(&mut self, executors: u32, fails: impl Fn(u32) -> bool) {
        for _ in 0..executors {
            self.submit();
        }
        self.pass(Duration::from_secs(1));
        for (id, attempts) in std::mem::take(&mut self.running) {
            for attempt in attempts {
                self.end(id, attempt, fails(id));
            }
        }
    }

    fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    fn runs(&self, id: u32) -> usize {
        self.running.get(&id).map_or(0, Vec::len)
    }
}

fn excluded(cause: ExclusionCause, timeout: Duration) -> Note {
    Note::Excluded { cause, timeout }
}

fn readmitted(executor: u32, why: Readmission) -> Note {
    Note::Readmitted { executor: ExecutorId(executor), host: format!("h{}", executor / 4), why }
}

/// A driver whose executor 5 of 16 has failed until it was excluded. No task runs or waits.
fn with_bad_executor() -> Play {
    let mut play = Play::on_hosts(4);
    while play.notes.is_empty() {
        play.round(16, |id| id == 5);
    }
    while !play.running.is_empty() {
        play.round(0, |id| id == 5);
    }
    play
}

#[test]
fn an_executor_where_everything_fails_is_excluded_for_a_minute_after_a_few_tasks() {
    let mut play = with_bad_executor();
    let notes = play.take_notes();
    assert!(
        matches!(&notes[..], [Note::Excluded { cause: ExclusionCause::WorseExecutor { executor: ExecutorId(5), failed, ended, .. }, timeout }]
            if failed == ended && (5..=9).contains(failed) && *timeout == MINUTE),
        "{notes:?}"
    );
    let (at, reason) = play.bench.next_deadline().expect("the exclusion ends");
    assert!(at.since(play.bench.now) <= MINUTE && reason == Reason::ExclusionOver);
    for _ in 0..20 {
        play.round(15, |_| false);
    }
    assert_eq!(play.take_notes(), []);
}

#[test]
fn a_host_where_everything_fails_is_excluded_after_a_few_tasks() {
    let mut play = Play::on_hosts(4);
    for _ in 0..20 {
        play.round(16, |id| id / 4 == 2);
    }
    let notes = play.take_notes();
    assert!(
        matches!(&notes[..], [Note::Excluded { cause: ExclusionCause::WorseHost { host, failed, ended }, timeout }]
            if host == "h2" && failed == ended && (8..=16).contains(failed) && *timeout == MINUTE),
        "{notes:?}"
    );
}

#[test]
fn one_task_is_tried_after_the_time_and_its_success_ends_the_exclusion() {
    let mut play = with_bad_executor();
    play.take_notes();
    play.pass(MINUTE);
    assert_eq!(play.take_notes(), [readmitted(5, Readmission::OnTrial)]);
    for _ in 0..16 {
        play.submit();
    }
    assert_eq!(play.runs(5), 1);
    let trial = play.running[&5][0];
    play.end(5, trial, false);
    assert_eq!(play.take_notes(), [readmitted(5, Readmission::Proven)]);
    play.submit();
    assert_eq!(play.runs(5), 2, "it gets tasks again");
}

#[test]
fn a_trial_that_fails_excludes_for_twice_as_long_once_the_task_has_succeeded_elsewhere() {
    let mut play = with_bad_executor();
    play.take_notes();
    let mut last = MINUTE;
    for wanted in [2, 4, 8, 15, 15].map(|minutes| minutes * MINUTE) {
        play.pass(last);
        assert_eq!(play.take_notes(), [readmitted(5, Readmission::OnTrial)]);
        play.round(16, |id| id == 5);
        assert_eq!(play.take_notes(), [], "the task has not succeeded elsewhere");
        play.round(15, |_| false);
        let again = ExclusionCause::ExecutorAgain { executor: ExecutorId(5), host: "h1".to_owned() };
        assert_eq!(play.take_notes(), [excluded(again, wanted)]);
        last = wanted;
    }
}

#[test]
fn a_trial_is_repeated_with_another_task_if_its_task_fails_everywhere_or_is_cancelled() {
    for cancelled in [false, true] {
        let mut play = with_bad_executor();
        play.take_notes();
        play.pass(MINUTE);
        play.take_notes();
        for _ in 0..16 {
            play.submit();
        }
        let trial = play.running[&5][0];
        if cancelled {
            let effects = play.bench.apply(Event::CancelTask { task: trial.task });
            play.see(effects);
            play.end(5, trial, true);
        } else {
            while let Some((&id, &attempt)) = play.running.iter().find_map(|(id, attempts)| {
                Some((id, attempts.iter().find(|attempt| attempt.task == trial.task)?))
            }) {
                play.running.get_mut(&id).expect("it runs").retain(|other| *other != attempt);
                play.end(id, attempt, true);
                let other =
                    play.running.iter().find(|(other, attempts)| **other != 5 && !attempts.is_empty());
                let (other, attempt) =
                    other.map(|(other, attempts)| (*other, attempts[0])).expect("others run");
                if attempt.task != trial.task {
                    play.running.get_mut(&other).expect("it runs").remove(0);
                    play.end(other, attempt, false);
                }
            }
        }
        assert_eq!(play.take_notes(), [readmitted(5, Readmission::OnTrial)], "cancelled: {cancelled}");
    }
}

#[test]
fn a_trial_that_runs_for_longer_than_the_exclusion_is_passed() {
    let mut play = with_bad_executor();
    play.pass(MINUTE);
    play.take_notes();
    for _ in 0..16 {
        play.submit();
    }
    play.pass(MINUTE - Duration::from_millis(1));
    assert_eq!(play.take_notes(), []);
    play.pass(Duration::from_millis(1));
    assert_eq!(play.take_notes(), [readmitted(5, Readmission::Proven)]);
}

#[test]
fn at_most_half_of_the_executors_are_excluded() {
    let mut play = Play::on_hosts(1);
    for _ in 0..60 {
        play.round(4, |id| id > 0);
    }
    let hit = |note: &Note| matches!(note, Note::Excluded { cause, .. } if !cause.is_again());
    let all = play.take_notes();
    assert!(all.iter().filter(|note| hit(note)).count() <= 2, "{all:?}");
    let mut alone = Bench::with_executors(&[4]);
    for task in 0..50 {
        alone.submit(task, 1);
        alone.end(0, attempt(task, 0), exit(1));
        alone.end(0, attempt(task, 1), exit(0));
    }
    assert_eq!(alone.next_deadline(), None);
}

#[test]
fn the_last_executor_is_taken_back() {
    let mut play = with_bad_executor();
    play.take_notes();
    for id in (0..16).filter(|id| *id != 5) {
        let effects = play.bench.updated(id, ExecutorState::Exited(ExitStatus::Signal(9)));
        play.see(effects);
    }
    assert_eq!(play.take_notes(), [readmitted(5, Readmission::NoOtherLeft)]);
}

#[test]
fn tasks_that_fail_everywhere_exclude_nobody() {
    let mut play = Play::on_hosts(2);
    for _ in 0..30 {
        play.round(8, |_| true);
    }
    assert_eq!(play.take_notes(), []);
}

#[test]
fn a_while_in_which_everything_fails_excludes_nobody() {
    let mut play = Play::on_hosts(4);
    for round in 0..200 {
        play.round(16, |_| round % 50 == 49);
    }
    assert_eq!(play.take_notes(), []);
}

#[test]
fn a_host_where_executors_do_not_start_is_avoided_for_minutes_and_those_that_run_there_go_on() {
    let mut bench = Bench::with_executors(&[1, 1]);
    let fail_to_start = |bench: &mut Bench, number: u32| {
        bench.master(MasterToDriver::ExecutorAdded {
            executor: ExecutorId(number),
            profile: ProfileId::DEFAULT,
            worker: WorkerId::new("bad"),
            host: "h1".to_owned(),
            cores: Cores(1),
            memory: MiB(512),
            port: 7078,
        });
        bench.updated(number, ExecutorState::Exited(ExitStatus::Code(1)))
    };
    let avoided = |starts, timeout| {
        Effect::Note(excluded(ExclusionCause::HostAvoided { host: "h1".to_owned(), starts }, timeout))
    };
    assert_eq!(fail_to_start(&mut bench, 7).len(), 1);
    assert!(fail_to_start(&mut bench, 8).contains(&avoided(2, MINUTE)));
    assert_eq!(
        bench.hints.last().map(|hints| hints.avoided.len()),
        Some(1),
        "the Master launches none there"
    );
    assert!(!bench.driver.health.is_excluded(ExecutorId(1), "h1"));
    bench.pass(MINUTE);
    assert_eq!(bench.hints.last().map(|hints| hints.avoided.len()), Some(0));
    assert!(fail_to_start(&mut bench, 9).contains(&avoided(1, 2 * MINUTE)), "one is enough now");
    bench.pass(2 * MINUTE);
    bench.executor(10, {
        let mut message = register(10, 1);
        if let ExecutorToDriver::RegisterExecutor { host, .. } = &mut message {
            *host = "h1".to_owned();
        }
        message
    });
    assert_eq!(fail_to_start(&mut bench, 11).len(), 1, "one that started there clears the host");
}

#[test]
fn a_late_word_of_an_executor_that_is_gone_changes_nothing() {
    let mut play = with_bad_executor();
    play.pass(MINUTE);
    for _ in 0..16 {
        play.submit();
    }
    let effects = play.bench.updated(5, ExecutorState::Exited(ExitStatus::Signal(9)));
    play.see(effects);
    let late = ExecutorToDriver::StatusUpdate {
        attempt: AttemptId { task: TaskId(0), attempt: 0 },
        state: TaskState::Ended(exit(1)),
    };
    let effects = play.bench.apply(Event::Received { peer: peer(5), message: Inbound::Executor(late) });
    play.see(effects);
    assert!(!play.bench.driver.health.any_excluded());
}

/// Executor 0 of 8 fails every task, while all other executors run their first tasks. Returns how many attempts
/// executor 0 had.
fn failures_while_the_others_are_busy(play: &mut Play, most: u32) -> u32 {
    for _ in 0..60 {
        play.submit();
    }
    let mut failures = 0;
    while let Some(attempt) = play.running.get_mut(&0).and_then(Vec::pop) {
        if failures == most {
            break;
        }
        failures += 1;
        play.end(0, attempt, true);
    }
    failures
}

#[test]
fn an_executor_where_one_task_after_the_other_fails_gets_no_more_before_another_host_has_tried_one() {
    let mut play = Play::on_hosts(2);
    assert_eq!(failures_while_the_others_are_busy(&mut play, 60), 8);
    assert_eq!((play.runs(0), play.take_notes()), (0, Vec::new()), "it is not excluded");
    // A task that ends or fails on the other host, too, no longer causes doubt.
    let attempt = play.running.get_mut(&4).and_then(Vec::pop).expect("it runs one");
    play.end(4, attempt, false);
    assert_eq!(play.runs(0), 0);
    let retried = play.running.get_mut(&4).and_then(Vec::pop).expect("it tries what failed");
    play.end(4, retried, true);
    assert_eq!(play.runs(0), 1);
}

#[test]
fn a_suspected_executor_gets_tasks_as_soon_as_no_other_host_runs_any() {
    let mut play = Play::on_hosts(2);
    failures_while_the_others_are_busy(&mut play, 60);
    assert_eq!(play.runs(0), 0);
    for id in 4..8 {
        let effects = play.bench.updated(id, ExecutorState::Exited(ExitStatus::Code(1)));
        play.see(effects);
    }
    assert_eq!(play.runs(0), 1);
}
