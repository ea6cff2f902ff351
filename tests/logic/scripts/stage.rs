//! Plays a script: one Master, and the connections of its peers.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_master::{
    Config, Durability, Effect, Event, Exclusion, Inbound, Master, Outbound, Record, Retries,
    UnknownExecutors,
};
use firesteel_placement::{ExecutorLimit, Strategy};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, PeerId, ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, ClientToMaster, DriverToMaster, ExecutorReport, ExecutorTarget, MasterToDriver,
    MasterToWorker, Offered, Placing, Relaunch, Requester, Resumption, Rights, RunId, StateCursor, Submitter,
    WantedExecutors, Work, WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::scheduling::run_time::RUN_TIME;
use firesteel_protocol::scheduling::{Backfill, GangPreemption, Preemption, ServingOrder};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::{Machine, Timestamp};

use super::command::{Words, millis, number, state};
use super::words::Names;
use super::{BEGINNING, Timed};

/// A Master under test, with its peers.
pub struct Stage {
    master: Master,
    now: Timestamp,
    next_peer: u64,
    workers: BTreeMap<String, (PeerId, WorkerDescription)>,
    drivers: BTreeMap<String, PeerId>,
    descriptions: BTreeMap<String, ApplicationDescription>,
    config: Config,
    launched: BTreeMap<ExecutorKey, String>,
    names: Names,
    /// The records of all events since the last image.
    journal: Vec<Record>,
    /// Copies of journals, by name.
    copies: BTreeMap<String, Vec<Record>>,
}

impl Default for Stage {
    fn default() -> Self {
        Self {
            master: Master::new(Config { durability: Durability::Durable, ..Config::default() }),
            now: BEGINNING,
            next_peer: 0,
            workers: BTreeMap::new(),
            drivers: BTreeMap::new(),
            descriptions: BTreeMap::new(),
            config: Config { durability: Durability::Durable, ..Config::default() },
            launched: BTreeMap::new(),
            names: Names::default(),
            journal: Vec::new(),
            copies: BTreeMap::new(),
        }
    }
}

impl Timed for Stage {
    type Machine = Master;

    fn machine(&self) -> &Master {
        &self.master
    }

    fn now(&mut self) -> &mut Timestamp {
        &mut self.now
    }

    fn wake(&mut self) -> Vec<String> {
        self.apply(Event::Deadline { heard_until: self.now })
    }
}

impl Stage {
    /// Plays one command. Returns the Master's effects, one per line.
    pub fn play(&mut self, line: &str) -> Vec<String> {
        let (verb, words) = Words::of(line);
        match verb {
            "settings" => self.begin_anew(&words),
            "worker" => self.register_worker(&words),
            "reconnect" => self.reconnect_worker(&words),
            "heartbeat" => {
                let worker = WorkerId::new(words.name(0));
                let peer = self.worker_peer(words.name(0));
                self.worker_says(peer, WorkerToMaster::Heartbeat { worker, last_order: None })
            }
            "executor" => self.report(&words),
            "app" => self.register_application(&words),
            "end" => {
                let (peer, app) = self.driver(words.name(0));
                let outcome = words.outcome(1);
                self.driver_says(peer, DriverToMaster::UnregisterApplication { app, outcome })
            }
            "request" => self.request_executors(&words),
            "restart" => self.restart(),
            "copy" => {
                let journal = match self.journal.is_empty() {
                    true => self.master.image(),
                    false => self.journal.clone(),
                };
                self.copies.insert(words.name(0).to_owned(), journal);
                Vec::new()
            }
            "restore" => {
                self.journal = self.copies[words.name(0)].clone();
                self.restart()
            }
            "resume" => self.resume(&words),
            "kill" => {
                let (peer, app) = self.driver(words.name(0));
                let executors = words.names_from(1).iter().map(|name| executor_id(name)).collect();
                self.driver_says(peer, DriverToMaster::KillExecutors { app, executors })
            }
            "decommission" => {
                let which = words.name(0).to_owned();
                let within_millis = words.setting("within").map(|time| time.parse().expect("milliseconds"));
                let by = requester(&words);
                self.client_says(ClientToMaster::DecommissionWorkers { which, within_millis, by })
            }
            "shortfall" => {
                let (peer, app) = self.driver(words.name(0));
                self.driver_says(peer, DriverToMaster::RequestShortfall { app })
            }
            "disconnect" => {
                let name = words.name(0);
                let peer = self.drivers.get(name).copied().unwrap_or_else(|| self.worker_peer(name));
                self.apply(Event::Disconnected { peer })
            }
            "advance" => self.advance(millis(words.name(0))),
            "state" => self.ask(),
            "ask" => self.ask_for(&words),
            "kill-app" => self.kill_application(&words),
            other => panic!("no command is called {other:?}"),
        }
    }

    /// Replaces the Master by one with other settings.
    fn begin_anew(&mut self, words: &Words<'_>) -> Vec<String> {
        let mut config = Config { durability: Durability::Durable, ..Config::default() };
        let mut shows_records = false;
        for &(key, value) in words.settings() {
            match key {
                "strategy" => config.strategy = strategy(value),
                "policy" => config.rule = value.parse().expect("a policy"),
                "order" => config.worker_order = value.parse().expect("a worker order"),
                "default-cores" => config.default_cores.0 = number(value),
                "retries" => config.retries = Retries::AtMost(value.parse().expect("a number")),
                "proven-after" => config.proven_after = Duration::from_millis(millis(value)),
                "exclusion" => config.exclusion = exclusion(value),
                "retained" => config.retained_applications = value.parse().expect("a number"),
                "queues" => config.queues = value.parse().expect("queues"),
                "preemption" => config.preemption = preemption(value),
                "gangs" => config.gang_preemption = Some(gang_preemption(value)),
                "records" => shows_records = value == "shown",
                "run" => config.run = RunId(value.parse().expect("a number")),
                "backfill" => config.backfill = backfill(value),
                "reservations" => config.reservations = value.parse().expect("a number"),
                "serving" => {
                    config.order = match value {
                        "registration" => ServingOrder::Registration,
                        "shortest" => ServingOrder::Shortest,
                        other => panic!("no order of serving is called {other:?}"),
                    }
                }
                other => panic!("no setting is called {other:?}"),
            }
        }
        let mut names = Names::default();
        names.shows_records = shows_records;
        let is_new = config.run == RunId::default();
        let copies = std::mem::take(&mut self.copies);
        *self = Self { master: Master::new(config.clone()), config, names, copies, ..Self::default() };
        if !is_new {
            // A state with an identity begins with an image.
            self.master = self.recovered();
            self.journal = self.master.image();
        }
        Vec::new()
    }

    fn register_worker(&mut self, words: &Words<'_>) -> Vec<String> {
        let name = words.name(0);
        let description = WorkerDescription::new(
            WorkerId::new(name),
            Address::new(words.setting("host").unwrap_or(name).to_owned(), 7078),
            Offered {
                cores: words.cores("cores").unwrap_or_default(),
                memory: words.memory("memory").unwrap_or(firesteel_placement::MiB(64 * 1024)),
                resources: words.resources(),
            },
            "/work",
        );
        let peer = self.new_peer(name);
        self.workers.insert(name.to_owned(), (peer, description.clone()));
        self.worker_says(peer, WorkerToMaster::register(description, Vec::new()))
    }

    /// Connects the same Worker again, with what it runs: `reconnect w1 a1/0=running`.
    fn reconnect_worker(&mut self, words: &Words<'_>) -> Vec<String> {
        let name = words.name(0);
        let peer = self.new_peer(name);
        let executors = words
            .settings()
            .iter()
            .map(|(key, value)| ExecutorReport::new(self.names.key(key), state(value, None)))
            .collect();
        let row = self.workers.get_mut(name).unwrap_or_else(|| panic!("no Worker is called {name}"));
        row.0 = peer;
        let worker = row.1.clone();
        self.worker_says(peer, WorkerToMaster::register(worker, executors))
    }

    /// A Worker's report: `executor a1/0 exited code=1`; `... from=w2` from a Worker that does not run it.
    fn report(&mut self, words: &Words<'_>) -> Vec<String> {
        let executor = self.names.key(words.name(0));
        let peer = match words.setting("from") {
            Some(worker) => self.worker_peer(worker),
            None => self.worker_peer(&self.launched[&executor]),
        };
        let report = ExecutorReport::new(executor, words.state(1));
        self.worker_says(peer, WorkerToMaster::ExecutorStateChanged(report))
    }

    fn register_application(&mut self, words: &Words<'_>) -> Vec<String> {
        let name = words.name(0);
        let limit = words.setting("limit").map(|text| text.parse().expect("a number"));
        let mut command = Command::of("executor");
        command.environment.extend(words.setting("runs").map(|told| (RUN_TIME.to_owned(), told.to_owned())));
        let description = ApplicationDescription::new(
            Submitter::new(name, "somebody"),
            WantedExecutors {
                profile: words.profile(),
                max_cores: words.cores("max"),
                limit: limit.map_or(ExecutorLimit::Unlimited, ExecutorLimit::AtMost),
                relaunch: match words.setting("relaunch") {
                    None => Relaunch::WhenEnded,
                    Some("lost") => Relaunch::WhenLost,
                    Some(other) => panic!("{other:?} are never relaunched: write lost"),
                },
                ..WantedExecutors::default()
            },
            Placing {
                policy: words.setting("policy").map(|name| name.parse().expect("a policy")),
                queue: words.setting("queue").map(str::to_owned),
                priority: words.setting("priority").map_or(0, |text| text.parse().expect("a number")),
                gang: words.setting("gang").map_or(0, |text| text.parse().expect("a number")),
            },
            Work::of(command),
        );
        let token = Secret::new(name);
        let mut description = description;
        description.token = token;
        self.descriptions.insert(name.to_owned(), description.clone());
        let peer = self.new_peer(name);
        self.drivers.insert(name.to_owned(), peer);
        self.driver_says(peer, DriverToMaster::RegisterApplication(Box::new(description)))
    }

    /// Sets targets, each with the needs of its profile: `request a1 0=5 1=3:cores=2:memory=512m`.
    fn request_executors(&mut self, words: &Words<'_>) -> Vec<String> {
        let (peer, app) = self.driver(words.name(0));
        let targets = words
            .settings()
            .iter()
            .map(|(profile, target)| {
                let line = format!("target {}", target.replace(':', " "));
                let (_, target) = Words::of(&line);
                ExecutorTarget {
                    id: ProfileId(profile.parse().expect("a profile's number")),
                    profile: target.profile(),
                    total: target.name(0).parse().expect("a number"),
                }
            })
            .collect();
        self.driver_says(peer, DriverToMaster::RequestExecutors { app, targets })
    }

    /// A status client asks for the tables.
    fn ask(&mut self) -> Vec<String> {
        self.client_says(ClientToMaster::RequestMasterState { from: StateCursor::beginning() })
    }

    fn ask_for(&mut self, words: &Words<'_>) -> Vec<String> {
        let app = self.names.app(words.name(0)).to_string();
        self.client_says(ClientToMaster::RequestApplication { app, executors_from: ExecutorId(0) })
    }

    fn kill_application(&mut self, words: &Words<'_>) -> Vec<String> {
        let app = self.names.app(words.name(0)).to_string();
        self.client_says(ClientToMaster::KillApplication { app, by: requester(words) })
    }

    fn client_says(&mut self, message: ClientToMaster) -> Vec<String> {
        let peer = self.new_peer("client");
        self.apply(Event::Received { peer, arrived: self.now, message: Inbound::Client(message) })
    }

    fn worker_says(&mut self, peer: PeerId, message: WorkerToMaster) -> Vec<String> {
        self.apply(Event::Received { peer, arrived: self.now, message: Inbound::Worker(message) })
    }

    fn driver_says(&mut self, peer: PeerId, message: DriverToMaster) -> Vec<String> {
        self.apply(Event::Received { peer, arrived: self.now, message: Inbound::Driver(message) })
    }

    fn apply(&mut self, event: Event) -> Vec<String> {
        let effects = self.master.apply(self.now, event);
        if let Err(violation) = self.master.check() {
            panic!("{violation}");
        }
        for effect in &effects {
            self.take_note(effect);
        }
        assert_eq!(self.recovered().image(), self.master.image(), "what is recovered is what there is");
        effects.iter().flat_map(|effect| self.names.effect(effect)).collect()
    }

    fn recovered(&self) -> Master {
        // A Master without records has no changed state.
        if self.journal.is_empty() {
            let config = Config { foreign: UnknownExecutors::Ended, ..self.config.clone() };
            return Master::recover(config, self.now, []).expect("nothing contradicts nothing");
        }
        Master::recover(self.config.clone(), self.now, self.journal.clone())
            .expect("the records fit each other")
    }

    /// The Master dies, and another one is recovered from its records.
    fn restart(&mut self) -> Vec<String> {
        if self.config.run != RunId::default() {
            self.config.run.0 += 1;
        }
        self.master = self.recovered();
        self.journal = self.master.image();
        match self.names.shows_records {
            true => self.journal.iter().map(|record| format!("    {record}")).collect(),
            false => Vec::new(),
        }
    }

    /// Connects the driver again, with the executors that it believes to be alive: `resume a1 0 1`.
    fn resume(&mut self, words: &Words<'_>) -> Vec<String> {
        let name = words.name(0);
        let app = self.names.app(name);
        let executors: Vec<ExecutorId> = words.names_from(1).iter().map(|name| executor_id(name)).collect();
        let mut description = Box::new(self.descriptions[name].clone());
        description.first_executor = executors.last().map_or(ExecutorId(0), |last| ExecutorId(last.0 + 1));
        let peer = self.new_peer(name);
        self.drivers.insert(name.to_owned(), peer);
        self.driver_says(peer, DriverToMaster::ResumeApplication(Resumption { app, executors, description }))
    }

    fn take_note(&mut self, effect: &Effect) {
        match effect {
            Effect::Send {
                peer,
                message: Outbound::Driver(MasterToDriver::RegisteredApplication { app, mark, .. }),
            } => {
                self.names.learn(*peer, app);
                if let Some((name, _)) = self.drivers.iter().find(|(_, driver)| *driver == peer) {
                    self.descriptions.get_mut(name).expect("it is there").seen =
                        mark.iter().copied().collect();
                }
            }
            Effect::Send { peer, message: Outbound::Worker(MasterToWorker::LaunchExecutor(launch)) } => {
                let worker = self.workers.iter_mut().find(|(_, (theirs, _))| theirs == peer);
                let (name, (_, description)) = worker.expect("executors are launched on Workers");
                description.seen = launch.mark.into_iter().collect();
                self.launched.insert(launch.executor.clone(), name.clone());
            }
            Effect::Send {
                peer,
                message: Outbound::Worker(MasterToWorker::RegisteredWorker { mark, .. }),
            } => {
                let worker = self.workers.values_mut().find(|(theirs, _)| theirs == peer);
                worker.expect("it registered").1.seen = mark.iter().copied().collect();
            }
            Effect::Persist(records) => self.journal.extend(records.iter().cloned()),
            _ => {}
        }
    }

    fn new_peer(&mut self, name: &str) -> PeerId {
        self.next_peer += 1;
        let peer = PeerId(self.next_peer);
        self.names.peer(peer, name);
        peer
    }

    fn worker_peer(&self, name: &str) -> PeerId {
        self.workers.get(name).unwrap_or_else(|| panic!("no Worker is called {name}")).0
    }

    fn driver(&self, name: &str) -> (PeerId, AppId) {
        // `a1@a2` sends a message for a1 on the connection of a2.
        let (app, driver) = name.split_once('@').unwrap_or((name, name));
        let peer = self.drivers.get(driver).unwrap_or_else(|| panic!("no application is called {driver}"));
        (*peer, self.names.app(app))
    }
}

fn strategy(name: &str) -> Strategy {
    match name {
        "spread-out" => Strategy::SpreadOut,
        "consolidate" => Strategy::Consolidate,
        other => panic!("no strategy is called {other:?}"),
    }
}

/// Parses `1s/60s`: one second at first, at most a minute; `off` turns exclusion off.
fn exclusion(text: &str) -> Exclusion {
    let Some((first, longest)) = text.split_once('/') else { return Exclusion::Off };
    let [first, longest] = [first, longest].map(|text| Duration::from_millis(millis(text)));
    Exclusion::For { first, longest }
}

/// Parses `2/30s`: at most two executors within half a minute.
fn preemption(text: &str) -> Preemption {
    let (executors, every) = text.split_once('/').expect("a number, and an interval");
    let every = Duration::from_millis(millis(every));
    Preemption::AtMost { executors: executors.parse().expect("a number"), every }
}

/// Parses `10s/1m`: for a gang that has waited ten seconds, executors that have run for less than a minute.
fn gang_preemption(text: &str) -> GangPreemption {
    let (patience, reach) = text.split_once('/').expect("two durations");
    let duration = |text| Duration::from_millis(millis(text));
    GangPreemption { patience: duration(patience), reach: duration(reach) }
}

fn backfill(name: &str) -> Backfill {
    match name {
        "on" => Backfill::On,
        "off" => Backfill::Off,
        other => panic!("backfill is on or off, not {other:?}"),
    }
}

fn executor_id(name: &str) -> ExecutorId {
    ExecutorId(name.parse().unwrap_or_else(|_| panic!("{name:?} is no executor's number")))
}

/// Who asks for a change: the name in `by`, with the rights in `rights`, or with all.
fn requester(words: &Words<'_>) -> Requester {
    let all = [Rights::None, Rights::Own, Rights::Modify, Rights::Admin];
    let named = |word: &str| all.into_iter().find(|rights| rights.to_string() == word).expect("rights");
    let rights = words.setting("rights").map_or(Rights::Admin, named);
    Requester::new(words.setting("by").unwrap_or("somebody"), rights)
}
