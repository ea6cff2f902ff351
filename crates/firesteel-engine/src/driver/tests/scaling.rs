//! Dynamic allocation: the number of executors follows the tasks.

use std::time::Duration;

use firesteel_placement::{Cores, ExecutorLimit};
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::DriverToMaster;

use super::bench::*;
use crate::driver::{
    Allocation, Config, DynamicAllocation, Effect, Event, Exclusion, ExclusionPolicy, Note, Outbound, Ratio,
    Reason, Replacement, TaskRequest,
};

const SECOND: Duration = Duration::from_secs(1);

fn dynamic() -> DynamicAllocation {
    DynamicAllocation {
        min: 0,
        max: u64::MAX,
        initial: 0,
        backlog_timeout: SECOND,
        sustained_timeout: SECOND,
        idle_timeout: Duration::from_secs(60),
        ratio: Ratio::ONE,
    }
}

/// A request of the driver to the Master: a new target, or executors to end.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Total(u64),
    Kill(Vec<u32>),
}
use Asked::{Kill, Total};

fn asked(effects: &[Effect]) -> Vec<Asked> {
    let asked = effects.iter().filter_map(|effect| match effect {
        Effect::Send {
            message: Outbound::Master(DriverToMaster::RequestExecutors { targets, .. }), ..
        } => {
            let [target] = &targets[..] else { panic!("one profile: {targets:?}") };
            Some(Total(target.total))
        }
        Effect::Send {
            message: Outbound::Master(DriverToMaster::KillExecutors { executors, .. }), ..
        } => Some(Kill(executors.iter().map(|id| id.0).collect())),
        _ => None,
    });
    asked.collect()
}

/// Sleeps until the next deadline. Returns the length of the sleep, the reason of the deadline, and the requests.
fn sleep(bench: &mut Bench) -> (u64, Reason, Vec<Asked>) {
    let (at, reason) = bench.next_deadline().expect("something is to come");
    let slept = at.since(bench.now);
    bench.now = at;
    (slept.as_secs(), reason, asked(&bench.apply(Event::Deadline)))
}

fn target(bench: &Bench) -> u64 {
    match bench.driver.view().targets[0].1 {
        ExecutorLimit::AtMost(total) => total,
        ExecutorLimit::Unlimited => panic!("dynamic targets have a number"),
    }
}

const BACKLOG: Reason = Reason::Backlog(ProfileId::DEFAULT);

#[test]
fn waiting_tasks_bring_one_two_four_executors_and_no_more_than_they_keep_busy() {
    let mut bench = Bench::scaled(2, dynamic());
    for task in 0..20 {
        assert_eq!(asked(&bench.submit(task, 1)), []);
    }
    assert_eq!(sleep(&mut bench), (1, Reason::InitialTarget, vec![Total(1)]));
    // Half a second later the Master is asked why there is no executor.
    assert_eq!(sleep(&mut bench), (0, Reason::Starvation, vec![]));
    assert_eq!(sleep(&mut bench), (0, BACKLOG, vec![Total(3)]));
    assert_eq!(sleep(&mut bench), (1, BACKLOG, vec![Total(7)]));
    assert_eq!(sleep(&mut bench), (1, BACKLOG, vec![Total(10)]));
    assert_eq!(bench.next_deadline().map(|(_, reason)| reason), Some(Reason::Starvation));
}

#[test]
fn the_target_falls_as_tasks_end_and_idle_executors_end_after_a_while() {
    let mut bench = Bench::scaled(1, DynamicAllocation { initial: 3, ..dynamic() });
    for id in 0..3 {
        bench.executor(id, register(id, 1));
        bench.submit(id.into(), 1);
    }
    bench.now = bench.now + SECOND;
    assert_eq!(asked(&bench.end(0, attempt(0, 0), exit(0))), [Total(2)]);
    bench.now = bench.now + 9 * SECOND;
    assert_eq!(asked(&bench.end(1, attempt(1, 0), exit(0))), [Total(1)]);
    assert_eq!(sleep(&mut bench), (51, Reason::IdleExecutor(ExecutorId(0)), vec![Kill(vec![0])]));
    // The next idle executor gets a task before its timeout: nothing waits, and no executor is added or ended.
    assert_eq!(asked(&bench.submit(3, 1)), []);
    assert_eq!((target(&bench), bench.next_deadline()), (1, None));
}

#[test]
fn tasks_that_may_run_on_one_executor_alone_bring_no_others() {
    let mut bench = Bench::scaled(1, DynamicAllocation { initial: 1, ..dynamic() });
    bench.executor(0, register(0, 1));
    for task in 0..5 {
        let request = TaskRequest { on: Some(ExecutorId(0)), ..spec(1).into() };
        bench.apply(Event::Submit { task: TaskId(task), request });
    }
    (0..9).for_each(|_| _ = bench.pass(SECOND));
    assert_eq!(target(&bench), 1);
    bench.submit(5, 1);
    (0..9).for_each(|_| _ = bench.pass(SECOND));
    assert!(target(&bench) > 1, "one that may run anywhere does");
}

#[test]
fn an_idle_executor_stays_while_no_more_than_the_minimum_are_there() {
    let mut bench = Bench::scaled(1, DynamicAllocation { min: 1, initial: 2, ..dynamic() });
    bench.executor(0, register(0, 1));
    bench.executor(1, register(1, 1));
    assert_eq!(sleep(&mut bench), (60, Reason::IdleExecutor(ExecutorId(0)), vec![Total(1), Kill(vec![0])]));
    assert_eq!(bench.next_deadline(), None, "no task ever came");
}

#[test]
fn a_task_of_the_same_moment_beats_the_idle_time_out() {
    let mut bench = Bench::scaled(1, DynamicAllocation { initial: 1, ..dynamic() });
    bench.executor(0, register(0, 1));
    bench.now = bench.now + Duration::from_secs(60);
    assert_eq!(bench.submit(0, 1), [launch(0, attempt(0, 0))]);
    assert_eq!(asked(&bench.apply(Event::Deadline)), []);
}

#[test]
fn the_maximum_holds_and_a_part_of_what_is_needed_is_asked_for_as_the_ratio_says() {
    let mut bench = Bench::scaled(1, DynamicAllocation { max: 2, ..dynamic() });
    (0..20).for_each(|task| _ = bench.submit(task, 1));
    (0..9).for_each(|_| _ = bench.pass(SECOND));
    assert_eq!(target(&bench), 2);
    let mut bench = Bench::scaled(1, DynamicAllocation { ratio: Ratio(250_000), ..dynamic() });
    (0..21).for_each(|task| _ = bench.submit(task, 1));
    (0..9).for_each(|_| _ = bench.pass(SECOND));
    assert_eq!(target(&bench), 6);
}

#[test]
fn nothing_is_ended_while_no_master_is_there_to_bring_others() {
    let mut bench = Bench::scaled(1, DynamicAllocation { initial: 1, ..dynamic() });
    bench.executor(0, register(0, 1));
    bench.apply(Event::Disconnected { peer: MASTER });
    bench.pass(Duration::from_secs(100));
    assert_eq!(target(&bench), 0);
    assert_eq!(bench.submit(0, 1), [launch(0, attempt(0, 0))]);
}

#[test]
fn others_cannot_set_the_target_and_kills_keep_it_within_its_bounds() {
    let mut bench = Bench::scaled(1, DynamicAllocation { min: 2, initial: 2, ..dynamic() });
    bench.executor(0, register(0, 1));
    let ignored = Effect::Note(Note::TargetIsDynamic { total: 9 });
    assert_eq!(bench.apply(Event::RequestExecutors { profile: ProfileId::DEFAULT, total: 9 }), [ignored]);
    let executors = vec![ExecutorId(0)];
    let kill = Event::KillExecutors { executors, replacement: Replacement::Unwanted };
    assert_eq!(asked(&bench.apply(kill)), [Total(2), Kill(vec![0])]);
}

#[test]
fn an_exclusion_in_between_does_not_lengthen_the_time_in_which_an_executor_may_be_idle() {
    let mut config = Config {
        allocation: Allocation::Dynamic(DynamicAllocation { initial: 2, ..dynamic() }),
        exclusion: ExclusionPolicy { exclusion: Exclusion::ByLimits, ..ExclusionPolicy::default() },
        ..config(&["m1"])
    };
    config.description.profile.cores = Some(Cores(1));
    let mut bench = Bench::of(config);
    bench.register();
    bench.executor(0, register(0, 1));
    bench.executor(1, register(1, 1));
    for task in [0, 1] {
        bench.submit(task, 1);
        bench.end(0, attempt(task, 0), exit(1));
        bench.now = bench.now + 20 * SECOND;
        bench.end(1, attempt(task, 1), exit(0));
    }
    let view = bench.driver.view();
    assert_eq!(view.executors[0].state, crate::driver::ExecutorViewState::Excluded);
    assert_eq!(sleep(&mut bench), (40, Reason::IdleExecutor(ExecutorId(0)), vec![Kill(vec![0])]));
}
