//! Tests: targets that the owner sets, and executors that the owner ends.

use firesteel_placement::{Cores, ExecutorLimit};
use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId};
use firesteel_protocol::master_search::leadership::Leadership;
use firesteel_protocol::messages::{
    DriverToExecutor, DriverToMaster, ExecutorState, ExecutorTarget, MasterToDriver, ResourceProfile,
    UnsoundProfile,
};

use super::bench::*;
use crate::driver::{Effect, Event, Note, RefusedProfile, Replacement, Request};

const BIG: ProfileId = ProfileId(1);

fn ids(numbers: &[u32]) -> Vec<ExecutorId> {
    numbers.iter().copied().map(ExecutorId).collect()
}

fn kill(numbers: &[u32], replacement: Replacement) -> Event {
    Event::KillExecutors { executors: ids(numbers), replacement }
}

fn request(total: u64) -> Event {
    Event::RequestExecutors { profile: ProfileId::DEFAULT, total }
}

fn big() -> ResourceProfile {
    ResourceProfile { cores: Some(Cores(8)), ..ResourceProfile::default() }
}

fn target(id: ProfileId, total: u64) -> ExecutorTarget {
    let profile = if id == BIG { big() } else { description().profile };
    ExecutorTarget { id, profile, total }
}

fn asked_of(app: &str, targets: Vec<ExecutorTarget>) -> Effect {
    to_master(DriverToMaster::RequestExecutors { app: AppId::new(app), targets })
}

fn asked(total: u64) -> Effect {
    asked_of("app-1", vec![target(ProfileId::DEFAULT, total)])
}

fn set(total: u64) -> Effect {
    Effect::Note(Note::TargetSet { profile: ProfileId::DEFAULT, total })
}

fn killed(numbers: &[u32], replacement: Replacement) -> Effect {
    Effect::Note(Note::ExecutorsKilled { executors: ids(numbers), replacement })
}

#[test]
fn a_target_is_told_to_the_master() {
    let mut bench = Bench::registered();
    assert_eq!(bench.driver.view().targets, [(ProfileId::DEFAULT, ExecutorLimit::Unlimited)]);
    assert_eq!(bench.apply(request(3)), [set(3), asked(3)]);
    assert_eq!(bench.driver.view().targets, [(ProfileId::DEFAULT, ExecutorLimit::AtMost(3))]);
}

#[test]
fn the_target_is_lowered_before_executors_are_ended_unless_others_are_to_come() {
    let mut bench = Bench::with_executors(&[1, 1, 1, 1]);
    // Without a target, it becomes the number of executors less the ended ones.
    assert_eq!(
        bench.apply(kill(&[0, 2], Replacement::Unwanted)),
        [set(2), asked(2), killed(&[0, 2], Replacement::Unwanted), kill_asked(&[0, 2])]
    );
    assert_eq!(
        bench.apply(kill(&[1], Replacement::Wanted)),
        [killed(&[1], Replacement::Wanted), kill_asked(&[1])]
    );
    assert_eq!(bench.driver.view().targets, [(ProfileId::DEFAULT, ExecutorLimit::AtMost(2))]);
    let unknown = Effect::Note(Note::KillUnknown { executors: ids(&[1, 9]) });
    assert_eq!(bench.apply(kill(&[1, 9], Replacement::Unwanted)), [unknown], "once is enough");
}

#[test]
fn tasks_of_a_killed_executor_run_again_elsewhere_without_blame() {
    let mut bench = Bench::with_executors(&[1]);
    bench.submit(0, 1);
    bench.apply(kill(&[0], Replacement::Wanted));
    assert_eq!(bench.submit(1, 1), [], "it takes no more tasks");
    let state = ExecutorState::Killed(None);
    let lost = bench.updated(0, state);
    assert_eq!(
        lost.get(1..),
        Some(&[to_executor(0, DriverToExecutor::StopExecutor), closed(0), discard(attempt(0, 0)),][..])
    );
    let other = bench.executor(1, register(1, 2));
    assert_eq!(other.get(2..), Some(&[launch(1, attempt(0, 1)), launch(1, attempt(1, 0))][..]));
    assert_eq!(bench.driver.view().failed_attempts, 0);
}

#[test]
fn an_executor_that_is_killed_while_it_comes_is_given_nothing() {
    let mut bench = Bench::registered();
    bench.submit(0, 1);
    bench.added(0, 1);
    bench.apply(kill(&[0], Replacement::Wanted));
    let registered = bench.executor(0, register(0, 1));
    assert_eq!(registered.last(), Some(&to_executor(0, confirmation())));
}

#[test]
fn a_master_that_knows_nothing_is_told_all_targets() {
    let mut bench = Bench::with_executors(&[1]);
    bench.apply(request(3));
    bench.apply(Event::AddProfile { profile: BIG, needs: big(), total: 2 });
    bench.apply(Event::Disconnected { peer: MASTER });
    assert_eq!(bench.apply(request(4)), [set(4)]);
    bench.now = bench.now + std::time::Duration::from_secs(60);
    bench.apply(Event::Deadline);
    let mut limit = description();
    limit.initial_limit = ExecutorLimit::AtMost(4);
    limit.first_executor = ExecutorId(1);
    assert_eq!(
        bench.apply(Event::Connected { peer: MASTER, master: master("m1"), leadership: Leadership::ALONE }),
        [to_master(resume("app-1", vec![ExecutorId(0)], limit))]
    );
    let resent = asked_of("app-2", vec![target(ProfileId::DEFAULT, 4), target(BIG, 2)]);
    assert!(bench.master(registered("app-2")).contains(&resent));
}

#[test]
fn a_master_that_knows_the_application_is_told_of_kills_again() {
    let mut bench = Bench::with_executors(&[1, 1]);
    bench.apply(Event::Disconnected { peer: MASTER });
    let unsent = [set(1), killed(&[0], Replacement::Unwanted)];
    assert_eq!(bench.apply(kill(&[0], Replacement::Unwanted)), unsent);
    bench.now = bench.now + std::time::Duration::from_secs(60);
    bench.apply(Event::Deadline);
    bench.apply(Event::Connected { peer: MASTER, master: master("m1"), leadership: Leadership::ALONE });
    let resumed = bench.master(registered("app-1"));
    assert_eq!(resumed.get(1..3), Some(&[asked(1), kill_asked(&[0])][..]));
}

#[test]
fn what_the_master_refuses_is_remarked() {
    let mut bench = Bench::registered();
    let refused = |request| [Effect::Note(Note::RequestRefused { request })];
    assert_eq!(bench.master(MasterToDriver::ExecutorsRequested { accepted: true }), []);
    assert_eq!(
        bench.master(MasterToDriver::ExecutorsRequested { accepted: false }),
        refused(Request::Targets)
    );
    assert_eq!(bench.master(MasterToDriver::ExecutorsKilled { accepted: false }), refused(Request::Kill));
}

#[test]
fn an_application_has_no_more_profiles_than_a_master_keeps() {
    let mut bench = Bench::registered();
    let mut add = |number| {
        let event = Event::AddProfile { profile: ProfileId(number), needs: big(), total: 0 };
        bench.apply(event).into_iter().find_map(|effect| match effect {
            Effect::Note(Note::ProfileRefused { reason, .. }) => Some(reason.to_string()),
            _ => None,
        })
    };
    assert!((1..64).all(|number| add(number).is_none()));
    assert_eq!(add(64).as_deref(), Some("an application has at most 64 profiles"));
    assert_eq!(add(1), None, "the same again is no more");
}

#[test]
fn a_profile_is_fixed_once_it_is_known() {
    let mut bench = Bench::registered();
    let unknown = Effect::Note(Note::ProfileUnknown { profile: BIG });
    assert_eq!(bench.apply(Event::RequestExecutors { profile: BIG, total: 1 }), [unknown]);
    let mut add = |needs: ResourceProfile| bench.apply(Event::AddProfile { profile: BIG, needs, total: 2 });
    let refused = |reason| [Effect::Note(Note::ProfileRefused { profile: BIG, reason })];
    let unsound = ResourceProfile { cores: Some(Cores(0)), ..big() };
    assert_eq!(add(unsound), refused(RefusedProfile::Unsound(UnsoundProfile::Cores(Cores(0)))));
    let told =
        [Effect::Note(Note::TargetSet { profile: BIG, total: 2 }), asked_of("app-1", vec![target(BIG, 2)])];
    assert_eq!(add(big()), told);
    assert_eq!(add(big()), told, "the same again");
    assert_eq!(add(ResourceProfile::default()), refused(RefusedProfile::Taken));
}
