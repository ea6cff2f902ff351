//! Tests of policies as the Master applies them.

use firesteel_placement::Policy;
use firesteel_placement::Rule;
use firesteel_protocol::scheduling::run_time::RUN_TIME;
use firesteel_protocol::scheduling::{GangPreemption, SchedulingSettings, ServingOrder};

use super::*;

/// A Master with three Workers of 4, 8 and 12 cores, and an application that uses this rule and has no executors.
fn bench(rule: impl Into<Rule>) -> Bench {
    let mut bench = Bench::new(Config { rule: rule.into(), ..Config::default() });
    for (worker, cores) in [(1, 4), (2, 8), (3, 12)] {
        bench.worker(worker, cores);
    }
    let mut wanted = description(None, Some(2));
    wanted.initial_limit = ExecutorLimit::AtMost(0);
    bench.driver_says(DriverToMaster::RegisterApplication(Box::new(wanted)));
    bench
}

/// The Workers on which this number of executors is launched.
fn workers_for(bench: &mut Bench, total: u64) -> Vec<u64> {
    let target = ExecutorTarget { id: ProfileId::DEFAULT, profile: ResourceProfile::default(), total };
    let effects = bench.driver_says(DriverToMaster::RequestExecutors { app: app(), targets: vec![target] });
    let launched = |effect: &Effect| match effect {
        Effect::Send { peer: PeerId(peer), message: Outbound::Worker(MasterToWorker::LaunchExecutor(_)) } => {
            Some(*peer)
        }
        _ => None,
    };
    effects.iter().filter_map(launched).collect()
}

#[test]
fn preferred_hosts_come_first_and_a_policy_decides_among_those_that_are_equally_welcome() {
    for policy in [Policy::BestFit, Policy::LeastFragmentation] {
        let mut bench = bench(policy);
        let preferences = HostPreferences {
            preferred: BTreeMap::from([("host3".to_owned(), 1)]),
            avoided: BTreeSet::from(["host1".to_owned()]),
            ..HostPreferences::default()
        };
        bench.driver_says(DriverToMaster::PreferHosts { app: app(), preferences: Box::new(preferences) });
        assert_eq!(workers_for(&mut bench, 8), [3, 3, 3, 3, 3, 3, 2, 2], "{policy}");
        let none = DriverToMaster::PreferHosts { app: app(), preferences: Box::default() };
        bench.driver_says(none);
        assert_eq!(
            workers_for(&mut bench, 9),
            [2],
            "{policy}: it has less left over than the one of 4 cores"
        );
    }
}

#[test]
fn where_executors_are_spread_preferred_hosts_come_first_among_those_that_run_equally_few() {
    let mut bench = bench(Policy::SpreadHeld);
    let preferences = HostPreferences {
        preferred: BTreeMap::from([("host1".to_owned(), 9)]),
        avoided: BTreeSet::from(["host2".to_owned()]),
        ..HostPreferences::default()
    };
    bench.driver_says(DriverToMaster::PreferHosts { app: app(), preferences: Box::new(preferences) });
    assert_eq!(workers_for(&mut bench, 1), [1]);
    assert_eq!(workers_for(&mut bench, 3), [3, 1]);
}

#[test]
fn an_expression_decides_for_applications_that_name_no_policy_and_clients_are_told_of_it() {
    let rule: Rule = "expr:abs(total.cores - 8) * 4 - placed".parse().expect("it is a rule");
    let mut bench = bench(rule);
    assert_eq!(workers_for(&mut bench, 9), [2, 2, 2, 2, 1, 1, 3, 3, 3]);
    let told = bench.master.view().scheduling;
    assert_eq!(told.rule, "expr:abs(total.cores - 8) * 4 - placed");
    let mut named = description(None, Some(2));
    named.policy = Some(Policy::SpreadHeld);
    bench.driver_says(DriverToMaster::UnregisterApplication { app: app(), outcome: None });
    let launches = bench.driver_says(DriverToMaster::RegisterApplication(Box::new(named)));
    let launched = |effect: &&Effect| {
        matches!(effect, Effect::Send { message: Outbound::Worker(MasterToWorker::LaunchExecutor(_)), .. })
    };
    assert!(launches.iter().filter(launched).count() > 1, "its own policy spreads: {launches:?}");
}

#[test]
fn clients_are_told_the_settings_of_the_scheduler() {
    let patience = Duration::from_secs(20);
    let gang_preemption = Some(GangPreemption { patience, reach: Duration::ZERO });
    let order = ServingOrder::Shortest;
    let config = Config { order, reservations: 4, gang_preemption, ..Config::default() };
    let told = |config| Bench::new(config).master.view().scheduling;
    let defaults = SchedulingSettings::default();
    let changed = SchedulingSettings { order, reservations: 4, gang_preemption, ..defaults.clone() };
    assert_eq!((told(config), told(Config::default())), (changed, defaults));
}

#[test]
fn clients_are_told_how_long_applications_say_that_they_run() {
    let mut bench = Bench::new(Config::default());
    let told = [Some("600"), None, Some("soon"), Some("60"), Some("30")];
    for (peer, told) in (100..).zip(told) {
        let mut description = description(None, Some(2));
        let variable = told.map(|seconds| (RUN_TIME.to_owned(), seconds.to_owned()));
        let mut command = Command::of("true");
        command.environment.extend(variable);
        description.command = command.into();
        let message = DriverToMaster::RegisterApplication(Box::new(description));
        let (peer, arrived) = (PeerId(peer), bench.now);
        bench.apply(Event::Received { peer, arrived, message: Inbound::Driver(message) });
    }
    let first = bench.master.view().applications[0].id.clone();
    bench.driver_says(DriverToMaster::UnregisterApplication { app: first, outcome: None });
    let view = bench.master.view();
    let seconds = |app: &ApplicationView| app.run_time.map(|time| time.as_secs());
    let live: Vec<_> = view.applications.iter().map(seconds).collect();
    assert_eq!(live, [None, None, Some(60), Some(30)]);
    assert_eq!(seconds(&view.completed[0]), Some(600));
}
