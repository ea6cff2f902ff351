//! Tests of the allocator: an event, and all its effects.

use firesteel_placement::advanced::locality::Locality;

use super::*;

fn granted(number: u32, host: &str) -> Granted {
    let (container, host) = (container(number), host.to_owned());
    Granted { container, host, profile: ProfileId::DEFAULT, memory: MiB(3072) }
}

fn answer(granted: Vec<Granted>) -> Event {
    Event::Allocated(Allocated { machines: 4, granted, ..Allocated::default() })
}

fn launch(number: u32, host: &str, executor: u32) -> Effect {
    Effect::Launch(Launch {
        container: container(number),
        host: host.into(),
        executor: ExecutorId(executor),
        profile: ProfileId::DEFAULT,
        cores: Cores(5),
        memory: MiB(2048),
    })
}

fn matched(number: u32, host: &str, level: Locality) -> Effect {
    Effect::Note(Note::Matched { container: container(number), host: host.into(), level })
}

fn excess(number: u32, host: &str) -> Effect {
    Effect::Note(Note::Excess { container: container(number), host: host.into() })
}

#[test]
fn containers_serve_requests_for_their_hosts_then_for_their_racks_then_any() {
    let mut bench = Bench::new();
    bench.request_all(vec![hints(10, &[("host1", 5), ("host3", 5)], target(0, 2))], &[]);
    bench.open_call();
    // host9 comes first in the answer, but would serve a request last. host2 is in host1's rack, and host1 serves
    // before it.
    let granted = [(1, "host9"), (2, "host2"), (3, "host1")].map(|(number, host)| granted(number, host));
    let elsewhere = Topology::parse("host3 /rack2\nhost9 /rack9").expect("it is a table");
    bench.allocator.config.topology = elsewhere.with_default_rack("/rack1");
    assert_eq!(
        bench.apply(answer(granted.into())),
        [
            excess(1, "host9"),
            matched(3, "host1", Locality::Host),
            launch(3, "host1", 1),
            matched(2, "host2", Locality::Rack),
            launch(2, "host2", 2),
        ]
    );
    assert_eq!(bench.open_call().release, [container(1)]);
}

#[test]
fn the_oldest_request_is_served_first() {
    let mut bench = Bench::new();
    bench.request(1);
    bench.call();
    bench.request_all(vec![hints(5, &[("host1", 5)], target(0, 2))], &[]);
    bench.open_call();
    assert_eq!(
        bench.apply(answer(vec![granted(1, "host3")])),
        [matched(1, "host3", Locality::Any), launch(1, "host3", 1)]
    );
    // The younger request, which is for host1, is still wanted.
    let call = bench.open_call();
    let asks: Vec<_> = call.asks.iter().map(|ask| (ask.location.to_string(), ask.containers)).collect();
    assert_eq!(asks, [("*".to_owned(), 1)]);
    assert_eq!(
        bench.apply(answer(vec![granted(2, "host1")])),
        [matched(2, "host1", Locality::Host), launch(2, "host1", 2)]
    );
}

#[test]
fn a_container_that_comes_twice_is_used_once() {
    let mut bench = Bench::new();
    bench.request(5);
    bench.open_call();
    let twice = |number| Effect::Note(Note::GrantedTwice { container: container(number) });
    assert_eq!(
        bench.apply(answer(vec![granted(1, "host1"), granted(1, "host1")])),
        [twice(1), matched(1, "host1", Locality::Any), launch(1, "host1", 1)]
    );
    bench.open_call();
    assert_eq!(bench.apply(answer(vec![granted(1, "host1")])), [twice(1)]);
    bench.end(&[completed(1, 0)]);
    bench.open_call();
    assert_eq!(bench.apply(answer(vec![granted(1, "host1")])), [twice(1)], "not even after its end");
}

#[test]
fn a_container_that_is_too_small_is_given_back_and_the_numbers_are_told_again() {
    let mut bench = Bench::new();
    bench.request(1);
    bench.open_call();
    let small = Granted { memory: MiB(2431), ..granted(1, "host1") };
    let note = Note::TooSmall { container: container(1), memory: MiB(2431), asked: MiB(2432) };
    assert_eq!(bench.apply(answer(vec![small])), [Effect::Note(note)]);
    let call = bench.open_call();
    assert_eq!(call.release, [container(1)]);
    let any =
        call.asks.iter().find(|ask| ask.location == Location::Any).expect("it may have been counted down");
    assert_eq!(any.containers, 1);
}

#[test]
fn a_container_for_no_profile_is_given_back() {
    let mut bench = Bench::new();
    bench.open_call();
    let stray = Granted { profile: ProfileId(9), ..granted(1, "host1") };
    assert_eq!(bench.apply(answer(vec![stray])), [excess(1, "host1")]);
    assert_eq!(bench.open_call().release, [container(1)]);
}

#[test]
fn a_container_that_is_not_wanted_when_its_turn_comes_is_given_back() {
    let mut bench = Bench::new();
    bench.request(1);
    bench.open_call();
    // The target falls after the call, so the manager still counts the request.
    bench.request(0);
    assert_eq!(bench.apply(answer(vec![granted(1, "host1")])), [excess(1, "host1")]);
    assert_eq!(bench.open_call().release, [container(1)]);
    bench.answer(&[], &[completed(1, -100)]);
    assert_eq!((bench.view().failures, bench.view().unexpected_ends, bench.view().released), (0, 0, 0));
}

#[test]
fn an_executor_that_cannot_be_started_counts_against_its_host_and_is_told() {
    let mut bench = Bench::new();
    bench.request(1);
    bench.open_call();
    bench.apply(answer(vec![granted(1, "host1")]));
    let error = "no such file".to_owned();
    let failed = Event::ContainerStartFailed { container: container(1), error: error.clone() };
    let (executor, host) = (ExecutorId(1), std::sync::Arc::<str>::from("host1"));
    assert_eq!(
        bench.apply(failed.clone()),
        [
            Effect::Note(Note::NotStarted { executor, host: host.clone(), error: error.clone() }),
            Effect::ExecutorEnded { executor, host, loss: Loss::NotStarted { error } },
        ]
    );
    assert_eq!(bench.apply(failed), [], "once");
    assert_eq!(bench.view().failures, 1);
    let call = bench.open_call();
    assert_eq!((call.release, bench.counts()), (vec![container(1)], (1, 0)));
    assert_eq!(bench.answer(&[], &[completed(1, -100)]), [], "its end is no news");
    assert_eq!(bench.view().failures, 1);
}

#[test]
fn an_executor_that_is_killed_while_it_starts_is_given_back() {
    let mut bench = Bench::new();
    bench.request(1);
    bench.open_call();
    bench.apply(answer(vec![granted(1, "host1")]));
    bench.request(0);
    bench.apply(Event::KillExecutors(vec![ExecutorId(1)]));
    bench.apply(Event::ContainerStarted { container: container(1) });
    assert_eq!(bench.counts(), (0, 0));
    assert_eq!(bench.open_call().release, [container(1)]);
    let ended = Effect::ExecutorEnded { executor: ExecutorId(1), host: "host1".into(), loss: Loss::Killed };
    assert_eq!(bench.answer(&[], &[completed(1, 143)]), [ended]);
}

#[test]
fn an_end_that_comes_before_the_start_is_an_end() {
    let mut bench = Bench::new();
    bench.request(1);
    bench.open_call();
    bench.apply(answer(vec![granted(1, "host1")]));
    bench.open_call();
    let loss = Loss::Ended { cause: Cause::Failed(1), diagnostics: String::new() };
    let ended = Effect::ExecutorEnded { executor: ExecutorId(1), host: "host1".into(), loss };
    assert_eq!(bench.answer(&[], &[completed(1, 1)]), [ended]);
    assert_eq!(bench.apply(Event::ContainerStarted { container: container(1) }), []);
    assert_eq!(bench.counts(), (0, 0));
}

#[test]
fn why_an_executor_is_gone_is_told_to_whoever_asks_before_and_once_after() {
    let mut bench = Bench::new();
    bench.request(2);
    bench.grant(&["host1", "host2"]);
    let ask = |question, executor| Event::AskLoss { question, executor: ExecutorId(executor) };
    let loss = |status| Loss::Ended { cause: Cause::of(status, ""), diagnostics: String::new() };
    let told = |question, executor, loss| {
        let executor = ExecutorId(executor);
        Effect::AnswerLoss { question, executor, loss }
    };
    assert_eq!(bench.apply(ask(1, 1)), []);
    assert_eq!(bench.apply(ask(2, 1)), []);
    assert_eq!(bench.apply(ask(3, 9)), [told(3, 9, None)], "nobody knows that one");
    let ended = |executor, host: &str, loss| Effect::ExecutorEnded {
        executor: ExecutorId(executor),
        host: host.into(),
        loss,
    };
    assert_eq!(
        bench.end(&[completed(1, -102), completed(2, 1)]),
        [
            told(1, 1, Some(loss(-102))),
            told(2, 1, Some(loss(-102))),
            ended(1, "host1", loss(-102)),
            ended(2, "host2", loss(1)),
        ]
    );
    assert_eq!(bench.apply(ask(4, 2)), [told(4, 2, Some(loss(1)))]);
    assert_eq!(bench.apply(ask(5, 2)), [told(5, 2, None)]);
    assert_eq!(bench.apply(ask(6, 1)), [told(6, 1, None)]);
}

#[test]
fn a_question_wakes_the_allocator() {
    let mut bench = Bench::new();
    bench.request(1);
    bench.grant(&["host1"]);
    bench.call();
    let (due, _) = bench.allocator.next_deadline().expect("a heartbeat");
    assert_eq!(due.since(bench.now), Duration::from_secs(3));
    bench.pass(1000);
    let effects = bench.apply(Event::AskLoss { question: 1, executor: ExecutorId(1) });
    assert_eq!(effects, [Effect::Allocate(Call::default())]);
    bench.answer(&[], &[]);
    let (due, _) = bench.allocator.next_deadline().expect("an answer is waited for");
    assert_eq!(due.since(bench.now), Duration::from_millis(200));
}

#[test]
fn nothing_counts_against_anybody_while_the_driver_ends() {
    let mut bench = Bench::new();
    bench.request(1);
    bench.grant(&["host1"]);
    bench.apply(Event::DriverStopping);
    bench.request_all(vec![], &[]);
    let loss = Loss::Ended { cause: Cause::DriverStopping, diagnostics: String::new() };
    let ended = Effect::ExecutorEnded { executor: ExecutorId(1), host: "host1".into(), loss };
    assert_eq!(bench.end(&[completed(1, 1)]), [ended]);
    assert_eq!((bench.view().failures, bench.counts()), (0, (0, 0)));
}

#[test]
fn a_call_that_fails_is_repeated_with_all_that_it_said() {
    let mut bench = Bench::new();
    bench.request_all(vec![target(0, 2)], &["bad"]);
    let call = bench.open_call();
    let failed = || AllocateFailure::Failed("the connection ended".to_owned());
    for errors in 1..5 {
        let note = Note::CallFailed { failure: failed(), errors };
        assert_eq!(bench.apply(Event::AllocateFailed(failed())), [Effect::Note(note)]);
        assert_eq!(bench.open_call(), call);
    }
    let failure = Failure::Manager { errors: 5, last: failed() };
    assert_eq!(
        (failure.exit_code(), failure.to_string()),
        (12, "5 calls in a row failed, the last with: the connection ended".to_owned())
    );
    assert_eq!(bench.apply(Event::AllocateFailed(failed())), [Effect::Fail(failure)]);
}

#[test]
fn a_manager_that_replaced_the_attempt_ends_it() {
    let mut bench = Bench::new();
    bench.open_call();
    let failure = Failure::Manager { errors: 1, last: AllocateFailure::Replaced };
    assert_eq!(bench.apply(Event::AllocateFailed(AllocateFailure::Replaced)), [Effect::Fail(failure)]);
}

#[test]
fn a_manager_that_forgot_everything_is_told_everything_again() {
    let mut bench = Bench::new();
    bench.request_all(vec![hints(5, &[("host1", 5)], target(0, 3))], &["bad"]);
    bench.open_call();
    let effects = bench.answer(&[("host1", 0), ("host2", 0)], &[]);
    bench.start(&effects);
    bench.apply(Event::KillExecutors(vec![ExecutorId(1)]));
    bench.call();
    bench.open_call();
    let forgot = AllocateFailure::NotRegistered;
    let note = Note::CallFailed { failure: forgot.clone(), errors: 1 };
    assert_eq!(bench.apply(Event::AllocateFailed(forgot)), [Effect::Note(note), Effect::Register]);
    assert_eq!(bench.allocator.next_deadline(), None, "nobody is called until then");
    let effects = bench.apply(Event::Registered);
    let [Effect::Allocate(call)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((&call.exclude[..], &call.release[..]), (&["bad".to_owned()][..], &[container(1)][..]));
    let any = call.asks.iter().find(|ask| ask.location == Location::Any).expect("something is wanted");
    assert_eq!(any.containers, bench.counts().0);
}

#[test]
fn an_answer_that_nobody_waits_for_is_heard_and_noted() {
    let mut bench = Bench::new();
    bench.request(1);
    bench.call();
    let effects = bench.apply(answer(vec![granted(1, "host1")]));
    let noted = Effect::Note(Note::UnexpectedAnswer);
    assert_eq!(effects, [noted, matched(1, "host1", Locality::Any), launch(1, "host1", 1)]);
    let failed = AllocateFailure::Failed("late".to_owned());
    assert_eq!(bench.apply(Event::AllocateFailed(failed)), [Effect::Note(Note::UnexpectedAnswer)]);
}

#[test]
fn absurd_targets_and_too_many_profiles_are_bounded() {
    let mut bench = Bench::new();
    bench.request(u64::MAX);
    bench.call();
    assert_eq!(bench.counts().0, i32::MAX as u64);
    let targets: Vec<Target> = (0..100).map(|profile| target(profile, 1)).collect();
    let effects = bench.apply(Event::RequestExecutors { targets, excluded: BTreeSet::new() });
    let ignored =
        effects.iter().filter(|effect| matches!(effect, Effect::Note(Note::TooManyProfiles { .. })));
    assert_eq!((bench.view().profiles.len(), ignored.count()), (64, 36));
}
