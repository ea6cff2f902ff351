//! How many tasks run on their preferred hosts in the containers that an allocator gets, compared with the best
//! possible containers?
//!
//! The tasks of a trace wait, each with three hosts. An allocator requests executors from a ResourceManager, which
//! grants them as machines report, in virtual time. Then a maximum matching assigns tasks to executors. The best
//! possible result is another maximum matching, with all the room of the machines. Its limit: as many executors, on the
//! hosts with the most tasks, could run no more tasks.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_application_master::allocator::{Allocator, Config, Effect, Event};
use firesteel_placement::advanced::locality::Naming;
use firesteel_protocol::{Machine, Timestamp};
use firesteel_sim::dice::Dice;

use crate::matching::most_on_their_hosts;
use crate::resource_manager::ResourceManager;
use crate::setup::{HOSTS, START, config, target};
use crate::trace::{Spread, Trace};

/// A cluster of a thousand machines, each with room for one to eight executors, and the requests to it.
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    spread: Spread,
    /// The number of executors; together they have as many cores as there are tasks.
    executors: u64,
    tasks_per_executor: u64,
    room: Room,
}

#[derive(Clone, Copy, Debug)]
enum Room {
    Everywhere,
    /// On all machines but about every third.
    NotOnEveryThird,
    /// Nowhere at first. Every twentieth of a second a container ends somewhere, and its room is used at once.
    AsContainersEnd,
}

const CASES: [Case; 6] = {
    let case = Case {
        name: "1,000 executors of one task",
        spread: Spread::Even,
        executors: 1_000,
        tasks_per_executor: 1,
        room: Room::Everywhere,
    };
    [
        case,
        Case { name: "the same, data uneven", spread: Spread::Uneven, ..case },
        Case { name: "the same, a third full", room: Room::NotOnEveryThird, ..case },
        Case { name: "2,000, a third full", executors: 2_000, room: Room::NotOnEveryThird, ..case },
        Case { name: "500 executors of four tasks", executors: 500, tasks_per_executor: 4, ..case },
        Case { name: "200 as containers end", executors: 200, room: Room::AsContainersEnd, ..case },
    ]
};

#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    on_their_hosts: u64,
    most: u64,
    /// The time until the last executor started.
    time: Duration,
}

pub fn print(seeds: u64) {
    println!("tasks on hosts of theirs, of the most that could be; seconds until all executors are there");
    println!("{:<30} {:>8} {:>7} {:>8} {:>7}", "", "Spark's", "s", "one each", "s");
    for case in CASES {
        let columns = [Naming::Many, Naming::One].map(|naming| {
            let outcomes: Vec<Outcome> = (0..seeds).map(|seed| case.run(seed, naming)).collect();
            let sum = |count: fn(&Outcome) -> u64| outcomes.iter().map(count).sum::<u64>() as f64;
            let time: Duration = outcomes.iter().map(|outcome| outcome.time).sum();
            let part = 100.0 * sum(|outcome| outcome.on_their_hosts) / sum(|outcome| outcome.most);
            format!("{part:>6.1} % {:>7.1}", time.as_secs_f64() / seeds as f64)
        });
        println!("{:<30} {}", case.name, columns.join(" "));
    }
}

impl Case {
    fn run(&self, seed: u64, naming: Naming) -> Outcome {
        let mut world = World::new(self, seed, naming);
        world.tell(Event::RequestExecutors {
            targets: vec![target(&world.trace, self.executors, self.tasks_per_executor)],
            excluded: Default::default(),
        });
        world.tell(Event::Registered);
        while world.held.values().sum::<u64>() < self.executors {
            world.step();
        }
        let places = |executors: &dyn Fn(usize) -> u64| -> Vec<u64> {
            (0..HOSTS).map(|host| executors(host) * self.tasks_per_executor).collect()
        };
        let (trace, held, room) = (&world.trace, &world.held, &world.room);
        let held = places(&|host| held.get(&trace.hosts[host]).copied().unwrap_or(0));
        let on_their_hosts = most_on_their_hosts(&trace.tasks, &held);
        let most = most_on_their_hosts(&trace.tasks, &places(&|host| room[host]));
        let time = world.now.since(START);
        Outcome { on_their_hosts, most: most.min(self.most_of_the_best(trace, room)), time }
    }

    /// The number of tasks on preferred hosts if each executor ran only tasks of its own host, busiest hosts first.
    fn most_of_the_best(&self, trace: &Trace, room: &[u64]) -> u64 {
        let of_host = |(wanted, room): (u64, &u64)| {
            let of_one = move |before: u64| wanted.saturating_sub(before * self.tasks_per_executor);
            (0..*room).map(of_one).map(|tasks| tasks.min(self.tasks_per_executor)).collect::<Vec<_>>()
        };
        let mut tasks: Vec<u64> = trace.wanted().into_iter().zip(room).flat_map(of_host).collect();
        tasks.sort_by_key(|tasks| std::cmp::Reverse(*tasks));
        tasks.iter().take(usize::try_from(self.executors).expect("they are few")).sum()
    }
}

/// An allocator, its ResourceManager, and machines that report once a second.
struct World {
    dice: Dice,
    now: Timestamp,
    allocator: Allocator,
    manager: ResourceManager,
    trace: Trace,
    /// The room of each machine, used or not.
    room: Vec<u64>,
    ends: Room,
    /// When in a second each machine reports, in that order.
    reports: Vec<(u64, usize)>,
    reported: usize,
    /// The number of executors by host.
    held: BTreeMap<String, u64>,
}

impl World {
    fn new(case: &Case, seed: u64, naming: Naming) -> Self {
        let tasks = usize::try_from(case.executors * case.tasks_per_executor).expect("they are few");
        let trace = Trace::rolled(seed, HOSTS, tasks, case.spread);
        let mut dice = Dice::new(!seed);
        let of_one = |dice: &mut Dice| match case.room {
            Room::AsContainersEnd => 0,
            Room::NotOnEveryThird if dice.one_in(3) => 0,
            Room::Everywhere | Room::NotOnEveryThird => dice.between(1, 8),
        };
        let room: Vec<u64> = (0..HOSTS).map(|_| of_one(&mut dice)).collect();
        let mut reports: Vec<(u64, usize)> = (0..HOSTS).map(|host| (dice.below(1_000), host)).collect();
        reports.sort_unstable();
        Self {
            dice,
            now: START,
            allocator: Allocator::new(Config { naming, ..config(trace.topology()) }),
            manager: ResourceManager::new(&trace, room.clone()),
            trace,
            room,
            ends: case.room,
            reports,
            reported: 0,
            held: BTreeMap::new(),
        }
    }

    /// Lets the next machine report. Before that, the allocator calls if its call is due.
    fn step(&mut self) {
        let (at, host) = self.reports[self.reported % HOSTS];
        let report = START + Duration::from_millis((self.reported / HOSTS) as u64 * 1_000 + at);
        while let Some((due, _)) = self.allocator.next_deadline().filter(|(due, _)| *due <= report) {
            self.now = self.now.max(due);
            self.tell(Event::Deadline);
        }
        self.now = self.now.max(report);
        self.reported += 1;
        if let Room::AsContainersEnd = self.ends
            && self.reported.is_multiple_of(HOSTS / 20)
        {
            let host = self.dice.index(HOSTS).expect("there are hosts");
            self.room[host] += 1;
            self.manager.free(host);
        }
        self.manager.report(host);
        assert!(self.now.since(START) < Duration::from_secs(300), "executors do not come");
    }

    /// Gives the allocator an event. Calls are answered and processes run at once.
    fn tell(&mut self, event: Event) {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            for effect in self.allocator.apply(self.now, event) {
                match effect {
                    Effect::Allocate(call) => {
                        self.manager.hear(&call);
                        events.push(Event::Allocated(self.manager.answer()));
                    }
                    Effect::Launch(launch) => {
                        *self.held.entry(launch.host.to_string()).or_default() += 1;
                        events.push(Event::ContainerStarted { container: launch.container });
                    }
                    Effect::Note(_) => {}
                    other => panic!("nothing goes wrong here: {other:?}"),
                }
            }
        }
    }
}
