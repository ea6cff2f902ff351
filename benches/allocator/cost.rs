//! What does a granted container cost, over the number of pending requests?
//!
//! An allocator with a number of pending requests is granted fifty containers, on any of a thousand hosts. It launches
//! their executors, and reports its changes in the next call. The baseline takes turns with it. For each container it
//! scans a list of requests for the host, then the rack, then anywhere, and counts the wanted containers as Hadoop's
//! client does. In the end both must have served the same requests.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use firesteel_application_master::allocator::{
    Allocated, Allocator, Config, Effect, Event, Granted, Location, Note,
};
use firesteel_placement::MiB;
use firesteel_placement::advanced::locality::{
    Expected, Locality, Naming, Pending, Sites, nearness, single_host_preferences,
};
use firesteel_protocol::Machine;
use firesteel_protocol::ids::{ContainerId, ProfileId};
use firesteel_sim::dice::Dice;

use crate::setup::{HOSTS, START, config, target};
use crate::trace::{Spread, Trace};

/// Containers in one answer of the ResourceManager.
const GRANTED: usize = 50;

/// One row: the number of pending requests, and microseconds per container (medians over rounds).
struct Row {
    pending: u64,
    /// The allocator's time, for each way of naming hosts.
    allocator: [f64; 2],
    scan: f64,
}

pub fn print(rounds: usize) {
    println!("microseconds for each granted container, {GRANTED} at once, {HOSTS} hosts");
    println!("{:>10} {:>14} {:>14} {:>14}", "pending", "one host each", "many (Spark's)", "plain scan");
    for pending in [100, 1_000, 10_000] {
        let Row { pending, allocator: [one, many], scan } = row(pending, rounds);
        println!("{pending:>10} {one:>14.2} {many:>14.2} {scan:>14.2}");
    }
}

fn row(pending: u64, rounds: usize) -> Row {
    let trace = Trace::rolled(7, HOSTS, usize::try_from(pending).expect("it is small"), Spread::Even);
    let [one, many] = [Naming::One, Naming::Many].map(|naming| asking(&trace, pending, naming));
    let mut dice = Dice::new(pending);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..rounds {
        let answer = answer(&trace, round, &mut dice);
        let list = List::of(&trace, pending);
        for (times, allocator) in times.iter_mut().zip([&one, &many]) {
            let (time, matched) = told(allocator.clone(), answer.clone());
            assert_eq!(matched.len(), GRANTED, "every container is used");
            times.push(time);
        }
        let (time, matched) = scanned(list, &answer, &trace);
        assert_eq!(matched, told(one.clone(), answer).1, "both serve the same requests");
        times[2].push(time);
    }
    let [one, many, scan] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e6 / GRANTED as f64
    });
    Row { pending, allocator: [one, many], scan }
}

/// An allocator with this number of pending requests.
fn asking(trace: &Trace, pending: u64, naming: Naming) -> Allocator {
    let mut allocator = Allocator::new(Config { naming, ..config(trace.topology()) });
    let targets = vec![target(trace, pending, 1)];
    allocator.apply(START, Event::RequestExecutors { targets, excluded: BTreeSet::new() });
    let effects = allocator.apply(START, Event::Registered);
    assert!(matches!(&effects[..], [Effect::Allocate(_)]), "{effects:?}");
    allocator
}

fn answer(trace: &Trace, round: usize, dice: &mut Dice) -> Vec<Granted> {
    let grant = |number| Granted {
        container: ContainerId::new(format!("container_1795209755000_0001_01_{round:03}{number:03}")),
        host: dice.pick(&trace.hosts).clone(),
        profile: ProfileId::DEFAULT,
        memory: MiB(2048),
    };
    (0..GRANTED).map(grant).collect()
}

/// Grants containers to an allocator, reports their executors as started, and takes its next call.
fn told(mut allocator: Allocator, granted: Vec<Granted>) -> (Duration, BTreeMap<ContainerId, Locality>) {
    let later = START + Duration::from_millis(100);
    let answer = Event::Allocated(Allocated { machines: HOSTS as u64, granted, ..Allocated::default() });
    let begun = Instant::now();
    let effects = allocator.apply(later, answer);
    let mut matched = Vec::with_capacity(GRANTED);
    for effect in effects {
        match effect {
            Effect::Launch(launch) => {
                allocator.apply(later, Event::ContainerStarted { container: launch.container });
            }
            Effect::Note(Note::Matched { container, level, .. }) => matched.push((container, level)),
            _ => {}
        }
    }
    let (due, _) = allocator.next_deadline().expect("it calls again");
    let effects = allocator.apply(due, Event::Deadline);
    let time = begun.elapsed();
    assert!(matches!(&effects[..], [Effect::Allocate(call)] if !call.asks.is_empty()), "{effects:?}");
    (time, matched.into_iter().collect())
}

/// The baseline: requests in a list, oldest first, and the number wanted at each place.
struct List {
    requests: Vec<Sites>,
    wanted: BTreeMap<Location, u64>,
}

impl List {
    /// The allocator's requests of one host each, in the same order.
    fn of(trace: &Trace, pending: u64) -> Self {
        let target = target(trace, pending, 1);
        let expected = Expected { tasks: pending, tasks_per_executor: 1, on_hosts: &target.on_hosts };
        let preferences =
            single_host_preferences(pending, &expected, |_| 0, &Pending::default(), &trace.topology());
        let requests = preferences.into_iter().flat_map(|wish| {
            std::iter::repeat_n(wish.sites, usize::try_from(wish.executors).expect("it is small"))
        });
        let mut list = Self { requests: requests.collect(), wanted: BTreeMap::new() };
        for sites in &list.requests {
            for location in locations(sites) {
                *list.wanted.entry(location).or_default() += 1;
            }
        }
        list
    }

    /// Lets a container serve the first request that it matches at this level.
    fn serve(&mut self, container: &Sites, level: Locality, changed: &mut BTreeSet<Location>) -> bool {
        let meets = |request: &Sites| nearness(request, container) <= level;
        let Some(at) = self.requests.iter().position(meets) else { return false };
        let request = self.requests.remove(at);
        for location in locations(&request) {
            *self.wanted.get_mut(&location).expect("it is wanted there") -= 1;
            changed.insert(location);
        }
        true
    }
}

fn locations(sites: &Sites) -> impl Iterator<Item = Location> {
    let hosts = sites.hosts().map(|host| Location::Host(host.into()));
    hosts.chain(sites.racks().map(|rack| Location::Rack(rack.into()))).chain([Location::Any])
}

/// The same work with a list, except that it neither remembers containers nor reports executors.
fn scanned(
    mut list: List,
    granted: &[Granted],
    trace: &Trace,
) -> (Duration, BTreeMap<ContainerId, Locality>) {
    let topology = trace.topology();
    let begun = Instant::now();
    let (mut matched, mut changed) = (Vec::with_capacity(GRANTED), BTreeSet::new());
    let mut arrivals: Vec<(&Granted, Sites)> =
        granted.iter().map(|granted| (granted, topology.sites([granted.host.as_str()]))).collect();
    for level in Locality::ALL {
        arrivals.retain(|(granted, sites)| {
            let served = list.serve(sites, level, &mut changed);
            if served {
                matched.push((granted.container.clone(), level));
            }
            !served
        });
    }
    let asks: Vec<(Location, u64)> =
        changed.into_iter().map(|location| (location.clone(), list.wanted[&location])).collect();
    let time = begun.elapsed();
    assert!(arrivals.is_empty() && !asks.is_empty(), "every container is used");
    (time, matched.into_iter().collect())
}
