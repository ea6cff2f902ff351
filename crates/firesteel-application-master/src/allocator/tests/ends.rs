//! Failures and excluded hosts: the cases of Spark's own tests of its allocator and of its node health.

use super::super::health::Verdict;
use super::*;

fn exclusion(failures: u64, millis: u64) -> HostExclusion {
    HostExclusion::On { failures, timeout: Duration::from_millis(millis) }
}

/// The hosts that a call excludes, and the hosts that it no longer excludes.
fn changes(call: &Call) -> (Vec<&str>, Vec<&str>) {
    (call.exclude.iter().map(String::as_str).collect(), call.include.iter().map(String::as_str).collect())
}

#[test]
fn row_16_the_drivers_excluded_hosts_reach_the_manager() {
    let mut bench = Bench::new();
    bench.request_all(vec![target(0, 1)], &["hostA"]);
    assert_eq!(changes(&bench.call()), (vec!["hostA"], vec![]));
    bench.request_all(vec![target(0, 2)], &["hostA", "hostB"]);
    assert_eq!(changes(&bench.call()), (vec!["hostB"], vec![]));
    bench.request_all(vec![target(0, 3)], &[]);
    assert_eq!(changes(&bench.call()), (vec![], vec!["hostA", "hostB"]));
    // Hosts are excluded even if no target changes, unlike in Spark.
    bench.request_all(vec![target(0, 3)], &["hostC"]);
    assert_eq!(changes(&bench.call()), (vec!["hostC"], vec![]));
}

#[test]
fn row_17_failures_count_within_a_window() {
    let mut health = Health::new(HostExclusion::Off, Some(Duration::from_secs(100)), BTreeSet::new(), 1000);
    let now = |seconds: u64| Timestamp::from_millis(seconds * 1000);
    health.failed(now(100), "host1", CountsAgainst::Host);
    assert_eq!(health.failures(now(100)), 1);
    assert_eq!(health.failures(now(201)), 0);
    health.failed(now(201), "host1", CountsAgainst::Host);
    health.failed(now(201), "host2", CountsAgainst::Host);
    assert_eq!(health.failures(now(201)), 2);
    health.failed(now(251), "host3", CountsAgainst::Host);
    assert_eq!(health.failures(now(251)), 3);
    assert_eq!(health.failures(now(302)), 1);
    assert_eq!(health.failures(now(352)), 0);
}

#[test]
fn row_18_hosts_are_excluded_for_the_causes_for_which_yarn_does() {
    let mut bench = Bench::with(Config { exclusion: exclusion(0, 3_600_000), ..config() });
    bench.request(11);
    let hosts: Vec<String> = (0..11).map(|number| format!("host{number}")).collect();
    bench.grant(&hosts.iter().map(String::as_str).collect::<Vec<_>>());
    let harmless = [0, -102, -103, -104, -106, -105, -107, -100, -101];
    let ends: Vec<_> = (1..).zip(harmless).map(|(number, status)| completed(number, status)).collect();
    bench.end(&ends);
    assert_eq!(changes(&bench.call()), (vec![], vec![]));
    bench.end(&[completed(10, -1000)]);
    assert_eq!(changes(&bench.call()), (vec!["host9"], vec![]));
    bench.end(&[completed(11, 1)]);
    assert_eq!(changes(&bench.call()), (vec!["host10"], vec![]));
    // Unlike in Spark, executors that used too much memory count as failed, because the application cannot continue
    // like that.
    assert_eq!(bench.view().failures, 4);
}

/// The setting of Spark's tests of node health: more than two failures exclude a host for 100 ms.
struct HealthBench {
    health: Health,
    now: Timestamp,
}

impl HealthBench {
    fn new(never: &[&str]) -> Self {
        let health = Health::new(exclusion(2, 100), None, set(never), 1000);
        Self { health, now: Timestamp::from_millis(5_000) }
    }

    fn fail(&mut self, host: &str) -> Verdict {
        self.health.failed(self.now, host, CountsAgainst::Host)
    }

    fn changes(&mut self) -> (Vec<String>, Vec<String>) {
        self.health.heard();
        self.health.changes(self.now)
    }

    fn pass(&mut self, millis: u64) {
        self.now = self.now + Duration::from_millis(millis);
    }
}

fn names(added: &[&str], removed: &[&str]) -> (Vec<String>, Vec<String>) {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    (owned(added), owned(removed))
}

#[test]
fn health_1_what_it_excluded_itself_expires() {
    let mut bench = HealthBench::new(&[]);
    for _ in 0..2 {
        assert_eq!(bench.fail("host"), Verdict::Nothing);
        assert_eq!(bench.changes(), names(&[], &[]));
    }
    assert_eq!(bench.fail("host"), Verdict::Excluded { failures: 3 });
    assert_eq!(bench.changes(), names(&["host"], &[]));
    assert_eq!(bench.fail("host"), Verdict::Nothing, "what is avoided anyway counts for nothing");
    assert_eq!(bench.health.failures(bench.now), 3);
    bench.pass(100);
    bench.health.exclude(BTreeSet::new());
    assert_eq!(bench.changes(), names(&[], &["host"]));
}

#[test]
fn health_2_what_the_driver_excluded_does_not_expire_here() {
    let mut bench = HealthBench::new(&[]);
    bench.health.exclude(set(&["host1", "host2"]));
    assert_eq!(bench.changes(), names(&["host1", "host2"], &[]));
    bench.pass(200);
    bench.health.exclude(set(&["host1", "host2"]));
    assert_eq!(bench.changes(), names(&[], &[]));
}

#[test]
fn health_3_hosts_may_be_excluded_from_the_start() {
    let mut bench = HealthBench::new(&["host1", "host2"]);
    assert_eq!(bench.changes(), names(&["host1", "host2"], &[]));
    let config = Config { never: set(&["host1", "host2"]), ..config() };
    let mut allocator = Allocator::new(config);
    let effects = allocator.apply(Timestamp::from_millis(1), Event::Registered);
    let [Effect::Allocate(call)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(changes(call), (vec!["host1", "host2"], vec![]));
}

#[test]
fn health_4_the_three_lists_are_one() {
    let mut bench = HealthBench::new(&["initial1", "initial2"]);
    assert_eq!(bench.changes(), names(&["initial1", "initial2"], &[]));
    for _ in 0..3 {
        bench.fail("host1");
    }
    assert_eq!(bench.changes(), names(&["host1"], &[]));
    bench.health.exclude(set(&["host2", "host3"]));
    assert_eq!(bench.changes(), names(&["host2", "host3"], &[]));
    bench.pass(10);
    bench.health.exclude(set(&["host3", "host4"]));
    assert_eq!(bench.changes(), names(&["host4"], &["host2"]));
}

#[test]
fn health_5_all_machines_can_be_excluded() {
    let mut bench = HealthBench::new(&[]);
    bench.health.exclude(set(&["host1", "host2", "host3"]));
    assert_eq!(bench.changes(), names(&["host1", "host2", "host3"], &[]));
    assert!(!bench.health.covers(4));
    bench.pass(60);
    for _ in 0..3 {
        bench.fail("host4");
    }
    assert_eq!(bench.changes(), names(&["host4"], &[]));
    assert!(bench.health.covers(4) && !bench.health.covers(5) && !bench.health.covers(0));
}

#[test]
fn hosts_that_the_manager_may_not_have_heard_of_are_named_again_as_they_are_then() {
    let mut bench = HealthBench::new(&[]);
    bench.health.exclude(set(&["a", "b"]));
    assert_eq!(bench.health.changes(bench.now), names(&["a", "b"], &[]));
    bench.health.resend_all();
    bench.health.exclude(set(&["b", "c"]));
    assert_eq!(bench.health.changes(bench.now), names(&["b", "c"], &["a"]));
    bench.health.resend_all();
    assert_eq!(bench.health.changes(bench.now), names(&["b", "c"], &["a"]));
    bench.health.heard();
    assert_eq!(bench.health.changes(bench.now), names(&[], &[]));
    bench.health.forget();
    assert_eq!(bench.health.changes(bench.now), names(&["b", "c"], &[]));
}

#[test]
fn memory_that_was_exceeded_counts_against_the_application_and_not_against_the_host() {
    let mut bench = HealthBench::new(&[]);
    for _ in 0..9 {
        assert_eq!(bench.health.failed(bench.now, "host1", CountsAgainst::Application), Verdict::Nothing);
    }
    assert_eq!((bench.health.failures(bench.now), bench.changes()), (9, names(&[], &[])));
}

#[test]
fn too_many_failures_and_too_few_hosts_end_the_application_at_the_next_call() {
    let mut bench = Bench::with(Config { most_failures: 2, ..config() });
    bench.request(2);
    bench.grant(&["host1", "host2"]);
    bench.end(&[completed(1, 1), completed(2, 137)]);
    let (due, _) = bench.allocator.next_deadline().expect("it goes on until then");
    bench.now = due;
    let failure = Failure::ExecutorsFailed { failures: 2 };
    assert_eq!(failure.exit_code(), 11);
    assert_eq!(bench.apply(Event::Deadline), [Effect::Fail(failure)]);
    assert_eq!(bench.allocator.next_deadline(), None);
    assert_eq!(bench.apply(Event::Registered), [], "nothing comes after that");

    let mut bench = Bench::new();
    bench.open_call();
    bench.apply(Event::Allocated(Allocated { machines: 2, ..Allocated::default() }));
    bench.request_all(vec![target(0, 1)], &["host1", "host2"]);
    bench.now = bench.allocator.next_deadline().expect("it is woken").0;
    assert_eq!(bench.apply(Event::Deadline), [Effect::Fail(Failure::AllExcluded { machines: 2 })]);
}
