//! Resource profiles: tasks run only on executors of their profile.

use std::time::Duration;

use firesteel_placement::advanced::locality::Topology;
use firesteel_placement::explain::shortfall::{Amounts, LackingWorkers, Missing, Reason};
use firesteel_placement::{Cores, ExecutorLimit, MiB, Shortfall};
use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId, TaskId};
use firesteel_protocol::messages::{
    DriverToMaster, ExecutorState, ExecutorToDriver, MasterToDriver, ResourceProfile,
};

use super::bench::*;
use crate::driver::{
    DynamicAllocation, Effect, Event, Note, Outbound, Ratio, Replacement, TaskOutcome, TaskRequest, Unfit,
};

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
    let shortfall =
        to_master(DriverToMaster::RequestShortfall { app: firesteel_protocol::ids::AppId::new("app-1") });
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

/// The targets that the effects send to the Master, by profile.
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
    // 17 tasks at two per executor could keep 9 busy, but the maximum is 5.
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
    // 5 tasks at two per executor, and 16 at eight: 2.5 and 2 executors.
    assert_eq!(bench.driver.view().targets, [(ProfileId::DEFAULT, ExecutorLimit::AtMost(5))]);
}

/// The Master's answer that an executor of this profile with these cores is missing for this reason.
fn short(profile: ProfileId, cores: i64, reason: Reason) -> MasterToDriver {
    let asked = Amounts { cores: Cores(cores), ..Amounts::default() };
    let missing = Missing::Executors { missing: 1, of: 1 };
    MasterToDriver::Shortfalls(vec![(profile, Shortfall { missing, asked, reason })])
}

/// Leaves tasks of a profile without an executor for 15 seconds. Returns the effects of the Master's answer.
fn starve(bench: &mut Bench, profile: ProfileId, cores: i64, reason: Reason) -> Vec<Effect> {
    let ask = to_master(DriverToMaster::RequestShortfall { app: AppId::new("app-1") });
    // The very first question comes early, and leads to no executor being given back.
    for _ in 0..3 {
        let at = bench.next_deadline().expect("the Master is asked in the end").0;
        assert_eq!(bench.pass(at.since(bench.now)), std::slice::from_ref(&ask));
        let effects = bench.master(short(profile, cores, reason.clone()));
        if !matches!(effects[..], [] | [Effect::Note(Note::StillWaiting { .. })]) {
            return effects;
        }
    }
    panic!("nothing followed");
}

/// The reason that no Worker has more than `free` free cores.
fn busy(free: i64) -> Reason {
    let most = Amounts { cores: Cores(free), ..Amounts::default() };
    Reason::Busy { workers: vec![LackingWorkers { count: 1, least: most.clone(), most }] }
}

/// The reason that only `left` cores remain of the application's maximum.
fn at_maximum(left: i64) -> Reason {
    Reason::TooFewCoresLeft { left: Cores(left) }
}

/// The executors that the effects ask the Master to end.
fn kills(effects: &[Effect]) -> Vec<u32> {
    let ended = effects.iter().flat_map(|effect| match effect {
        Effect::Send {
            message: Outbound::Master(DriverToMaster::KillExecutors { executors, .. }), ..
        } => executors.iter().map(|id| id.0).collect(),
        _ => Vec::new(),
    });
    ended.collect()
}

fn target(bench: &mut Bench, profile: ProfileId, total: u64) {
    bench.apply(Event::RequestExecutors { profile, total });
}

/// The targets in force, by profile.
fn standing(bench: &Bench) -> Vec<(ProfileId, u64)> {
    let of = |(id, limit)| match limit {
        ExecutorLimit::AtMost(total) => (id, total),
        ExecutorLimit::Unlimited => (id, u64::MAX),
    };
    bench.driver.view().targets.into_iter().map(of).collect()
}

fn ended_by_request(bench: &mut Bench, executors: &[u32]) {
    for &id in executors {
        bench.updated(id, ExecutorState::Killed(None));
    }
}

/// A driver with executors 0 to 2 of one core, as many as its target. For profile 1, no Worker has enough free for an
/// executor.
fn full() -> Bench {
    let mut bench = Bench::with_executors(&[1, 1, 1]);
    target(&mut bench, ProfileId::DEFAULT, 4);
    add_profile(&mut bench, 2);
    bench
}

#[test]
fn idle_executors_give_their_room_to_a_profile_that_has_none_and_get_it_back() {
    let mut bench = full();
    submit(&mut bench, 0, OTHER);
    // Two executors are enough. The target falls, because a fourth executor would otherwise take the resources.
    let note = Note::IdleExecutorsGivenBack { executors: vec![ExecutorId(0), ExecutorId(1)], to: OTHER };
    let effects = starve(&mut bench, OTHER, 2, at_maximum(0));
    assert_eq!(targets(&effects), [(ProfileId::DEFAULT, 1)]);
    assert_eq!(effects[2..], [Effect::Note(note), kill_asked(&[0, 1])]);
    ended_by_request(&mut bench, &[0, 1]);
    let effects = bench.executor(3, register_of(OTHER, 3, 2));
    assert_eq!(effects[2..], [launch(3, attempt(0, 0))]);
    // As long as the remaining executor can run the tasks of the first profile, nothing changes.
    assert_eq!(submit(&mut bench, 1, ProfileId::DEFAULT), [launch(2, attempt(1, 0))]);
    assert_eq!(standing(&bench), [(ProfileId::DEFAULT, 1), (OTHER, 1)]);
    assert_eq!(targets(&submit(&mut bench, 2, ProfileId::DEFAULT)), [(ProfileId::DEFAULT, 4)]);
    // A profile with waiting tasks gives nothing back. An idle one does, as before.
    bench.updated(2, ExecutorState::Killed(None));
    let ask = to_master(DriverToMaster::RequestShortfall { app: AppId::new("app-1") });
    assert_eq!(bench.pass(15 * SECOND), [ask]);
    assert_eq!(kills(&bench.master(short(ProfileId::DEFAULT, 1, at_maximum(0)))), [0; 0]);
    bench.end(3, attempt(0, 0), exit(0));
    let effects = starve(&mut bench, ProfileId::DEFAULT, 1, at_maximum(0));
    assert_eq!((targets(&effects), kills(&effects)), (vec![(OTHER, 0)], vec![3]));
    ended_by_request(&mut bench, &[3]);
    bench.executor(4, register(4, 1));
    assert_eq!(targets(&submit(&mut bench, 3, OTHER)), [(OTHER, 1)]);
}

#[test]
fn executors_of_one_worker_are_given_back_where_each_is_busy() {
    let mut bench = full();
    let mut beside = register(3, 1);
    if let ExecutorToDriver::RegisterExecutor { worker, .. } = &mut beside {
        *worker = firesteel_protocol::ids::WorkerId::new("worker-1");
    }
    bench.executor(3, beside);
    submit(&mut bench, 0, OTHER);
    assert_eq!(kills(&starve(&mut bench, OTHER, 2, busy(0))), [1, 3]);
}

#[test]
fn nothing_is_given_back_where_that_could_not_help() {
    for (cores, reason) in [
        (4, at_maximum(0)),
        (3, busy(1)),
        (1, Reason::NoWorkers),
        (9, Reason::TooSmall { largest: Amounts::default() }),
        (1, Reason::KeptForAnother),
    ] {
        let mut bench = full();
        submit(&mut bench, 0, OTHER);
        let effects = starve(&mut bench, OTHER, cores, reason.clone());
        assert!(matches!(effects[..], [Effect::Note(Note::NoExecutor { .. })]), "{reason:?}: {effects:?}");
    }
}

#[test]
fn profiles_whose_tasks_wait_or_run_keep_their_executors() {
    let mut bench = full();
    submit(&mut bench, 0, OTHER);
    for task in 1..4 {
        submit(&mut bench, task, ProfileId::DEFAULT);
    }
    let effects = starve(&mut bench, OTHER, 1, at_maximum(0));
    assert!(matches!(effects[..], [Effect::Note(Note::NoExecutor { .. })]), "all are at work");
    // A task that is too large for every executor waits, although all are idle.
    bench.submit(4, 9);
    for task in 1..4 {
        bench.end(task as u32 - 1, attempt(task, 0), exit(0));
    }
    let effects = starve(&mut bench, OTHER, 1, at_maximum(0));
    assert!(matches!(effects[..], [Effect::Note(Note::NoExecutor { .. })]), "{effects:?}");
}

#[test]
fn a_profile_whose_executor_comes_takes_nothing() {
    let mut bench = full();
    submit(&mut bench, 0, OTHER);
    bench.pass(15 * SECOND);
    let added = bench.announcement(&register_of(OTHER, 3, 2)).expect("it registers");
    bench.master(added);
    assert_eq!(kills(&bench.master(short(OTHER, 2, at_maximum(0)))), [0; 0]);
    // The executor that was given up does not register.
    bench.apply(Event::KillExecutors { executors: vec![ExecutorId(3)], replacement: Replacement::Wanted });
    assert_eq!(kills(&starve(&mut bench, OTHER, 2, at_maximum(0))), [0, 1]);
}

#[test]
fn a_target_that_is_set_meanwhile_is_the_one_that_was_asked_for() {
    let lowered = || {
        let mut bench = full();
        submit(&mut bench, 0, OTHER);
        starve(&mut bench, OTHER, 2, at_maximum(0));
        assert_eq!(standing(&bench), [(ProfileId::DEFAULT, 1), (OTHER, 1)]);
        bench
    };
    let mut bench = lowered();
    target(&mut bench, ProfileId::DEFAULT, 2);
    (1..3).for_each(|task| _ = submit(&mut bench, task, ProfileId::DEFAULT));
    assert_eq!(standing(&bench), [(ProfileId::DEFAULT, 2), (OTHER, 1)]);
    // Ending one of four executors leaves three.
    let mut bench = lowered();
    let replacement = Replacement::Unwanted;
    bench.apply(Event::KillExecutors { executors: vec![ExecutorId(2)], replacement });
    assert_eq!(standing(&bench), [(ProfileId::DEFAULT, 3), (OTHER, 1)]);
}

#[test]
fn any_number_of_executors_is_those_that_there_were_once_some_were_given_back() {
    let mut bench = Bench::with_executors(&[2, 2]);
    add_profile(&mut bench, 1);
    submit(&mut bench, 0, OTHER);
    assert_eq!(targets(&starve(&mut bench, OTHER, 1, busy(0))), [(ProfileId::DEFAULT, 1)]);
    for task in 1..3 {
        assert_eq!(targets(&submit(&mut bench, task, ProfileId::DEFAULT)), []);
    }
    assert_eq!(targets(&submit(&mut bench, 3, ProfileId::DEFAULT)), [(ProfileId::DEFAULT, 2)]);
}

#[test]
fn with_dynamic_allocation_idle_executors_end_by_themselves() {
    let mut bench = Bench::scaled(1, DynamicAllocation { initial: 1, ..dynamic() });
    bench.executor(0, register(0, 1));
    add_profile(&mut bench, 1);
    submit(&mut bench, 0, OTHER);
    let ends = |effects: &[Effect]| kills(effects) == [0];
    for _ in 0..59 {
        bench.pass(SECOND);
        assert!(!ends(&bench.master(short(OTHER, 1, at_maximum(0)))));
    }
    assert!(ends(&bench.pass(SECOND)));
}
