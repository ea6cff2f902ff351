//! Plays a page: one ApplicationMaster, its driver and the manager.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_application_master::allocator::{
    self, AllocateFailure, Allocated, Call, Completed, ContainerSize, Decommissioning, Granted,
    HostExclusion, Sizing,
};
use firesteel_application_master::{
    ApplicationMaster, Config, ContainerHandle, Effect, Event, Exit, Inbound, Launch, Mode, Node, Note,
    Outbound, Silence, Staging,
};
use firesteel_placement::advanced::locality::{Naming, Topology};
use firesteel_placement::{Cores, ExecutorLimit, MiB};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ContainerId, ExecutorId, PeerId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationDescription, ClientToMaster, DriverToMaster, ExecutorTarget, HostPreferences, Placing,
    Relaunch, ResourceProfile, Submitter, WantedExecutors, Work,
};
use firesteel_protocol::process::{Command, ExitStatus};
use firesteel_protocol::{Machine as _, Timestamp};

use crate::scripts::command::{Words, millis};
use crate::scripts::words::driver_message;
use crate::scripts::{BEGINNING, Timed as _, timed};

/// An ApplicationMaster under test.
pub struct Stage {
    master: ApplicationMaster,
    config: Config,
    now: Timestamp,
    /// The connections of drivers and clients, by name.
    peers: BTreeMap<String, PeerId>,
}

impl Default for Stage {
    fn default() -> Self {
        Self::of(config(), BEGINNING)
    }
}

/// The settings of an ApplicationMaster in client mode, with two attempts.
fn config() -> Config {
    let racks = [("host1", "/r1"), ("host2", "/r1"), ("host3", "/r2")];
    let rows = racks.iter().map(|(host, rack)| ((*host).to_owned(), (*rack).to_owned()));
    Config {
        app: AppId::new("application_1_0007"),
        url: "spark://host1:4711".to_owned(),
        mode: Mode::Client,
        attempt: 1,
        most_attempts: 2,
        wait_time: Duration::from_secs(100),
        silence: Silence::Success,
        longest_message: 1 << 20,
        executors: 2,
        task_cores: Cores(1),
        allocator: allocator::Config {
            topology: rows.collect::<Topology>(),
            sizing: Sizing::default(),
            initial_target: 0,
            naming: Naming::Many,
            first_executor: ExecutorId(0),
            heartbeat: Duration::from_secs(3),
            initial_pause: Duration::from_millis(200),
            most_errors: 5,
            most_failures: 3,
            failure_window: None,
            exclusion: HostExclusion::Off,
            never: Default::default(),
            decommissioning: Decommissioning::Notified,
        },
    }
}

timed!(Stage, master: ApplicationMaster, Event::Deadline);

impl Stage {
    fn of(config: Config, now: Timestamp) -> Self {
        Self { master: ApplicationMaster::new(config.clone()), config, now, peers: BTreeMap::new() }
    }

    /// Plays one command. Returns the ApplicationMaster's effects, one per line.
    pub fn play(&mut self, line: &str) -> Vec<String> {
        let (verb, words) = Words::of(line);
        let container = |place| ContainerId::new(words.name(place));
        let app = self.config.app.clone();
        match verb {
            "attempt" => self.begin_anew(&words),
            "registered" => {
                let (cores, memory) = (Cores(4), MiB(8192));
                let largest = ContainerSize { cores, memory, ..ContainerSize::default() };
                self.apply(Event::Registered { largest })
            }
            "not-registered" => self.apply(Event::RegisterFailed { error: "no such attempt".to_owned() }),
            "driver" => self.register(&words),
            "wish" => {
                let preferred: BTreeMap<String, u64> =
                    words.settings().iter().map(|(host, tasks)| ((*host).to_owned(), count(tasks))).collect();
                let tasks = preferred.values().copied().max().unwrap_or(0);
                let preferences = HostPreferences { tasks, preferred, ..HostPreferences::default() };
                self.driver_says(DriverToMaster::PreferHosts { app, preferences: Box::new(preferences) })
            }
            "request" => {
                let target = |(id, total): &(&str, &str)| ExecutorTarget {
                    id: ProfileId(u32::try_from(count(id)).expect("a profile's number")),
                    profile: profile(),
                    total: count(total),
                };
                let targets = words.settings().iter().map(target).collect();
                self.driver_says(DriverToMaster::RequestExecutors { app, targets })
            }
            "kill" => {
                let number = |name: &&str| ExecutorId(u32::try_from(count(name)).expect("a number"));
                let executors = words.names_from(0).iter().map(number).collect();
                self.driver_says(DriverToMaster::KillExecutors { app, executors })
            }
            "done" => {
                self.driver_says(DriverToMaster::UnregisterApplication { app, outcome: words.outcome(0) })
            }
            "disconnect" => {
                let peer = self.peer(words.names_from(0).first().copied().unwrap_or("driver"));
                self.apply(Event::Disconnected { peer })
            }
            "kill-app" => {
                let by = "ann@host".into();
                let message = Inbound::Client(ClientToMaster::KillApplication { app: app.to_string(), by });
                let peer = self.peer("client");
                self.apply(Event::Received { peer, message })
            }
            "answer" => self.answer(&words),
            "call-lost" => self.fail(AllocateFailure::Failed("the answer was lost".to_owned())),
            "call-unknown" => self.fail(AllocateFailure::NotRegistered),
            "call-replaced" => self.fail(AllocateFailure::Replaced),
            "started" => self.apply(Event::ContainerStarted { container: container(0) }),
            "not-started" => {
                let error = "no such file".to_owned();
                self.apply(Event::ContainerStartFailed { container: container(0), error })
            }
            "program-ended" => {
                let code = i32::try_from(count(words.name(0))).expect("an exit code");
                self.apply(Event::ProgramEnded(ExitStatus::Code(code)))
            }
            "unregistered" => self.apply(Event::Unregistered),
            "not-unregistered" => self.apply(Event::UnregisterFailed { error: "no answer".to_owned() }),
            "shutdown" => self.apply(Event::Shutdown),
            "advance" => self.advance(millis(words.name(0))),
            other => panic!("no command is called {other:?}"),
        }
    }

    /// `attempt 2 mode=cluster of=3 silence=failure`: another attempt, with defaults for all other settings.
    fn begin_anew(&mut self, words: &Words<'_>) -> Vec<String> {
        let mut config = config();
        config.attempt = u32::try_from(count(words.name(0))).expect("a number");
        for &(key, value) in words.settings() {
            match (key, value) {
                ("mode", "client") => config.mode = Mode::Client,
                ("mode", "cluster") => config.mode = Mode::Cluster,
                ("mode", "unmanaged") => config.mode = Mode::Unmanaged,
                ("of", most) => config.most_attempts = u32::try_from(count(most)).expect("a number"),
                ("silence", "failure") => config.silence = Silence::Failure,
                other => panic!("no setting is called {other:?}"),
            }
        }
        *self = Self::of(config, self.now);
        self.apply(Event::Start)
    }

    fn register(&mut self, words: &Words<'_>) -> Vec<String> {
        let description = ApplicationDescription::new(
            Submitter::new("sums", "ann"),
            WantedExecutors {
                profile: profile(),
                limit: words
                    .setting("limit")
                    .map_or(ExecutorLimit::Unlimited, |limit| ExecutorLimit::AtMost(count(limit))),
                relaunch: match words.setting("relaunch") {
                    None => Relaunch::WhenEnded,
                    Some("lost") => Relaunch::WhenLost,
                    Some(other) => panic!("{other:?} are never relaunched: write lost"),
                },
                first: ExecutorId(
                    words.setting("first").map_or(0, |first| u32::try_from(count(first)).expect("a number")),
                ),
                ..WantedExecutors::default()
            },
            Placing::default(),
            Work::of(Command::of("executor")),
        );
        let name = words.setting("on").unwrap_or("driver");
        let peer = self.peer(name);
        let message = Inbound::Driver(DriverToMaster::RegisterApplication(Box::new(description)));
        self.apply(Event::Received { peer, message })
    }

    /// `answer c1=host1 c2=ended:137`: containers that were granted, and containers that have ended.
    fn answer(&mut self, words: &Words<'_>) -> Vec<String> {
        let mut allocated = Allocated { machines: 3, ..Allocated::default() };
        let mut nodes = BTreeMap::new();
        for &(container, what) in words.settings() {
            let container = ContainerId::new(container);
            match what.split_once(':') {
                Some(("ended", status)) => {
                    let status = status.parse().expect("a status");
                    let diagnostics = String::new();
                    allocated.completed.push(Completed { container, status, diagnostics });
                }
                Some(other) => panic!("{other:?} is nothing that becomes of a container"),
                None => {
                    let (host, logs) = (what.to_owned(), format!("http://{what}:8042/{container}"));
                    let (address, handle) = (Address::new(what, 45454), ContainerHandle::default());
                    nodes.insert(container.clone(), Node { address, logs, handle });
                    let (profile, memory) = (ProfileId::DEFAULT, MiB(4096));
                    allocated.granted.push(Granted { container, host, profile, memory });
                }
            }
        }
        allocated.decommissioning = words.names_from(0).iter().map(|host| (*host).to_owned()).collect();
        self.apply(Event::Allocated { allocated, nodes })
    }

    fn fail(&mut self, failure: AllocateFailure) -> Vec<String> {
        self.apply(Event::AllocateFailed(failure))
    }

    fn driver_says(&mut self, message: DriverToMaster) -> Vec<String> {
        let peer = self.peer("driver");
        self.apply(Event::Received { peer, message: Inbound::Driver(message) })
    }

    fn peer(&mut self, name: &str) -> PeerId {
        let next = PeerId(self.peers.len() as u64 + 1);
        *self.peers.entry(name.to_owned()).or_insert(next)
    }

    fn apply(&mut self, event: Event) -> Vec<String> {
        let effects = self.master.apply(self.now, event);
        if let Err(violation) = self.master.check() {
            panic!("{violation}");
        }
        effects.iter().filter_map(|effect| self.line(effect)).collect()
    }

    /// One effect as lines. Remarks that only repeat a message are left out.
    fn line(&self, effect: &Effect) -> Option<String> {
        let name = |peer: &PeerId| {
            let found = self.peers.iter().find(|(_, known)| *known == peer);
            found.map_or("nobody", |(name, _)| name.as_str())
        };
        Some(match effect {
            Effect::Register => "manager <- register".to_owned(),
            Effect::Allocate(call) => format!("manager <- allocate{}", words(call)),
            Effect::Launch(Launch { container, node, executor, cores, memory, .. }) => {
                let host = node.as_ref().map_or("nowhere", |node| node.address.host.as_str());
                format!("{host} <- start executor {} in {container}: {cores}, {memory}", executor.executor)
            }
            Effect::StartProgram => "the program is started".to_owned(),
            Effect::EndProgram => "the program is ended".to_owned(),
            Effect::Send { peer, message: Outbound::Driver(message) } => {
                format!("{} <- {}", name(peer), driver_message(message))
            }
            Effect::Send { peer, message: Outbound::Client(message) } => {
                format!("{} <- {message:?}", name(peer))
            }
            Effect::Close { peer } => format!("{} is closed", name(peer)),
            Effect::Unregister { status, message } => format!("manager <- unregister {status}: {message}"),
            Effect::Exit(Exit { status, code, message, staging }) => {
                let files = match staging {
                    Staging::Needed => "staged files stay",
                    Staging::Unneeded => "staged files are deleted",
                };
                format!("exit {code} as {status}, {files}: {message}")
            }
            Effect::Note(note) => return told(note).then(|| format!("({note})")),
        })
    }
}

/// The requests and releases of a call.
fn words(call: &Call) -> String {
    let asks = call.asks.iter().map(|ask| format!("{} at {}", ask.containers, ask.location));
    let release = call.release.iter().map(|container| format!("give back {container}"));
    let exclude = call.exclude.iter().map(|host| format!("avoid {host}"));
    let include = call.include.iter().map(|host| format!("avoid {host} no more"));
    let all: Vec<String> = asks.chain(release).chain(exclude).chain(include).collect();
    if all.is_empty() { String::new() } else { format!(": {}", all.join(", ")) }
}

fn told(note: &Note) -> bool {
    match note {
        Note::Registered
        | Note::DriverRegistered { .. }
        | Note::ExecutorLaunched { .. }
        | Note::ExecutorEnded { .. }
        | Note::Finishing { .. }
        | Note::Allocator(allocator::Note::TargetSet { .. }) => false,
        Note::DriverReturned
        | Note::DriverLost { .. }
        | Note::Refused { .. }
        | Note::NotItsOwn { .. }
        | Note::Decommissioning { .. }
        | Note::UnregisterFailed { .. }
        | Note::Allocator(_) => true,
    }
}

fn profile() -> ResourceProfile {
    ResourceProfile { cores: Some(Cores(2)), memory: Some(MiB(2048)), ..ResourceProfile::default() }
}

fn count(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}
