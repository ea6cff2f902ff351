//! Tests of tasks with preferred hosts: they run on the host, then in its rack, then anywhere, each level after its
//! waiting time.

use std::time::Duration;

use firesteel_placement::advanced::locality::{Locality, Topology};
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId, WorkerId};
use firesteel_protocol::messages::{ExecutorState, HostPreferences, MasterToDriver};
use firesteel_protocol::process::ExitStatus;

use super::bench::*;
use crate::driver::{Effect, Event, Reason, TaskOutcome, TaskRequest};

const WAIT: Duration = Duration::from_secs(3);
const MOMENT: Duration = Duration::from_millis(1);

/// A topology in which executors 0 and 1 share a rack, executor 2 is in another rack, and executor 3 has no rack.
fn racks() -> Topology {
    Topology::parse("h0 /r1\nh1 /r1\nh2 /r2").expect("rows of two")
}

impl Bench {
    fn submit_near(&mut self, task: u64, hosts: &[&str]) -> Vec<Effect> {
        let preferred_hosts = hosts.iter().map(ToString::to_string).collect();
        let request = TaskRequest { preferred_hosts, ..spec(1).into() };
        self.apply(Event::Submit { task: TaskId(task), request })
    }

    fn announce(&mut self, id: u32) {
        self.master(MasterToDriver::ExecutorAdded {
            executor: ExecutorId(id),
            profile: ProfileId::DEFAULT,
            worker: WorkerId::new(format!("worker-{id}")),
            host: format!("h{id}"),
            cores: Cores(1),
            memory: MiB(512),
            port: 7078,
        });
    }

    fn deadline(&self) -> Option<(Duration, Reason)> {
        self.driver.delays.deadline().map(|at| (at.since(self.now), Reason::Locality))
    }
}

fn succeeded_at(task: u64, on: u32, locality: Locality) -> Effect {
    let outcome = TaskOutcome::Succeeded {
        attempt: attempt(task, 0),
        executor: ExecutorId(on),
        locality: Some(locality),
    };
    ended(task, outcome)
}

#[test]
fn a_task_takes_its_host_at_once_and_its_rack_and_the_rest_after_a_wait_each() {
    let mut bench = Bench::in_topology(racks(), &[1, 1, 1, 1]);
    assert_eq!(bench.submit_near(0, &["h0"]), [launch(0, attempt(0, 0))]);
    for task in 1..4 {
        assert_eq!(bench.submit_near(task, &["h0"]), []);
    }
    assert_eq!(bench.deadline(), Some((WAIT, Reason::Locality)));
    assert_eq!(bench.pass(WAIT - MOMENT), []);
    assert_eq!(bench.pass(MOMENT), [launch(1, attempt(1, 0))]);
    assert_eq!(bench.pass(WAIT - MOMENT), []);
    assert_eq!(bench.pass(MOMENT), [launch(2, attempt(2, 0)), launch(3, attempt(3, 0))]);
    for (on, level) in [(0, Locality::Host), (1, Locality::Rack), (2, Locality::Any), (3, Locality::Any)] {
        assert_eq!(bench.end(on, attempt(on.into(), 0), exit(0)), [succeeded_at(on.into(), on, level)]);
    }
    assert_eq!(bench.deadline(), None);
}

#[test]
fn a_nearer_launch_begins_the_wait_anew_once_nothing_is_kept_free() {
    let mut bench = Bench::in_topology(racks(), &[1, 1, 1]);
    for task in 0..9 {
        bench.submit_near(task, &["h0"]);
    }
    bench.pass(WAIT);
    assert_eq!(bench.pass(WAIT), [launch(2, attempt(2, 0))]);
    // Tasks may run anywhere until one runs on its host again.
    assert_eq!(bench.end(2, attempt(2, 0), exit(0))[1..], [launch(2, attempt(3, 0))]);
    assert_eq!(bench.end(0, attempt(0, 0), exit(0))[1..], [launch(0, attempt(4, 0))]);
    assert_eq!(bench.end(2, attempt(3, 0), exit(0))[1..], []);
    assert_eq!(bench.deadline(), Some((WAIT, Reason::Locality)));
    // While cores are kept free, launches on the preferred host do not prolong the wait.
    bench.pass(WAIT - MOMENT);
    assert_eq!(bench.end(0, attempt(4, 0), exit(0))[1..], [launch(0, attempt(5, 0))]);
    assert_eq!(bench.deadline(), Some((MOMENT, Reason::Locality)));
}

#[test]
fn nobody_waits_for_a_host_or_rack_where_no_executor_is_or_comes() {
    let mut bench = Bench::in_topology(racks(), &[1, 1]);
    assert_eq!(bench.submit_near(0, &["h9"]), [launch(0, attempt(0, 0))], "no executor, no rack");
    assert_eq!(bench.submit_near(1, &["h2"]), [launch(1, attempt(1, 0))], "no executor in its rack");

    let mut bench = Bench::in_topology(racks(), &[1]);
    assert_eq!(bench.submit_near(0, &["h1"]), [launch(0, attempt(0, 0))], "its rack is the nearest there is");

    let mut bench = Bench::in_topology(racks(), &[1]);
    bench.announce(2);
    assert_eq!(bench.submit_near(0, &["h2"]), [], "an executor comes");
    assert_eq!(
        bench.submit_near(1, &[]),
        [launch(0, attempt(1, 0))],
        "one without a preference does not wait"
    );
    bench.end(0, attempt(1, 0), exit(0));
    let failed = ExecutorState::Exited(ExitStatus::Code(1));
    assert_eq!(bench.updated(2, failed)[1..], [launch(0, attempt(0, 0))], "and does not");
}

#[test]
fn tasks_go_to_their_hosts_first_and_only_then_do_the_others_fill_up() {
    let mut bench = Bench::in_topology(racks(), &[]);
    bench.submit_near(0, &[]);
    bench.submit_near(1, &["h1"]);
    bench.submit_near(2, &["h1", "h0"]);
    let on_one = bench.executor(1, register(1, 2)).split_off(2);
    assert_eq!(on_one, [launch(1, attempt(1, 0)), launch(1, attempt(2, 0))]);
    let on_none = bench.executor(0, register(0, 1)).split_off(2);
    assert_eq!(on_none, [launch(0, attempt(0, 0))]);
}

#[test]
fn without_a_wait_the_nearest_goes_first_and_nothing_is_kept_free() {
    let none = Duration::ZERO;
    let mut bench = Bench::with_waits(racks(), none, none, &[1, 1]);
    assert_eq!(bench.submit_near(0, &["h1"]), [launch(1, attempt(0, 0))]);
    assert_eq!(bench.submit_near(1, &["h1"]), [launch(0, attempt(1, 0))]);
    assert_eq!(bench.deadline(), None);
}

#[test]
fn where_a_task_failed_it_does_not_run_again_however_near_that_is() {
    let mut bench = Bench::in_topology(racks(), &[1, 1, 1]);
    bench.submit_near(0, &["h0"]);
    let effects = bench.end(0, attempt(0, 0), exit(1));
    assert_eq!(effects[2..], [launch(1, attempt(0, 1))], "in its rack, at once");
}

#[test]
fn the_master_hears_which_hosts_are_wanted_when_that_changes_much_and_once_a_second_at_most() {
    let mut bench = Bench::in_topology(racks(), &[]);
    bench.submit_near(0, &["h0"]);
    bench.submit_near(1, &["h0"]);
    let preferences = |tasks, counts: &[(&str, u64)], racks: &[(&str, &str)]| HostPreferences {
        tasks,
        preferred: counts.iter().map(|(host, count)| ((*host).to_owned(), *count)).collect(),
        racks: racks.iter().map(|(host, rack)| ((*host).to_owned(), (*rack).to_owned())).collect(),
        ..HostPreferences::default()
    };
    let rack_of_both = [("h0", "/r1"), ("h1", "/r1")];
    assert_eq!(bench.hints, [], "others may come at once");
    bench.pass(Duration::from_millis(100));
    assert_eq!(bench.hints, [preferences(2, &[("h0", 2)], &rack_of_both)]);
    for task in 2..5 {
        bench.submit_near(task, &["h0", "h9"]);
    }
    assert_eq!(bench.hints.len(), 1, "not again at once");
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.hints[1..], [preferences(5, &[("h0", 5), ("h9", 3)], &rack_of_both)]);
    bench.submit_near(5, &["h0"]);
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.hints.len(), 2, "one task more is no news");
    bench.executor(0, register(0, 8));
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.hints[2..], [HostPreferences::default()], "nobody waits any more");
    assert_eq!(bench.next_deadline(), None);
}
