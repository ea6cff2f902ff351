//! Resource profiles: tasks run on executors of their own, and nowhere else.

use std::time::Duration;

use firesteel_placement::locality::Topology;
use firesteel_placement::{Cores, ExecutorLimit, MiB};

use super::bench::*;
use crate::driver::{DynamicAllocation, Effect, Event, Outbound, Ratio, TaskOutcome, TaskRequest, Unfit};
use crate::ids::{ExecutorId, ProfileId, TaskId};
use crate::messages::{DriverToMaster, ExecutorToDriver, ResourceProfile};

const OTHER: ProfileId = ProfileId(1);
const SECOND: Duration = Duration::from_secs(1);

fn add_profile(bench: &mut Bench, cores: i64) -> Vec<Effect> {
    let needs = ResourceProfile { cores: Some(Cores(cores)), memory: Some(MiB(64)), ..Default::default() };
    bench.apply(Event::AddProfile { profile: OTHER, needs, total: 1 })
}

fn register_of(profile: ProfileId, id: u32, cores: i64) -> ExecutorToDriver {
    let mut message = register(id, cores);
    if let ExecutorToDriver::RegisterExecutor { profile: own, .. } = &mut message {
        *own = profile;
    }
    message
}

fn request(profile: ProfileId) -> TaskRequest {
    TaskRequest { profile, ..spec(1).into() }
}

fn submit(bench: &mut Bench, task: u64, profile: ProfileId) -> Vec<Effect> {
    bench.apply(Event::Submit { task: TaskId(task), request: request(profile) })
}

#[test]
fn a_task_waits_for_an_executor_of_its_profile() {
    let mut bench = Bench::with_executors(&[2]);
    add_profile(&mut bench, 1);
    assert_eq!(submit(&mut bench, 0, OTHER), []);
    assert_eq!(submit(&mut bench, 1, ProfileId::DEFAULT), [launch(0, attempt(1, 0))]);
    let effects = bench.executor(1, register_of(OTHER, 1, 1));
    assert_eq!(effects[2..], [launch(1, attempt(0, 0))]);
    assert_eq!(submit(&mut bench, 2, ProfileId::DEFAULT), [launch(0, attempt(2, 0))]);
    assert_eq!(submit(&mut bench, 3, ProfileId::DEFAULT), [], "the other profile's turn is not its turn");
    assert_eq!(bench.end(1, attempt(0, 0), exit(0)), [succeeded(attempt(0, 0), 1)]);
}

#[test]
fn a_task_of_a_profile_that_was_never_added_fails_at_once() {
    let mut bench = Bench::with_executors(&[2]);
    let unfit = TaskOutcome::Unfit(Unfit::NoSuchProfile { profile: OTHER });
    assert_eq!(submit(&mut bench, 0, OTHER), [ended(0, unfit)]);
}

#[test]
fn a_failed_task_is_tried_again_on_its_own_profile_even_where_it_failed() {
    let mut bench = Bench::with_executors(&[2]);
    add_profile(&mut bench, 1);
    bench.executor(1, register_of(OTHER, 1, 1));
    submit(&mut bench, 0, OTHER);
    let effects = bench.end(1, attempt(0, 0), exit(1));
    assert_eq!(effects[2..], [launch(1, attempt(0, 1))]);
}

#[test]
fn tasks_of_one_profile_do_not_wait_for_hosts_where_only_another_one_is() {
    let mut bench = Bench::in_topology(Topology::default(), &[1]);
    add_profile(&mut bench, 1);
    bench.executor(1, register_of(OTHER, 1, 1));
    let request = TaskRequest { preferred_hosts: vec!["h0".to_owned()], ..request(OTHER) };
    let effects = bench.apply(Event::Submit { task: TaskId(0), request });
    assert_eq!(effects, [launch(1, attempt(0, 0))]);
}

#[test]
fn cores_of_one_profile_are_kept_free_for_near_tasks_and_those_of_another_are_not() {
    let mut bench = Bench::in_topology(Topology::default(), &[1, 1]);
    add_profile(&mut bench, 1);
    bench.executor(2, register_of(OTHER, 2, 1));
    let near = |profile| TaskRequest { preferred_hosts: vec!["h0".to_owned()], ..request(profile) };
    let mut submit = |task, request| bench.apply(Event::Submit { task: TaskId(task), request });
    assert_eq!(submit(0, near(ProfileId::DEFAULT)), [launch(0, attempt(0, 0))]);
    assert_eq!(submit(1, near(ProfileId::DEFAULT)), [], "h1 is kept free");
    assert_eq!(submit(2, near(OTHER)), [launch(2, attempt(2, 0))]);
    assert_eq!(bench.pass(3 * SECOND), [launch(1, attempt(1, 0))], "and the wait did not begin anew");
}

#[test]
fn no_executor_of_a_profile_is_said_though_others_are_there() {
    let mut bench = Bench::with_executors(&[2]);
    add_profile(&mut bench, 1);
    submit(&mut bench, 0, OTHER);
    let shortfall = to_master(DriverToMaster::RequestShortfall { app: crate::ids::AppId::new("app-1") });
    assert_eq!(bench.pass(15 * SECOND), [shortfall]);
}

fn dynamic() -> DynamicAllocation {
    DynamicAllocation {
        min: 0,
        max: 5,
        initial: 0,
        backlog_timeout: SECOND,
        sustained_timeout: SECOND,
        idle_timeout: Duration::from_secs(60),
        ratio: Ratio::ONE,
    }
}

/// The targets that the Master is told, by profile.
fn targets(effects: &[Effect]) -> Vec<(ProfileId, u64)> {
    let told = effects.iter().flat_map(|effect| match effect {
        Effect::Send {
            message: Outbound::Master(DriverToMaster::RequestExecutors { targets, .. }), ..
        } => targets.iter().map(|target| (target.id, target.total)).collect(),
        _ => Vec::new(),
    });
    told.collect()
}

#[test]
fn each_profiles_target_follows_its_own_tasks_within_the_bounds() {
    let mut bench = Bench::scaled(1, dynamic());
    add_profile(&mut bench, 2);
    for task in 0..20 {
        submit(&mut bench, task, if task < 3 { ProfileId::DEFAULT } else { OTHER });
    }
    let told: Vec<_> = (0..9).flat_map(|_| targets(&bench.pass(SECOND))).collect();
    let of =
        |profile| told.iter().filter(|(id, _)| *id == profile).map(|(_, total)| *total).collect::<Vec<_>>();
    assert_eq!(of(ProfileId::DEFAULT), [1, 3]);
    assert_eq!(of(OTHER), [2, 4, 5]);
    // 17 tasks, two for each executor: 9 could be busy, and 5 are the most.
    bench.executor(0, register_of(OTHER, 0, 2));
    let ends: Vec<Effect> = (3..20).flat_map(|task| bench.end(0, attempt(task, 0), exit(0))).collect();
    assert_eq!(targets(&ends), [(OTHER, 4), (OTHER, 3), (OTHER, 2), (OTHER, 1), (OTHER, 0)]);
}

#[test]
fn an_idle_executor_ends_while_its_own_profile_has_more_than_it_wants() {
    let mut bench = Bench::scaled(1, DynamicAllocation { initial: 1, ..dynamic() });
    bench.executor(0, register(0, 1));
    add_profile(&mut bench, 1);
    bench.executor(1, register_of(OTHER, 1, 1));
    submit(&mut bench, 0, ProfileId::DEFAULT);
    let kill = |effects: &[Effect]| {
        effects.iter().any(|effect| {
            matches!(effect, Effect::Send {
                message: Outbound::Master(DriverToMaster::KillExecutors { executors, .. }), ..
            } if *executors == [ExecutorId(1)])
        })
    };
    bench.pass(SECOND);
    assert!(!kill(&bench.pass(58 * SECOND)));
    assert!(kill(&bench.pass(SECOND)));
}

#[test]
fn addresses_count_where_they_let_fewer_tasks_run_than_cores() {
    let mut config = config(&["m1"]);
    config.allocation = crate::driver::Allocation::Dynamic(DynamicAllocation { max: 99, ..dynamic() });
    config.description.profile.cores = Some(Cores(8));
    config.description.profile.resources.insert("gpu".to_owned(), 2.into());
    let mut bench = Bench::of(config);
    bench.register();
    let amounts = [vec!["1"; 5], vec!["0.25"; 16]].concat();
    for (task, amount) in (0..).zip(amounts) {
        let resources = [("gpu".to_owned(), amount.parse().expect("it is an amount"))].into();
        let request = TaskRequest { resources, ..spec(1).into() };
        bench.apply(Event::Submit { task: TaskId(task), request });
    }
    (0..9).for_each(|_| _ = bench.pass(SECOND));
    // 5 tasks by two, and 16 by eight: 2.5 and 2 executors.
    assert_eq!(bench.driver.view().targets, [(ProfileId::DEFAULT, ExecutorLimit::AtMost(5))]);
}
