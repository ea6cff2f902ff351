//! An allocator with a simulated manager, compared with a Master: the same hosts, the same preferences.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_application_master::allocator::{
    Allocated, Allocator, Config, Decommissioning, Effect, Event, ExecutorNeeds, HostExclusion, Location,
    Note, Sizing, Target,
};
use firesteel_master as master;
use firesteel_placement::advanced::locality::{Expected, LocalityIndex, Naming, Pending, Topology, needs};
use firesteel_placement::advanced::offers::place_ranked;
use firesteel_placement::{
    Cores, Demand, ExecutorLimit, ExecutorSize, MiB, Offer, Resources, Strategy, WorkerOrder,
};
use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId};
use firesteel_protocol::messages::{DriverToMaster, HostPreferences};
use firesteel_protocol::{Machine, Timestamp};
use firesteel_world::containers::{GrantChoice, Manager};
use quickcheck::{Arbitrary, Gen};

use super::through_master::{launched, restored};
use crate::suites::laws::{ensure, hold};

/// A number for each host.
type Counts = BTreeMap<String, u64>;

/// Machines with room for executors, racks, and the number of tasks that prefer each host.
#[derive(Clone, Debug)]
struct Case {
    room: BTreeMap<String, u64>,
    racks: BTreeMap<String, String>,
    on_hosts: BTreeMap<String, u64>,
    executors: u64,
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let below = |g: &mut Gen, end: u64| u64::arbitrary(g) % end;
        let room: BTreeMap<String, u64> =
            (0..=below(g, 6)).map(|number| (format!("h{number}"), 1 + below(g, 6))).collect();
        let some = |g: &mut Gen, one_in: u64| {
            let hosts: Vec<String> = room.keys().cloned().collect();
            hosts.into_iter().filter(|_| below(g, one_in) > 0).collect::<Vec<_>>()
        };
        let racks = some(g, 4).into_iter().map(|host| (host, format!("/r{}", below(g, 3)))).collect();
        let on_hosts = some(g, 2).into_iter().map(|host| (host, 1 + below(g, 30))).collect();
        let executors = below(g, room.values().sum::<u64>() + 1);
        Self { room, racks, on_hosts, executors }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let (one, two) = (self.clone(), self.clone());
        let executors = self.executors.shrink().map(move |executors| Self { executors, ..one.clone() });
        let room = self.room.clone();
        let sound = move |on_hosts: &Counts| {
            on_hosts.iter().all(|(host, tasks)| room.contains_key(host) && *tasks > 0)
        };
        let on_hosts = self.on_hosts.shrink().filter(sound);
        Box::new(executors.chain(on_hosts.map(move |on_hosts| Self { on_hosts, ..two.clone() })))
    }
}

impl Case {
    fn topology(&self) -> Topology {
        self.racks.clone().into_iter().collect()
    }

    fn offers(&self) -> Vec<Offer<'_>> {
        fn offer<'a>((host, room): (&'a String, &u64)) -> Offer<'a> {
            let cores = Cores(i64::try_from(*room).expect("it is small"));
            Offer { worker: host, cores, memory: MiB(1 << 30), resources: Resources::NONE }
        }
        self.room.iter().map(offer).collect()
    }

    fn demand(&self, executors: u64) -> Demand {
        Demand {
            size: ExecutorSize::Fixed(Cores(1)),
            memory: MiB(1024),
            cores_left: Cores(i64::try_from(executors).expect("it is small")),
            limit: ExecutorLimit::AtMost(executors),
            ..Demand::default()
        }
    }

    /// The executors that a Master launches, by host.
    fn standalone(&self) -> Counts {
        self.standalone_told(self.preferences())
    }

    /// The host preferences that a driver sends to a Master.
    fn preferences(&self) -> HostPreferences {
        HostPreferences {
            tasks: self.on_hosts.values().sum(),
            preferred: self.on_hosts.clone(),
            racks: self.racks.clone(),
            avoided: BTreeSet::new(),
        }
    }

    /// Like `standalone`, for a Master with other preferences.
    fn standalone_told(&self, preferences: HostPreferences) -> Counts {
        let config = master::Config {
            strategy: Strategy::SpreadOut,
            worker_order: WorkerOrder::WorkerId,
            ..master::Config::default()
        };
        let offers = self.offers();
        let message =
            DriverToMaster::PreferHosts { app: AppId::new("app"), preferences: Box::new(preferences) };
        let master = restored(&self.demand(self.executors), &offers, config);
        let cores = launched(master, message, offers.len());
        let counts = offers.iter().zip(cores).filter(|(_, cores)| *cores > Cores::ZERO);
        counts.map(|(offer, cores)| (offer.worker.to_owned(), cores.0.unsigned_abs())).collect()
    }

    /// An allocator that wants the executors, and a manager that has received its request.
    fn asked(&self) -> (Allocator, Manager) {
        let config = Config {
            topology: self.topology(),
            sizing: Sizing::default(),
            initial_target: 0,
            first_executor: ExecutorId(0),
            heartbeat: Duration::from_secs(3),
            initial_pause: Duration::from_millis(200),
            most_errors: 5,
            most_failures: 5,
            failure_window: None,
            exclusion: HostExclusion::Off,
            never: BTreeSet::new(),
            decommissioning: Decommissioning::Ignored,
            naming: Naming::Many,
        };
        let target = Target {
            profile: ProfileId::DEFAULT,
            needs: ExecutorNeeds::default(),
            total: self.executors,
            tasks_per_executor: 1,
            tasks: if self.on_hosts.is_empty() { 0 } else { self.executors },
            on_hosts: self.on_hosts.clone(),
        };
        let mut allocator = Allocator::new(config);
        let mut manager = Manager::new(self.topology(), self.room.clone());
        let request = Event::RequestExecutors { targets: vec![target], excluded: BTreeSet::new() };
        tell(&mut allocator, &mut manager, Timestamp::default(), request);
        tell(&mut allocator, &mut manager, Timestamp::default(), Event::Registered);
        (allocator, manager)
    }

    /// The executors by host, if the manager decides like a Master and knows only the allocator's requests.
    fn managed(&self) -> Result<(Counts, Counts), String> {
        let (mut allocator, mut manager) = self.asked();
        let on_host = |host: &str| manager.wanted(ProfileId::DEFAULT, &Location::Host(host.into()));
        let asked: BTreeMap<String, u64> =
            self.room.keys().map(|host| (host.clone(), on_host(host))).collect();
        let topology = self.topology();
        let mut located = LocalityIndex::default();
        for (host, _) in asked.iter().filter(|(_, count)| **count > 0) {
            located.insert((), &topology.sites([host.as_str()]));
        }
        let rank = |offer: &Offer<'_>| {
            (located.nearest(&topology.sites([offer.worker])), Reverse(asked[offer.worker]))
        };
        let demand = self.demand(manager.wanted(ProfileId::DEFAULT, &Location::Any));
        let placement =
            place_ranked(&demand, self.offers(), WorkerOrder::WorkerId, Strategy::SpreadOut, rank);
        for executor in placement.executors() {
            manager.grant(executor.worker, ProfileId::DEFAULT, 0);
        }
        let answer = Event::Allocated(manager.answer());
        let effects = tell(&mut allocator, &mut manager, Timestamp::from_millis(10), answer);
        Ok((counted(&effects)?, asked))
    }

    /// The executors by host, if machines report in turn, and each gets one container at a time.
    fn in_turn(&self) -> Result<Counts, String> {
        let (mut allocator, mut manager) = self.asked();
        let mut counts = BTreeMap::<String, u64>::new();
        let mut now = Timestamp::default();
        for _ in 0..=self.executors {
            for host in self.room.keys() {
                manager.offer(host, GrantChoice::Nearest);
            }
            now = now + Duration::from_secs(4);
            let answer = Event::Allocated(manager.answer());
            let effects = tell(&mut allocator, &mut manager, now, answer);
            for (host, count) in counted(&effects)? {
                *counts.entry(host).or_default() += count;
            }
            now = now + Duration::from_secs(4);
            tell(&mut allocator, &mut manager, now, Event::Deadline);
        }
        Ok(counts)
    }
}

/// Gives the allocator an event, and the manager the call that follows.
fn tell(allocator: &mut Allocator, manager: &mut Manager, now: Timestamp, event: Event) -> Vec<Effect> {
    let effects = allocator.apply(now, event);
    allocator.check().expect("the invariants hold");
    for effect in &effects {
        if let Effect::Allocate(call) = effect {
            manager.hear(call);
        }
    }
    effects
}

/// The launched executors, by host. None may be given back.
fn counted(effects: &[Effect]) -> Result<Counts, String> {
    let mut counts = BTreeMap::new();
    for effect in effects {
        match effect {
            Effect::Launch(launch) => *counts.entry(launch.host.to_string()).or_default() += 1,
            Effect::Note(Note::Excess { container, host }) => {
                return Err(format!("{container} on {host} is given back"));
            }
            _ => {}
        }
    }
    Ok(counts)
}

/// Hosts with equally many requests are equal to a manager, although tasks may prefer one: they count together.
#[test]
fn a_manager_that_decides_as_a_master_does_gives_each_host_as_many_as_the_master() {
    let (exact, cases) = (Cell::new(0_u64), Cell::new(0_u64));
    hold("a_manager_that_decides_as_a_master", 20_000, |case: &Case| {
        cases.set(cases.get() + 1);
        let expected = case.standalone();
        let (found, asked) = case.managed()?;
        let topology = case.topology();
        let likes = |host: &String| case.on_hosts.get(host).copied().unwrap_or(0);
        let hosts = || case.room.keys();
        let told_apart =
            hosts().all(|one| hosts().all(|other| asked[one] != asked[other] || likes(one) == likes(other)));
        if told_apart {
            exact.set(exact.get() + 1);
            ensure!(found == expected, "the Master gives {expected:?}, the manager {found:?}");
        }
        let together = |counts: &Counts| {
            let mut sums = BTreeMap::<(u64, bool), u64>::new();
            for host in hosts() {
                let near = case.on_hosts.keys().any(|wanted| {
                    topology.rack(wanted).is_some() && topology.rack(wanted) == topology.rack(host)
                });
                *sums.entry((asked[host], asked[host] == 0 && near)).or_default() +=
                    counts.get(host).copied().unwrap_or(0);
            }
            sums
        };
        let room_alike = case.room.values().all(|room| *room >= case.executors);
        let (found, expected) = (together(&found), together(&expected));
        ensure!(
            !room_alike || found == expected,
            "by how often they are asked for: {expected:?} by the Master, {found:?} by the manager"
        );
        Ok(())
    });
    let (exact, cases) = (exact.get(), cases.get());
    assert!(exact > cases / 2, "only {exact} of {cases} cases were compared host by host");
}

/// Preferences as seen by a Master with a bug in matching hosts: each preferred host becomes another one in the same
/// rack.
fn without_hosts(preferences: HostPreferences) -> HostPreferences {
    let elsewhere = |host: &String| format!("{host}-elsewhere");
    let racks = preferences.racks.iter().map(|(host, rack)| (elsewhere(host), rack.clone()));
    let racks = racks.chain(preferences.racks.clone()).collect();
    let preferred = preferences.preferred.iter().map(|(host, tasks)| (elsewhere(host), *tasks)).collect();
    HostPreferences { preferred, racks, ..preferences }
}

/// Preferences as seen by a Master with a bug in matching racks.
fn without_racks(preferences: HostPreferences) -> HostPreferences {
    HostPreferences { racks: BTreeMap::new(), ..preferences }
}

/// A Master with a bug in its matching soon decides differently from the manager in some case.
#[test]
fn a_master_whose_matching_errs_does_not_give_each_host_as_many_as_the_manager() {
    for (flaw, blind) in [("hosts", without_hosts as fn(_) -> _), ("racks", without_racks)] {
        let differs = |seed: u64| {
            let case = Case::arbitrary(&mut Gen::from_size_and_seed(30, seed));
            let sound = case.standalone();
            let alike = case.managed().is_ok_and(|(managed, _)| managed == sound);
            alike && case.standalone_told(blind(case.preferences())) != sound
        };
        let caught = (0..2_000).find(|seed| differs(*seed));
        assert!(caught.is_some(), "a Master that does not see {flaw} decides the same");
    }
}

#[test]
fn no_host_gets_more_than_tasks_would_like_before_the_others_have_theirs() {
    hold("no_host_gets_more_than_tasks_would_like", 20_000, |case: &Case| {
        // Room for all executors everywhere, and no racks: otherwise another host in the rack may be better than a
        // preferred one.
        let room = case.room.keys().map(|host| (host.clone(), case.executors)).collect();
        let case = Case { room, racks: BTreeMap::new(), ..case.clone() };
        let counts = case.in_turn()?;
        let expected = Expected { tasks: case.executors, tasks_per_executor: 1, on_hosts: &case.on_hosts };
        let needs = needs(&expected, |_| 0, &Pending::default());
        let got = |host: &str| counts.get(host).copied().unwrap_or(0);
        ensure!(counts.values().sum::<u64>() == case.executors, "{counts:?} are not all");
        for (one, less) in &needs {
            for (other, more) in needs.iter().filter(|(_, more)| *more >= less) {
                let (few, many) = (got(one), got(other));
                ensure!(
                    few <= many + 1,
                    "{one} needs {less} and gets {few}, {other} needs {more} and gets {many}"
                );
            }
        }
        Ok(())
    });
}

/// Each granted container is used or given back, however the target changes between call and answer.
#[test]
fn what_is_granted_is_used_or_given_back() {
    hold("what_is_granted_is_used_or_given_back", 20_000, |case: &Case| {
        let (mut allocator, mut manager) = case.asked();
        for host in case.room.keys() {
            manager.offer(host, GrantChoice::Anywhere);
            manager.grant(host, ProfileId::DEFAULT, i64::from(case.executors.is_multiple_of(2)));
        }
        let answer: Allocated = manager.answer();
        let granted: BTreeSet<_> = answer.granted.iter().map(|granted| granted.container.clone()).collect();
        let now = Timestamp::from_millis(10);
        let effects = tell(&mut allocator, &mut manager, now, Event::Allocated(answer));
        let mut used = BTreeSet::new();
        for effect in &effects {
            if let Effect::Launch(launch) = effect {
                ensure!(used.insert(launch.container.clone()), "{} is used twice", launch.container);
            }
        }
        let effects = tell(&mut allocator, &mut manager, now + Duration::from_secs(9), Event::Deadline);
        let mut back = BTreeSet::new();
        for effect in &effects {
            if let Effect::Allocate(call) = effect {
                back.extend(call.release.iter().cloned());
            }
        }
        ensure!(used.is_disjoint(&back), "{used:?} are used, {back:?} given back");
        let both: BTreeSet<_> = used.union(&back).cloned().collect();
        ensure!(both == granted, "{granted:?} were granted, {used:?} are used, {back:?} given back");
        Ok(())
    });
}
