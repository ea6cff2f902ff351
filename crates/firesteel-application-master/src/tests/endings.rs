//! How applications end.

use super::*;

fn exit(status: FinalStatus, code: i32, message: &str, staging: Staging) -> Effect {
    Effect::Exit(Exit { status, code, message: message.to_owned(), staging })
}

fn unregister(status: FinalStatus, message: &str) -> Effect {
    Effect::Unregister { status, message: message.to_owned() }
}

fn removed(reason: &str) -> Effect {
    tell(MasterToDriver::ApplicationRemoved(ApplicationEnd::GivenUp { reason: reason.to_owned() }))
}

fn last(mode: Mode) -> Config {
    Config { attempt: 2, ..config(mode) }
}

#[test]
fn a_driver_that_is_done_hears_that_its_executors_are_gone_and_the_application_has_succeeded() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    bench.grant(1);
    bench.apply(Event::ContainerStarted { container: container(1) });
    assert_eq!(bench.driver(DriverToMaster::UnregisterApplication { app: app(), outcome: None }), []);
    assert_eq!(bench.call().release, [container(1)]);
    let completed = Completed { container: container(1), status: -100, diagnostics: String::new() };
    let gone = bench.answer(Allocated { machines: 3, completed: vec![completed], ..Allocated::default() });
    assert_eq!(
        gone,
        [
            updated(0, ExecutorState::Killed(None)),
            tell(MasterToDriver::ExecutorsGone { app: app() }),
            unregister(FinalStatus::Succeeded, "the driver is done"),
        ]
    );
    let over = bench.apply(Event::Unregistered);
    assert_eq!(over, [exit(FinalStatus::Succeeded, 0, "the driver is done", Staging::Unneeded)]);
    assert!(bench.master.is_done());
    assert_eq!(bench.apply(Event::Shutdown), []);
}

#[test]
fn a_driver_that_is_done_and_gone_is_not_waited_for() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    bench.grant(1);
    bench.driver(DriverToMaster::UnregisterApplication { app: app(), outcome: None });
    let effects = bench.apply(Event::Disconnected { peer: DRIVER });
    assert_eq!(effects, [unregister(FinalStatus::Succeeded, "the driver is done")]);
    // Even if the driver stays connected, the application does not wait for ever.
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    bench.grant(1);
    bench.driver(DriverToMaster::UnregisterApplication { app: app(), outcome: None });
    assert!(
        !bench
            .pass(Duration::from_secs(3))
            .contains(&unregister(FinalStatus::Succeeded, "the driver is done"))
    );
    let effects = bench.pass(PATIENCE);
    assert_eq!(effects.last(), Some(&unregister(FinalStatus::Succeeded, "the driver is done")));
}

#[test]
fn the_manager_is_told_what_the_driver_says_of_its_work() {
    let cases = [
        (Outcome::Succeeded, FinalStatus::Succeeded, 0, "the driver is done"),
        (
            Outcome::failed("3 of 10 items failed"),
            FinalStatus::Failed,
            15,
            "the driver is done; failed: 3 of 10 items failed",
        ),
        (
            Outcome::cancelled("none of 10 items done"),
            FinalStatus::Killed,
            16,
            "the driver is done; cancelled: none of 10 items done",
        ),
    ];
    for (outcome, status, code, message) in cases {
        // Another attempt is possible, but there would be no driver for it.
        let mut bench = Bench::serving(ExecutorLimit::AtMost(0));
        let told = DriverToMaster::UnregisterApplication { app: app(), outcome: Some(outcome.clone()) };
        let effects = bench.driver(told);
        assert_eq!(effects.last(), Some(&unregister(status, message)));
        assert_eq!(bench.detail().application.outcome, Some(outcome));
        assert_eq!(bench.apply(Event::Unregistered), [exit(status, code, message, Staging::Unneeded)]);
    }
}

#[test]
fn a_driver_that_does_not_come_has_failed_the_attempt_and_the_last_one_is_told() {
    let words = "no driver registered within 100 s (spark.yarn.am.waitTime)";
    let mut bench = Bench::new(Mode::Client);
    bench.apply(Event::Registered { largest: largest() });
    bench.answer(Allocated::default());
    let effects = bench.pass(Duration::from_secs(100));
    assert_eq!(effects.last(), Some(&exit(FinalStatus::Failed, 13, words, Staging::Needed)));

    let mut bench = Bench::of(last(Mode::Cluster));
    let effects = bench.pass(Duration::from_secs(100));
    assert_eq!(effects, [Effect::EndProgram, Effect::Register], "it must be known to be told of");
    let effects = bench.apply(Event::Registered { largest: largest() });
    assert_eq!(effects, [unregister(FinalStatus::Failed, words)]);
    let error = "it is gone".to_owned();
    let effects = bench.apply(Event::UnregisterFailed { error });
    assert_eq!(effects, [exit(FinalStatus::Failed, 13, words, Staging::Needed)]);
}

#[test]
fn in_client_mode_a_driver_that_vanishes_is_waited_for_a_while_and_ends_the_application_then() {
    let words = "the driver is gone and has not said that it is done";
    for (silence, status) in
        [(Silence::Success, FinalStatus::Succeeded), (Silence::Failure, FinalStatus::Failed)]
    {
        let config = Config { silence, ..last(Mode::Client) };
        let mut bench = Bench::with(config, description(ExecutorLimit::AtMost(1)));
        bench.apply(Event::Disconnected { peer: DRIVER });
        assert!(!bench.pass(Duration::from_secs(9)).contains(&unregister(status, words)));
        assert_eq!(bench.pass(Duration::from_secs(1)).last(), Some(&unregister(status, words)));
    }
    for mode in [Mode::Unmanaged, Mode::Cluster] {
        let mut bench = Bench::of(config(mode));
        bench.driver(DriverToMaster::RegisterApplication(Box::new(description(ExecutorLimit::AtMost(1)))));
        bench.apply(Event::Registered { largest: largest() });
        bench.apply(Event::Disconnected { peer: DRIVER });
        assert_eq!(bench.pass(Duration::from_secs(1000)), [], "{mode:?}: it does not matter");
        assert!(!bench.master.is_done());
    }
}

#[test]
fn a_programs_exit_code_is_the_applications() {
    let words = "the program ended with exit code 0";
    let mut bench = Bench::new(Mode::Cluster);
    bench.driver(DriverToMaster::RegisterApplication(Box::new(description(ExecutorLimit::AtMost(0)))));
    bench.apply(Event::Registered { largest: largest() });
    bench.driver(DriverToMaster::UnregisterApplication { app: app(), outcome: None });
    assert!(!bench.master.is_done(), "the program goes on");
    let effects = bench.apply(Event::ProgramEnded(ExitStatus::Code(0)));
    assert_eq!(effects, [unregister(FinalStatus::Succeeded, words)]);

    let words = "the program ended with exit code 1; failed: 3 of 10 items failed";
    let mut bench = Bench::of(last(Mode::Cluster));
    bench.driver(DriverToMaster::RegisterApplication(Box::new(description(ExecutorLimit::AtMost(0)))));
    bench.apply(Event::Registered { largest: largest() });
    let outcome = Some(Outcome::failed("3 of 10 items failed"));
    bench.driver(DriverToMaster::UnregisterApplication { app: app(), outcome });
    let effects = bench.apply(Event::ProgramEnded(ExitStatus::Code(1)));
    assert_eq!(effects, [unregister(FinalStatus::Failed, words)], "its driver's words are added");

    // A program that had nothing to do never had a driver, but has succeeded.
    let mut bench = Bench::new(Mode::Cluster);
    assert_eq!(bench.apply(Event::ProgramEnded(ExitStatus::Code(0))), [Effect::Register]);

    let words = "the program ended with exit code 7";
    let mut bench = Bench::new(Mode::Cluster);
    let effects = bench.apply(Event::ProgramEnded(ExitStatus::Code(7)));
    assert_eq!(
        effects,
        [exit(FinalStatus::Failed, 7, words, Staging::Needed)],
        "another attempt may do better"
    );
}

#[test]
fn too_many_failures_end_the_attempt_and_the_last_one_tells_driver_and_manager() {
    let fail = |mut bench: Bench| {
        for number in 1..=3 {
            bench.grant(number);
            bench.end(number, 1, "");
        }
        bench.pass(Duration::from_secs(3))
    };
    let words = "too many executors failed: 3";
    let first = fail(Bench::serving(ExecutorLimit::AtMost(1)));
    assert_eq!(first, [exit(FinalStatus::Failed, 11, words, Staging::Needed)]);
    let second = fail(Bench::with(last(Mode::Client), description(ExecutorLimit::AtMost(1))));
    assert_eq!(second, [removed(words), unregister(FinalStatus::Failed, words)]);
}

#[test]
fn an_attempt_that_the_manager_has_given_up_leaves_without_a_word() {
    let mut bench = Bench::with(last(Mode::Client), description(ExecutorLimit::AtMost(1)));
    bench.call();
    let effects = bench.apply(Event::AllocateFailed(AllocateFailure::Replaced));
    let words = "the ResourceManager has ended or replaced this attempt of the application";
    assert_eq!(effects, [exit(FinalStatus::Failed, 12, words, Staging::Needed)]);
}

#[test]
fn one_that_is_asked_to_end_leaves_the_rest_to_the_next_attempt() {
    let words = "the ApplicationMaster was asked to end";
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    assert_eq!(bench.apply(Event::Shutdown), [exit(FinalStatus::Undefined, 16, words, Staging::Needed)]);
    let mut bench = Bench::with(last(Mode::Client), description(ExecutorLimit::AtMost(1)));
    assert_eq!(bench.apply(Event::Shutdown), [removed(words), unregister(FinalStatus::Undefined, words)]);
    let hasty = bench.apply(Event::Shutdown);
    assert_eq!(hasty, [exit(FinalStatus::Undefined, 16, words, Staging::Needed)], "it is not waited for");
}

#[test]
fn a_status_client_can_end_the_application_for_good() {
    let mut bench = Bench::serving(ExecutorLimit::AtMost(1));
    let by = "ann@host".to_owned();
    let kill = ClientToMaster::KillApplication { app: "sums".to_owned(), by: (&*by).into() };
    let effects = bench.apply(Event::Received { peer: PeerId(7), message: Inbound::Client(kill) });
    let answer = KillAnswer::Killed { app: app(), executors: 0, cores: Cores(0) };
    let answer = Outbound::Client(MasterToClient::KillApplicationResponse(answer));
    assert_eq!(
        effects,
        [
            Effect::Send { peer: PeerId(7), message: answer },
            tell(MasterToDriver::ApplicationRemoved(ApplicationEnd::Killed { by })),
            unregister(FinalStatus::Killed, "it was killed by ann@host"),
        ]
    );
}

#[test]
fn a_message_is_no_longer_than_the_manager_takes() {
    let config = Config { longest_message: 12, ..last(Mode::Client) };
    let mut bench = Bench::with(config, description(ExecutorLimit::AtMost(1)));
    let effects = bench.apply(Event::Shutdown);
    assert_eq!(effects[1], unregister(FinalStatus::Undefined, "the Appli..."));
}
