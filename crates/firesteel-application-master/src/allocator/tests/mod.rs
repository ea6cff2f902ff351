//! Table tests: an event for an allocator, and all its effects. The test acts as the manager.

mod effects;
mod ends;
mod sizes;
mod targets;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_placement::advanced::locality::{Naming, Topology};
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::ContainerId;

use super::*;

/// An allocator, and the data that a test needs about it.
struct Bench {
    allocator: Allocator,
    now: Timestamp,
    containers: u32,
}

/// The settings of Spark's own tests: five cores, 2 GiB and the overhead, and one host in another rack.
fn config() -> Config {
    let needs = ExecutorNeeds { cores: Some(Cores(5)), memory: Some(MiB(2048)), ..ExecutorNeeds::default() };
    Config {
        topology: topology(),
        sizing: Sizing { default: needs, ..Sizing::default() },
        initial_target: 0,
        first_executor: ExecutorId(1),
        heartbeat: Duration::from_secs(3),
        initial_pause: Duration::from_millis(200),
        most_errors: 5,
        most_failures: 1_000,
        failure_window: None,
        exclusion: HostExclusion::Off,
        never: BTreeSet::new(),
        decommissioning: Decommissioning::Notified,
        naming: Naming::Many,
    }
}

fn topology() -> Topology {
    Topology::parse("host3 /rack2").expect("it is a table").with_default_rack("/rack1")
}

fn target(profile: u32, total: u64) -> Target {
    Target {
        profile: ProfileId(profile),
        needs: ExecutorNeeds::default(),
        total,
        tasks_per_executor: 5,
        tasks: 0,
        on_hosts: BTreeMap::new(),
    }
}

fn hints(tasks: u64, on_hosts: &[(&str, u64)], target: Target) -> Target {
    let on_hosts = on_hosts.iter().map(|(host, tasks)| ((*host).to_owned(), *tasks)).collect();
    Target { tasks, on_hosts, ..target }
}

fn set(hosts: &[&str]) -> BTreeSet<String> {
    hosts.iter().map(|host| (*host).to_owned()).collect()
}

fn container(number: u32) -> ContainerId {
    ContainerId::new(format!("c{number}"))
}

fn completed(number: u32, status: i32) -> Completed {
    Completed { container: container(number), status, diagnostics: String::new() }
}

impl Bench {
    fn new() -> Self {
        Self::with(config())
    }

    /// A registered allocator whose first call was made and answered.
    fn with(config: Config) -> Self {
        let now = Timestamp::from_millis(1_000_000);
        let mut bench = Self { allocator: Allocator::new(config), now, containers: 0 };
        let effects = bench.apply(Event::Registered);
        assert!(matches!(effects[..], [Effect::Allocate(_)]), "{effects:?}");
        bench.answer(&[], &[]);
        bench
    }

    fn apply(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.allocator.apply(self.now, event);
        self.allocator.check().expect("the invariants hold");
        effects
    }

    fn request(&mut self, total: u64) {
        self.request_all(vec![target(0, total)], &[]);
    }

    fn request_all(&mut self, targets: Vec<Target>, excluded: &[&str]) {
        self.apply(Event::RequestExecutors { targets, excluded: set(excluded) });
    }

    /// Waits for the next call. An open call gets an empty answer.
    fn call(&mut self) -> Call {
        let call = self.open_call();
        self.answer(&[], &[]);
        call
    }

    fn open_call(&mut self) -> Call {
        let (due, Reason::Call) = self.allocator.next_deadline().expect("a call is due");
        self.now = self.now.max(due);
        let effects = self.apply(Event::Deadline);
        match <[Effect; 1]>::try_from(effects) {
            Ok([Effect::Allocate(call)]) => call,
            other => panic!("{other:?}"),
        }
    }

    /// Answers a call as the manager: grants containers on these hosts for these profiles, and reports these ends.
    fn answer(&mut self, hosts: &[(&str, u32)], ends: &[Completed]) -> Vec<Effect> {
        let granted = hosts.iter().map(|(host, profile)| {
            self.containers += 1;
            Granted {
                container: container(self.containers),
                host: (*host).to_owned(),
                profile: ProfileId(*profile),
                memory: MiB(12_288),
            }
        });
        let granted = granted.collect();
        self.apply(Event::Allocated(Allocated {
            machines: 100,
            granted,
            completed: ends.to_vec(),
            decommissioning: Vec::new(),
        }))
    }

    /// Answers a call with containers of the default profile on these hosts. All of them start.
    fn grant(&mut self, hosts: &[&str]) -> Vec<Effect> {
        self.open_call();
        let hosts: Vec<(&str, u32)> = hosts.iter().map(|host| (*host, 0)).collect();
        let effects = self.answer(&hosts, &[]);
        self.start(&effects);
        effects
    }

    fn start(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Effect::Launch(launch) = effect {
                let container = launch.container.clone();
                assert_eq!(self.apply(Event::ContainerStarted { container }), []);
            }
        }
    }

    /// Answers a call with these ends of containers.
    fn end(&mut self, ends: &[Completed]) -> Vec<Effect> {
        self.open_call();
        self.answer(&[], ends)
    }

    fn view(&self) -> AllocatorView {
        self.allocator.view(self.now)
    }

    fn profile(&self, profile: u32) -> ProfileView {
        self.view().profiles.remove(&ProfileId(profile)).expect("it is known")
    }

    /// The numbers of pending requests and of running executors of the default profile.
    fn counts(&self) -> (u64, u64) {
        let view = self.profile(0);
        assert_eq!(view.starting, 0);
        (view.pending, view.running)
    }

    fn on_hosts(&self, profile: u32) -> Vec<(String, u64)> {
        self.profile(profile).on_host.into_iter().collect()
    }

    fn pass(&mut self, millis: u64) {
        self.now = self.now + Duration::from_millis(millis);
    }
}

fn on(hosts: &[(&str, u64)]) -> Vec<(String, u64)> {
    hosts.iter().map(|(host, count)| ((*host).to_owned(), *count)).collect()
}
