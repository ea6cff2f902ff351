//! Executors start and end, and the driver gets messages about this.

use super::*;

#[test]
fn a_granted_container_becomes_an_executor_with_its_command_filled_in() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    assert_eq!(bench.grant(1), [added(0), launch(0, 1)]);
    let started = bench.apply(Event::ContainerStarted { container: container(1) });
    assert_eq!(started, [updated(0, ExecutorState::Running)]);
    assert_eq!(bench.apply(Event::ContainerStarted { container: container(1) }), [], "once");
}

#[test]
fn every_end_is_told_with_its_reason() {
    let failed = |step, error: &str| ExecutorState::Failed(StartFailure { step, error: error.to_owned() });
    let container_lost = |why: &str| ExecutorState::Lost(LossReason::Container { why: why.to_owned() });
    let over = "1.2 GB of 1 GB physical memory used. Killing container.";
    let over_memory = ExecutorState::Lost(LossReason::OverLimit {
        why: format!("it used more physical memory than its container has: 1.2 GB of 1 GB: {over}"),
    });
    for (status, diagnostics, expected) in [
        (0, "", ExecutorState::Exited(ExitStatus::Code(0))),
        (3, "", ExecutorState::Exited(ExitStatus::Code(3))),
        (137, "", ExecutorState::Exited(ExitStatus::Signal(9))),
        (-1000, "no such\n file", failed(StartStep::Files, "no such file")),
        (-104, over, over_memory),
    ] {
        let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
        bench.grant(1);
        bench.apply(Event::ContainerStarted { container: container(1) });
        let effects = bench.end(1, status, diagnostics);
        match (&effects[..], &expected) {
            // The text of the cause comes from the allocator.
            (
                [
                    Effect::Send {
                        message:
                            Outbound::Driver(MasterToDriver::ExecutorUpdated {
                                state: ExecutorState::Lost(LossReason::OverLimit { why }),
                                ..
                            }),
                        ..
                    },
                ],
                ExecutorState::Lost(LossReason::OverLimit { .. }),
            ) => assert!(why.contains("1.2 GB of 1 GB"), "{why}"),
            _ => assert_eq!(effects, [updated(0, expected)], "{status}"),
        }
    }
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    bench.grant(1);
    let effects = bench.end(1, -102, "preempted for prod");
    assert_eq!(effects.len(), 1);
    let Effect::Send {
        message: Outbound::Driver(MasterToDriver::ExecutorUpdated { state: ExecutorState::Lost(reason), .. }),
        ..
    } = &effects[0]
    else {
        panic!("{effects:?}")
    };
    assert!(reason.to_string().ends_with("preempted for prod"), "{reason}");
    assert!(matches!(reason, LossReason::Container { .. }) && container_lost("x") != container_lost("y"));
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    bench.grant(1);
    let error = "the NodeManager is gone".to_owned();
    let effects = bench.apply(Event::ContainerStartFailed { container: container(1), error });
    assert_eq!(effects, [updated(0, failed(StartStep::Program, "the NodeManager is gone"))]);
}

#[test]
fn a_driver_is_told_of_executors_on_a_host_that_is_being_decommissioned() {
    let mut config = config(Mode::Client);
    config.allocator.decommissioning = Decommissioning::Notified;
    let mut bench = Bench::with(config, description(ExecutorLimit::AtMost(1)));
    bench.grant(1);
    let host = Some("host1".to_owned());
    let leaving = tell(MasterToDriver::ExecutorLeaving { executor: ExecutorId(0), host });
    for (host, told) in [("host2", false), ("host1", true), ("host1", false)] {
        bench.call();
        let decommissioning = vec![host.to_owned()];
        let effects = bench.answer(Allocated { machines: 3, decommissioning, ..Allocated::default() });
        assert_eq!(effects, Vec::from_iter(told.then(|| leaving.clone())), "{host}");
    }
    // A returning driver gets the messages again.
    bench.apply(Event::Disconnected { peer: DRIVER });
    let description = description(ExecutorLimit::AtMost(1));
    let back = bench.driver(DriverToMaster::RegisterApplication(Box::new(description)));
    assert_eq!(back, [confirmation(0), added(0), leaving]);
}

#[test]
fn an_executor_that_is_killed_is_replaced_unless_the_target_was_lowered() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    bench.grant(1);
    bench.apply(Event::ContainerStarted { container: container(1) });
    let kill = DriverToMaster::KillExecutors { app: app(), executors: vec![ExecutorId(0)] };
    assert_eq!(bench.driver(kill), [tell(MasterToDriver::ExecutorsKilled { accepted: true })]);
    let call = bench.call();
    assert_eq!(call.release, [container(1)]);
    assert_eq!(asked(&call), [(0, "*".to_owned(), 1, MiB(2432))]);
    let completed = Completed { container: container(1), status: -100, diagnostics: String::new() };
    let gone = bench.answer(Allocated { machines: 3, completed: vec![completed], ..Allocated::default() });
    assert_eq!(gone, [updated(0, ExecutorState::Killed(None))]);
}

#[test]
fn hosts_where_tasks_would_like_to_run_are_asked_for() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(2));
    let preferences = HostPreferences {
        tasks: 4,
        preferred: BTreeMap::from([("host1".to_owned(), 4)]),
        ..HostPreferences::default()
    };
    assert_eq!(
        bench.driver(DriverToMaster::PreferHosts { app: app(), preferences: Box::new(preferences) }),
        []
    );
    // Four tasks need two executors of two cores.
    let places: Vec<_> =
        asked(&bench.call()).into_iter().map(|(_, place, count, _)| (place, count)).collect();
    assert_eq!(places, [("host1".to_owned(), 2), ("*".to_owned(), 2)]);
}

#[test]
fn targets_of_other_profiles_have_their_own_containers() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(0));
    let profile = ResourceProfile { memory: Some(MiB(4096)), ..ResourceProfile::default() };
    let target = ExecutorTarget { id: ProfileId(3), profile, total: 2 };
    let request = DriverToMaster::RequestExecutors { app: app(), targets: vec![target] };
    assert_eq!(bench.driver(request), [tell(MasterToDriver::ExecutorsRequested { accepted: true })]);
    assert_eq!(asked(&bench.call()), [(3, Location::Any.to_string(), 2, MiB(4505))]);
}

#[test]
fn what_is_missing_is_told_with_what_was_granted() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(4));
    bench.grant(1);
    let told = |bench: &mut Bench| match &bench.driver(DriverToMaster::RequestShortfall { app: app() })[..] {
        [Effect::Send { message: Outbound::Driver(MasterToDriver::Shortfalls(all)), .. }] => all.clone(),
        effects => panic!("{effects:?}"),
    };
    let (profile, shortfall) = told(&mut bench).remove(0);
    assert_eq!(profile, ProfileId::DEFAULT);
    assert_eq!(
        shortfall.to_string(),
        "3 of 4 executors are missing: the cluster has granted 1 container so far"
    );
    let mut large = description(ExecutorLimit::AtMost(1));
    large.profile.memory = Some(MiB(8192));
    let mut bench = Bench::with(config(Mode::Client), large);
    let (_, shortfall) = told(&mut bench).remove(0);
    assert!(matches!(shortfall.reason, Reason::TooSmall { .. }), "{shortfall}");
}

#[test]
fn an_executor_that_has_had_its_turn_is_not_replaced() {
    let mut turns = description(ExecutorLimit::AtMost(2));
    turns.relaunch = Relaunch::WhenLost;
    let mut bench = Bench::with(config(Mode::Client), turns);
    bench.grant(1);
    bench.apply(Event::ContainerStarted { container: container(1) });
    bench.end(1, 3, "");
    // One executor is still wanted, and was already requested.
    assert_eq!(bench.call(), Call::default());
}

#[test]
fn a_manager_that_has_forgotten_everything_is_told_everything() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(2));
    bench.grant(1);
    bench.call();
    let forgot = bench.apply(Event::AllocateFailed(AllocateFailure::NotRegistered));
    assert_eq!(forgot, [Effect::Register]);
    let effects = bench.apply(Event::Registered { largest: largest() });
    let told = |effect: &Effect| matches!(effect, Effect::Allocate(call) if asked(call).len() == 1);
    assert!(effects.last().is_some_and(told), "{effects:?}");
}
