//! Targets and containers: the cases of Spark's own tests of its allocator.

use super::*;

#[test]
fn row_1_a_single_container_is_asked_for_and_used() {
    let mut bench = Bench::new();
    bench.request(1);
    let call = bench.open_call();
    assert_eq!(call.asks.len(), 1);
    assert_eq!((&call.asks[0].location, call.asks[0].containers), (&Location::Any, 1));
    assert_eq!(bench.counts(), (1, 0));
    let effects = bench.answer(&[("host1", 0)], &[]);
    bench.start(&effects);
    assert_eq!(bench.counts(), (0, 1));
    assert_eq!(bench.on_hosts(0), on(&[("host1", 1)]));
    let call = bench.call();
    assert_eq!(
        (&call.asks[0].location, call.asks[0].containers),
        (&Location::Any, 0),
        "nothing is asked for any more"
    );
    assert_eq!(bench.call(), Call::default());
}

#[test]
fn row_2_a_single_container_of_another_profile() {
    let mut bench = Bench::new();
    let needs = ExecutorNeeds { resources: [("gpu".to_owned(), 6)].into(), ..ExecutorNeeds::default() };
    bench.request_all(vec![target(0, 0), Target { needs, ..target(7, 1) }], &[]);
    let call = bench.open_call();
    assert_eq!((call.asks[0].profile, call.asks[0].containers), (ProfileId(7), 1));
    assert_eq!(call.asks[0].size.resources["yarn.io/gpu"].to_string(), "6");
    assert_eq!(bench.profile(7).pending, 1);
    let effects = bench.answer(&[("host1", 7)], &[]);
    bench.start(&effects);
    assert_eq!((bench.profile(7).running, bench.profile(0).running), (1, 0));
    assert_eq!((bench.on_hosts(7), bench.on_hosts(0)), (on(&[("host1", 1)]), on(&[])));
}

#[test]
fn row_3_containers_of_several_profiles() {
    let mut bench = Bench::new();
    let second = ExecutorNeeds {
        memory: Some(MiB(8192)),
        resources: [("fpga".to_owned(), 2)].into(),
        ..ExecutorNeeds::default()
    };
    bench.request_all(vec![target(0, 0), target(1, 1), Target { needs: second, ..target(2, 2) }], &[]);
    bench.open_call();
    assert_eq!((bench.profile(1).pending, bench.profile(2).pending), (1, 2));
    let effects = bench.answer(&[("host1", 1), ("host2", 2), ("host3", 2)], &[]);
    bench.start(&effects);
    assert_eq!(bench.on_hosts(1), on(&[("host1", 1)]));
    assert_eq!(bench.on_hosts(2), on(&[("host2", 1), ("host3", 1)]));
}

#[test]
fn row_7_no_container_is_used_once_the_target_is_met() {
    let mut bench = Bench::new();
    bench.request(1);
    bench.grant(&["host1"]);
    assert_eq!(bench.counts(), (0, 1));
    bench.grant(&["host2"]);
    assert_eq!(bench.counts(), (0, 1));
    assert_eq!(bench.call().release, [container(2)]);
}

#[test]
fn row_8_some_of_the_containers_come() {
    let mut bench = Bench::new();
    bench.request(4);
    bench.grant(&["host1", "host1", "host2"]);
    assert_eq!(bench.counts(), (1, 3));
    assert_eq!(bench.on_hosts(0), on(&[("host1", 2), ("host2", 1)]));
}

#[test]
fn row_9_more_containers_come_than_are_wanted() {
    let mut bench = Bench::new();
    bench.request(2);
    bench.grant(&["host1", "host2", "host4"]);
    assert_eq!(bench.counts(), (0, 2));
    assert_eq!(bench.on_hosts(0), on(&[("host1", 1), ("host2", 1)]));
    assert_eq!(bench.call().release, [container(3)]);
}

#[test]
fn row_10_the_target_falls() {
    let mut bench = Bench::new();
    bench.request(4);
    bench.call();
    assert_eq!(bench.counts(), (4, 0));
    bench.request(3);
    bench.call();
    assert_eq!(bench.counts(), (3, 0));
    bench.grant(&["host1"]);
    assert_eq!(bench.counts(), (2, 1));
    bench.request(2);
    bench.call();
    assert_eq!(bench.counts(), (1, 1));
}

#[test]
fn row_11_the_target_falls_below_what_runs() {
    let mut bench = Bench::new();
    bench.request(4);
    bench.call();
    bench.request(3);
    bench.call();
    bench.grant(&["host1", "host2"]);
    bench.request(1);
    bench.call();
    assert_eq!(bench.counts(), (0, 2));
}

#[test]
fn row_12_executors_are_killed_and_replaced_up_to_the_target() {
    let mut bench = Bench::new();
    bench.request(4);
    bench.grant(&["host1", "host2"]);
    bench.request(1);
    assert_eq!(bench.apply(Event::KillExecutors(vec![ExecutorId(1), ExecutorId(2)])), []);
    assert_eq!(bench.open_call().release, [container(1), container(2)]);
    bench.answer(&[], &[completed(1, 0), completed(2, 0)]);
    assert_eq!(bench.counts(), (1, 0));
    assert_eq!((bench.view().unexpected_ends, bench.view().failures), (0, 0));
}

#[test]
fn row_13_an_executor_is_killed_once_however_often_it_is_asked_for() {
    let mut bench = Bench::new();
    bench.request(2);
    bench.grant(&["host1", "host2"]);
    bench.apply(Event::KillExecutors(vec![ExecutorId(1)]));
    assert_eq!(bench.counts(), (0, 1));
    for _ in 0..3 {
        let note = Note::UnknownExecutor { executor: ExecutorId(1) };
        assert_eq!(bench.apply(Event::KillExecutors(vec![ExecutorId(1)])), [Effect::Note(note)]);
        assert_eq!(bench.counts(), (0, 1));
    }
    bench.request(2);
    bench.call();
    assert_eq!(bench.counts(), (1, 1));
}

#[test]
fn row_14_the_same_end_is_told_twice() {
    let mut bench = Bench::new();
    bench.request(2);
    bench.grant(&["host1", "host2"]);
    bench.end(&[completed(1, 0), completed(1, 0), completed(2, 0)]);
    assert_eq!(bench.counts(), (0, 0));
    assert_eq!(bench.view().unexpected_ends, 2);
}

#[test]
fn row_15_lost_executors_are_told_to_the_driver_and_replaced() {
    let mut bench = Bench::new();
    bench.request(4);
    bench.grant(&["host1", "host2"]);
    bench.request(2);
    let effects = bench.end(&[completed(1, -1), completed(2, -1)]);
    let ended = |executor, host: &str| Effect::ExecutorEnded {
        executor: ExecutorId(executor),
        host: host.into(),
        loss: Loss::Ended { cause: Cause::Failed(-1), diagnostics: String::new() },
    };
    assert_eq!(effects, [ended(1, "host1"), ended(2, "host2")]);
    bench.call();
    assert_eq!(bench.counts(), (2, 0));
    assert_eq!((bench.view().failures, bench.view().unexpected_ends), (2, 2));
}

#[test]
fn row_22_a_host_that_is_decommissioned_is_told_to_the_driver_once() {
    let mut bench = Bench::new();
    bench.request(3);
    let effects = bench.grant(&["host1", "host2", "host3"]);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Decommission { .. })));
    assert_eq!(bench.counts(), (0, 3));
    for told in [true, false] {
        bench.open_call();
        let decommissioning = vec!["host1".to_owned()];
        let answer = Allocated { machines: 3, decommissioning, ..Allocated::default() };
        let effects = bench.apply(Event::Allocated(answer));
        let host = "host1".to_owned();
        assert_eq!(effects, if told { vec![Effect::Decommission { host }] } else { vec![] });
    }
}

/// The requests of one profile in a call, in Hadoop's notation.
fn asks(call: &Call) -> Vec<(String, u64)> {
    call.asks.iter().map(|ask| (ask.location.to_string(), ask.containers)).collect()
}

#[test]
fn requests_follow_the_tasks_hosts_and_stale_ones_are_taken_back() {
    let mut bench = Bench::new();
    bench.request_all(vec![hints(15, &[("host1", 15), ("host3", 15)], target(0, 3))], &[]);
    let call = bench.call();
    assert_eq!(asks(&call), on(&[("host1", 3), ("host3", 3), ("/rack1", 3), ("/rack2", 3), ("*", 3)]));
    // No executor is missing, so the requests stay, although the tasks' preferences have changed.
    bench.request_all(vec![hints(5, &[("host2", 5)], target(0, 3))], &[]);
    bench.pass(3000);
    assert_eq!(asks(&bench.call()), on(&[]));
    // One more executor is wanted. Then all stale requests also move to the preferred hosts.
    bench.request_all(vec![hints(5, &[("host2", 5)], target(0, 4))], &[]);
    assert_eq!(
        asks(&bench.call()),
        on(&[("host1", 0), ("host2", 1), ("host3", 0), ("/rack1", 1), ("/rack2", 0), ("*", 4)])
    );
    // Fewer executors are wanted: requests for any host are withdrawn first, then those for hosts that tasks prefer.
    bench.request_all(vec![hints(5, &[("host2", 5)], target(0, 1))], &[]);
    assert_eq!(asks(&bench.call()), on(&[("*", 1)]));
    bench.request_all(vec![], &[]);
    assert_eq!(asks(&bench.call()), on(&[("host2", 0), ("/rack1", 0), ("*", 0)]));
    assert_eq!(bench.counts(), (0, 0));
}

/// A host that grants nothing is skipped, and its requests go to the other hosts. If no host grants anything, requests
/// are for any host.
#[test]
fn requests_of_one_host_each_leave_a_host_that_gives_nothing() {
    let mut bench = Bench::with(Config { naming: Naming::One, ..config() });
    let target = hints(4, &[("host1", 4), ("host3", 4)], target(0, 4));
    bench.request_all(vec![Target { tasks_per_executor: 1, ..target }], &[]);
    let call = bench.open_call();
    assert_eq!(asks(&call), on(&[("host1", 2), ("host3", 2), ("/rack1", 2), ("/rack2", 2), ("*", 4)]));
    let effects = bench.answer(&[("host1", 0), ("host1", 0)], &[]);
    bench.start(&effects);
    let begun = bench.now;
    assert_eq!(asks(&bench.call()), on(&[("host1", 0), ("/rack1", 0), ("*", 2)]));
    // The next calls that contain a change, and their times after the first one.
    let mut next = || loop {
        let asks = asks(&bench.call());
        if !asks.is_empty() {
            break (asks, bench.now.since(begun).as_millis());
        }
    };
    let elsewhere = [("host1", 2), ("host3", 0), ("/rack1", 2), ("/rack2", 0), ("*", 2)];
    assert_eq!(next(), (on(&elsewhere), 6_000), "host3 has had more than two seconds");
    let either = [("host1", 0), ("host3", 2), ("/rack1", 0), ("/rack2", 2), ("*", 2)];
    assert_eq!(next(), (on(&either), 12_000), "none gives anything, so it is as if all might");
}
