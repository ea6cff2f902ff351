//! Tests of custom resources: the addresses that each task gets, and when they are free again.

use firesteel_placement::advanced::resources::TaskAmount;
use firesteel_placement::{Amount, Cores, Resources};
use firesteel_protocol::ids::{ExecutorId, PeerId, TaskId};
use firesteel_protocol::messages::{DriverToExecutor, ExecutorState, ExecutorToDriver};
use firesteel_protocol::process::ExitStatus;

use super::bench::*;
use crate::driver::{Effect, Event, FailureCause, TaskOutcome, TaskRequest, Unfit};

/// A registered driver with executors of 4 cores. Each executor has the gpu addresses of one entry.
fn with_gpus(executors: &[&[&str]]) -> Bench {
    let mut config = config(&["m1"]);
    let each = executors.first().map_or(0, |gpus| gpus.len() as u64);
    config.description.profile.resources.insert("gpu".to_owned(), each.into());
    let mut bench = Bench::of(config);
    bench.register();
    for (id, gpus) in (0..).zip(executors) {
        bench.executor(id, with(register(id, 4), gpus));
    }
    bench
}

fn with(mut message: ExecutorToDriver, gpus: &[&str]) -> ExecutorToDriver {
    if let ExecutorToDriver::RegisterExecutor { resources, .. } = &mut message {
        *resources = gpu(gpus);
    }
    message
}

fn gpu(addresses: &[&str]) -> Resources {
    Resources::from_iter([("gpu", addresses.iter().copied())])
}

fn submit(bench: &mut Bench, task: u64, amount: TaskAmount) -> Vec<Effect> {
    let resources = [("gpu".to_owned(), amount)].into();
    bench.apply(Event::Submit { task: TaskId(task), request: TaskRequest { resources, ..spec(1).into() } })
}

fn launch_with(on: u32, task: u64, number: u32, gpus: &[&str]) -> Effect {
    let (attempt, spec, resources) = (attempt(task, number), spec(1), gpu(gpus));
    to_executor(on, DriverToExecutor::LaunchTask { attempt, spec, resources, credit: WINDOW })
}

const ONE: TaskAmount = TaskAmount::Whole(1);

#[test]
fn each_task_has_an_address_of_its_own_and_one_more_waits_though_cores_are_free() {
    let mut bench = with_gpus(&[&["7", "3"]]);
    assert_eq!(submit(&mut bench, 0, ONE), [launch_with(0, 0, 0, &["3"])]);
    assert_eq!(submit(&mut bench, 1, ONE), [launch_with(0, 1, 0, &["7"])]);
    assert_eq!(submit(&mut bench, 2, ONE), []);
    assert_eq!(bench.submit(3, 1), [launch(0, attempt(3, 0))], "it needs none");
    let freed = [succeeded(attempt(1, 0), 0), launch_with(0, 2, 0, &["7"])];
    assert_eq!(bench.end(0, attempt(1, 0), exit(0)), freed);
}

#[test]
fn tasks_share_an_address_by_their_fraction_and_no_more_of_them() {
    let mut bench = with_gpus(&[&["0", "1"]]);
    let half = TaskAmount::Shared(2);
    for (task, address) in [(0, "0"), (1, "0"), (2, "1")] {
        assert_eq!(submit(&mut bench, task, half), [launch_with(0, task, 0, &[address])]);
    }
    assert_eq!(submit(&mut bench, 3, ONE), [], "no address is whole");
    assert_eq!(submit(&mut bench, 4, half), [launch_with(0, 4, 0, &["1"])]);
    assert_eq!(bench.end(0, attempt(0, 0), exit(0)), [succeeded(attempt(0, 0), 0)]);
    let whole = [succeeded(attempt(1, 0), 0), launch_with(0, 3, 0, &["0"])];
    assert_eq!(bench.end(0, attempt(1, 0), exit(0)), whole);
}

#[test]
fn executors_take_turns_among_those_that_have_addresses_left() {
    let mut bench = with_gpus(&[&["a"], &["b"], &["c"]]);
    assert_eq!(submit(&mut bench, 0, ONE), [launch_with(0, 0, 0, &["a"])]);
    assert_eq!(submit(&mut bench, 1, ONE), [launch_with(1, 1, 0, &["b"])]);
    assert_eq!(bench.end(0, attempt(0, 0), exit(0)), [succeeded(attempt(0, 0), 0)]);
    assert_eq!(submit(&mut bench, 2, ONE), [launch_with(2, 2, 0, &["c"])]);
    assert_eq!(submit(&mut bench, 3, ONE), [launch_with(0, 3, 0, &["a"])]);
}

#[test]
fn a_lost_executors_addresses_are_gone_and_its_task_has_those_of_another_one() {
    let mut bench = with_gpus(&[&["a"], &["b"]]);
    submit(&mut bench, 0, ONE);
    submit(&mut bench, 1, ONE);
    submit(&mut bench, 2, ONE);
    let effects = bench.updated(0, ExecutorState::Exited(ExitStatus::Signal(9)));
    assert!(
        !effects.iter().any(|effect| matches!(effect, Effect::Send { peer: PeerId(11), .. })),
        "{effects:?}"
    );
    let freed = [succeeded(attempt(1, 0), 1), launch_with(1, 0, 1, &["b"])];
    assert_eq!(bench.end(1, attempt(1, 0), exit(0)), freed);
}

#[test]
fn an_address_comes_back_when_its_task_fails_or_is_given_up_and_has_ended() {
    let mut bench = with_gpus(&[&["a"]]);
    submit(&mut bench, 0, ONE);
    let cause = FailureCause::Ended(exit(1));
    let again =
        [failure_noted(attempt(0, 0), 0, cause, 1), discard(attempt(0, 0)), launch_with(0, 0, 1, &["a"])];
    assert_eq!(bench.end(0, attempt(0, 0), exit(1)), again);
    submit(&mut bench, 1, ONE);
    let kill = to_executor(0, DriverToExecutor::KillTask { attempt: attempt(0, 1) });
    assert_eq!(bench.apply(Event::CancelTask { task: TaskId(0) }), [kill], "it is still in use");
    let killed = firesteel_protocol::messages::TaskEnd::Killed;
    assert_eq!(bench.end(0, attempt(0, 1), killed), [cancelled(0), launch_with(0, 1, 0, &["a"])]);
}

#[test]
fn a_retry_goes_where_there_are_addresses() {
    let mut bench = with_gpus(&[&["a"], &["b"], &["c"]]);
    submit(&mut bench, 0, ONE);
    submit(&mut bench, 1, ONE);
    let cause = FailureCause::Ended(exit(1));
    let elsewhere =
        [failure_noted(attempt(0, 0), 0, cause, 1), discard(attempt(0, 0)), launch_with(2, 0, 1, &["c"])];
    assert_eq!(bench.end(0, attempt(0, 0), exit(1)), elsewhere);
}

#[test]
fn a_task_that_takes_more_than_its_profile_has_fails_at_once() {
    let mut bench = with_gpus(&[&["a"]]);
    let unfit = |name: &str, asked, each| {
        let each = Amount::Whole(each);
        TaskOutcome::Unfit(Unfit::TooFewAddresses { name: name.to_owned(), asked, each })
    };
    let two = TaskAmount::Whole(2);
    assert_eq!(submit(&mut bench, 0, two), [ended(0, unfit("gpu", two, 1))]);
    let resources = [("fpga".to_owned(), TaskAmount::Shared(2))].into();
    let request = TaskRequest { resources, ..spec(1).into() };
    let effects = bench.apply(Event::Submit { task: TaskId(1), request });
    assert_eq!(effects, [ended(1, unfit("fpga", TaskAmount::Shared(2), 0))]);
    assert_eq!(submit(&mut bench, 2, ONE), [launch_with(0, 2, 0, &["a"])]);
}

#[test]
fn what_an_executor_has_is_shown() {
    let bench = with_gpus(&[&["a", "b"]]);
    let view = &bench.driver.view().executors[0];
    assert_eq!((view.id, view.cores, &view.resources), (ExecutorId(0), Cores(4), &gpu(&["a", "b"])));
}
