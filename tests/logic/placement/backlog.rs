//! The Master considers only the changes of an event, and decides as if it considered everything.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use firesteel_master::{Config, Effect, Event, Inbound, Master, Outbound};
use firesteel_placement::{Cores, ExecutorLimit, MiB, Policy, ResourceAmounts, Resources, Strategy};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToMaster, ExecutorReport, ExecutorState, ExecutorTarget, HostPreferences,
    MasterToDriver, MasterToWorker, Offered, Placing, ResourceProfile, Submitter, WantedExecutors, Work,
    WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::process::{Command, ExitStatus};
use firesteel_protocol::{Machine, Timestamp};
use quickcheck::{Arbitrary, Gen};

use super::reference::case::{below, pick, worker_order};
use super::reference::{ORDERS, Order};
use crate::suites::laws::{ensure, hold};

const DRIVERS: u64 = 1_000_000;

#[test]
fn what_an_event_did_not_change_need_not_be_looked_at() {
    hold("what_an_event_did_not_change", 4_000, |story: &Story| {
        let (mut knowing, mut doubting) = (Bench::new(story), Bench::new(story));
        for deed in &story.deeds {
            let events = knowing.events(deed);
            for (after, event) in events {
                doubting.master.reconsider_all();
                let (known, doubted) =
                    (knowing.apply(after, event.clone()), doubting.apply(after, event.clone()));
                ensure!(
                    known == doubted,
                    "after {event:?}: {known:#?}, and looking at everything: {doubted:#?}"
                );
                knowing.master.check().map_err(|violation| violation.to_string())?;
            }
        }
        ensure!(knowing.master.view() == doubting.master.view(), "the tables are not alike");
        Ok(())
    });
}

/// The events of a Master.
#[derive(Clone, Debug)]
struct Story {
    order: Order,
    spread_out: bool,
    deeds: Vec<Deed>,
}

/// One event. Numbers select one of the things that exist, modulo their count.
#[derive(Clone, Debug)]
enum Deed {
    WorkerComes { cores: i64, memory: i64, gpus: u64 },
    WorkerGoes(usize),
    ApplicationComes { most: Option<i64>, profile: Asks, limit: Option<u64> },
    ApplicationGoes(usize),
    ExecutorRuns(usize),
    ExecutorEnds(usize, i32),
    ExecutorIsKilled(usize),
    WantsMore { app: usize, id: u32, profile: Asks, total: u64 },
    Avoids { app: usize, worker: usize, prefers: usize },
    TimePasses(u64),
}

#[derive(Clone, Debug)]
struct Asks {
    cores: Option<i64>,
    memory: i64,
    gpus: u64,
}

impl Arbitrary for Asks {
    fn arbitrary(g: &mut Gen) -> Self {
        Self {
            cores: pick(g, &[None, Some(1), Some(1), Some(2), Some(3), Some(4)]),
            memory: pick(g, &[256, 512, 1024]),
            gpus: pick(g, &[0, 0, 0, 1]),
        }
    }
}

impl Arbitrary for Deed {
    fn arbitrary(g: &mut Gen) -> Self {
        let n = usize::from(u16::arbitrary(g));
        match below(g, 22) {
            0..=2 => Self::WorkerComes {
                cores: 1 + below(g, 8),
                memory: pick(g, &[512, 1024, 4096]),
                gpus: pick(g, &[0, 0, 1, 2]),
            },
            3 => Self::WorkerGoes(n),
            4..=8 => Self::ApplicationComes {
                most: pick(g, &[None, Some(2), Some(6), Some(20)]),
                profile: Asks::arbitrary(g),
                limit: pick(g, &[None, None, Some(0), Some(2)]),
            },
            9 | 10 => Self::ApplicationGoes(n),
            11 | 12 => Self::ExecutorRuns(n),
            13..=15 => Self::ExecutorEnds(n, pick(g, &[0, 0, 1])),
            16 | 17 => Self::ExecutorIsKilled(n),
            18 | 19 => Self::WantsMore {
                app: n,
                id: pick(g, &[0, 1, 2]),
                profile: Asks::arbitrary(g),
                total: below(g, 6) as u64,
            },
            20 => Self::Avoids {
                app: n,
                worker: usize::from(u16::arbitrary(g)),
                prefers: usize::from(u16::arbitrary(g)),
            },
            _ => Self::TimePasses(pick(g, &[0, 1, 5, 20])),
        }
    }
}

impl Arbitrary for Story {
    fn arbitrary(g: &mut Gen) -> Self {
        let length = 5 + below(g, 60);
        Self {
            order: pick(g, &ORDERS),
            spread_out: bool::arbitrary(g),
            deeds: (0..length).map(|_| Deed::arbitrary(g)).collect(),
        }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let whole = self.clone();
        Box::new((0..self.deeds.len()).map(move |gone| {
            let mut story = whole.clone();
            story.deeds.remove(gone);
            story
        }))
    }
}

/// A Master, and what its Workers and drivers know.
struct Bench {
    master: Master,
    now: Timestamp,
    workers: BTreeMap<PeerId, WorkerId>,
    apps: BTreeMap<PeerId, AppId>,
    executors: BTreeMap<ExecutorKey, PeerId>,
    next: u64,
}

impl Bench {
    fn new(story: &Story) -> Self {
        let config = Config {
            worker_order: worker_order(story.order),
            strategy: if story.spread_out { Strategy::SpreadOut } else { Strategy::Consolidate },
            ..Config::default()
        };
        Self {
            master: Master::new(config),
            now: Timestamp::from_millis(1_795_209_755_000),
            workers: BTreeMap::new(),
            apps: BTreeMap::new(),
            executors: BTreeMap::new(),
            next: 0,
        }
    }

    /// The events of a deed, each after a delay.
    fn events(&mut self, deed: &Deed) -> Vec<(Duration, Event)> {
        let at_once = |event: Option<Event>| event.map(|event| (Duration::ZERO, event)).into_iter().collect();
        at_once(match deed {
            Deed::WorkerComes { cores, memory, gpus } => {
                self.next += 1;
                Some(registers(self.next, *cores, *memory, *gpus))
            }
            Deed::WorkerGoes(n) => {
                nth(&self.workers, *n).map(|(peer, _)| Event::Disconnected { peer: *peer })
            }
            Deed::ApplicationComes { most, profile, limit } => {
                self.next += 1;
                let description = description(*most, profile, *limit);
                let peer = PeerId(DRIVERS + self.next);
                Some(says(peer, DriverToMaster::RegisterApplication(Box::new(description))))
            }
            Deed::ApplicationGoes(n) => nth(&self.apps, *n).map(|(peer, app)| {
                says(*peer, DriverToMaster::UnregisterApplication { app: app.clone(), outcome: None })
            }),
            Deed::ExecutorRuns(n) => nth(&self.executors, *n)
                .map(|(executor, peer)| reports(*peer, executor.clone(), ExecutorState::Running)),
            Deed::ExecutorEnds(n, code) => nth(&self.executors, *n).map(|(executor, peer)| {
                let state = ExecutorState::Exited(ExitStatus::Code(*code));
                reports(*peer, executor.clone(), state)
            }),
            Deed::ExecutorIsKilled(n) => nth(&self.executors, *n).and_then(|(executor, _)| {
                let (peer, app) = self.apps.iter().find(|(_, app)| **app == executor.app)?;
                let executors = vec![executor.executor];
                Some(says(*peer, DriverToMaster::KillExecutors { app: app.clone(), executors }))
            }),
            Deed::WantsMore { app, id, profile, total } => nth(&self.apps, *app).map(|(peer, app)| {
                let (id, profile) = (ProfileId(*id), asked(profile));
                let targets = vec![ExecutorTarget { id, profile, total: *total }];
                says(*peer, DriverToMaster::RequestExecutors { app: app.clone(), targets })
            }),
            Deed::Avoids { app, worker, prefers } => nth(&self.apps, *app).map(|(peer, app)| {
                let host = |n: &usize| nth(&self.workers, *n).map(|(peer, _)| host(peer.0));
                let preferences = HostPreferences {
                    tasks: 3,
                    preferred: host(prefers).into_iter().map(|host| (host, 3)).collect(),
                    racks: BTreeMap::new(),
                    avoided: host(worker).into_iter().collect::<BTreeSet<_>>(),
                };
                says(
                    *peer,
                    DriverToMaster::PreferHosts { app: app.clone(), preferences: Box::new(preferences) },
                )
            }),
            Deed::TimePasses(seconds) => {
                let beats = self.workers.iter().map(|(peer, worker)| {
                    let message = WorkerToMaster::Heartbeat { worker: worker.clone(), last_order: None };
                    (
                        Duration::ZERO,
                        Event::Received {
                            peer: *peer,
                            arrived: Timestamp::default(),
                            message: Inbound::Worker(message),
                        },
                    )
                });
                let passes =
                    [(Duration::from_secs(*seconds), Event::Deadline { heard_until: Timestamp::default() })];
                return passes.into_iter().chain(beats).collect();
            }
        })
    }

    /// Applies an event. Nothing waits: every message is handled when it arrives.
    fn apply(&mut self, after: Duration, mut event: Event) -> Vec<Effect> {
        self.now = self.now + after;
        match &mut event {
            Event::Received { arrived: at, .. } | Event::Deadline { heard_until: at } => *at = self.now,
            _ => {}
        }
        self.forget(&event);
        let effects = self.master.apply(self.now, event);
        for effect in &effects {
            self.learn(effect);
        }
        effects
    }

    /// Forgets peers and things that have ended.
    fn forget(&mut self, event: &Event) {
        match event {
            Event::Disconnected { peer } => {
                self.workers.remove(peer);
                self.executors.retain(|_, on| on != peer);
            }
            Event::Received {
                message: Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report)),
                ..
            } if report.state.is_finished() => {
                self.executors.remove(&report.executor);
            }
            Event::Received {
                peer,
                message: Inbound::Driver(DriverToMaster::UnregisterApplication { app, outcome: None }),
                ..
            } => {
                self.apps.remove(peer);
                self.executors.retain(|executor, _| executor.app != *app);
            }
            _ => {}
        }
    }

    fn learn(&mut self, effect: &Effect) {
        let Effect::Send { peer, message } = effect else { return };
        match message {
            Outbound::Worker(MasterToWorker::RegisteredWorker { .. }) => {
                self.workers.insert(*peer, worker_id(peer.0));
            }
            Outbound::Worker(MasterToWorker::LaunchExecutor(launch)) => {
                self.executors.insert(launch.executor.clone(), *peer);
            }
            Outbound::Worker(MasterToWorker::KillExecutor { executor }) => {
                self.executors.remove(executor);
            }
            Outbound::Driver(MasterToDriver::RegisteredApplication { app, .. }) => {
                self.apps.insert(*peer, app.clone());
            }
            Outbound::Driver(MasterToDriver::ApplicationRemoved(_)) => {
                self.apps.remove(peer);
            }
            Outbound::Worker(_) | Outbound::Driver(_) | Outbound::Client(_) => {}
        }
    }
}

fn nth<K, V>(map: &BTreeMap<K, V>, n: usize) -> Option<(&K, &V)> {
    map.iter().nth(n.checked_rem(map.len())?)
}

fn worker_id(n: u64) -> WorkerId {
    WorkerId::new(format!("w{n}"))
}

/// The host of a Worker; each has two Workers.
fn host(n: u64) -> String {
    format!("h{}", n / 2)
}

fn registers(n: u64, cores: i64, memory: i64, gpus: u64) -> Event {
    let worker = WorkerDescription::new(
        worker_id(n),
        Address::new(host(n), 7000 + (n % 2) as u16),
        Offered {
            cores: Cores(cores),
            memory: MiB(memory),
            resources: Resources::from_iter([("gpu", (0..gpus).map(|gpu| gpu.to_string()))]),
        },
        "/work",
    );
    let message = WorkerToMaster::register(worker, Vec::new());
    Event::Received { peer: PeerId(n), arrived: Timestamp::default(), message: Inbound::Worker(message) }
}

fn says(peer: PeerId, message: DriverToMaster) -> Event {
    Event::Received { peer, arrived: Timestamp::default(), message: Inbound::Driver(message) }
}

fn reports(peer: PeerId, executor: ExecutorKey, state: ExecutorState) -> Event {
    let message = WorkerToMaster::ExecutorStateChanged(ExecutorReport::new(executor, state));
    Event::Received { peer, arrived: Timestamp::default(), message: Inbound::Worker(message) }
}

fn asked(asks: &Asks) -> ResourceProfile {
    ResourceProfile {
        cores: asks.cores.map(Cores),
        memory: Some(MiB(asks.memory)),
        resources: match asks.gpus {
            0 => ResourceAmounts::new(),
            gpus => ResourceAmounts::from([("gpu".to_owned(), gpus.into())]),
        },
    }
}

fn description(most: Option<i64>, profile: &Asks, limit: Option<u64>) -> ApplicationDescription {
    ApplicationDescription::new(
        Submitter::new("test", "test"),
        WantedExecutors {
            profile: asked(profile),
            max_cores: most.map(Cores),
            limit: limit.map_or(ExecutorLimit::Unlimited, ExecutorLimit::AtMost),
            ..WantedExecutors::default()
        },
        Placing {
            // One of the policies, or the Master's.
            policy: Policy::ALL.get(most.map_or(9, |most| most as usize % 6)).copied(),
            ..Placing::default()
        },
        Work::of(Command::of("true")),
    )
}
