//! A process of mock drivers: the launcher's own state machine with its own connections.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use firesteel_engine::launcher::{Config, Effect, Ending, Event, Launcher, Note, Until};
use firesteel_host::clock::Clock;
use firesteel_host::net::{Arrival, Introduction, QueueLimits};
use firesteel_host::owner::{self, Context, Shell};
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_placement::{Cores, MiB, ResourceAmounts};
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::{Address, parse_masters};
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::{
    ApplicationDescription, Placing, ResourceProfile, Submitter, WantedExecutors, Work,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::wire::{self, DecodeError, Role};

use crate::crew::{self, say};

/// How long an application searches for its first Master.
const PATIENCE: Duration = Duration::from_secs(300);

/// A group of equal applications, and its counts.
struct Group {
    name: String,
    apps: u64,
    /// The number of executors of each application, of one core each.
    executors: u64,
    registered: AtomicU64,
    has_launched: AtomicBool,
    running: AtomicU64,
    ended: AtomicU64,
}

/// Runs applications according to commands.
///
/// ```text
/// start NAME APPS EXECUTORS     a group, each with this number of executors, which are replaced when they end
/// start-once NAME APPS ..       the same, and they are not replaced
/// report NAME                   how many executors of the group have ended
/// ```
pub(crate) fn run(masters: &str) {
    let masters = parse_masters(masters).expect("a URL of Masters");
    crew::run(|mut told| async move {
        let (clock, keyring) = (Clock::start(), crew::keyring());
        let mut groups = BTreeMap::new();
        let mut seed = 0;
        while let Some(words) = told.recv().await {
            let words: Vec<&str> = words.split(' ').collect();
            let until = if words[0] == "start-once" { Until::All } else { Until::Never };
            match words[..] {
                ["start" | "start-once", name, apps, executors] => {
                    let number = |word: &str| word.parse::<u64>().expect("a number");
                    let group = Arc::new(Group::new(name, number(apps), number(executors)));
                    groups.insert(name.to_owned(), Arc::clone(&group));
                    for _ in 0..group.apps {
                        seed += 1;
                        let introduction =
                            Introduction::new(Role::Driver, "launcher").with_keys(keyring.clone());
                        start(masters.clone(), until, seed, (clock, introduction), Arc::clone(&group));
                    }
                }
                ["report", name] => {
                    let ended = groups[name].ended.load(Ordering::Relaxed);
                    say(&format!("report {ended}"));
                }
                _ => panic!("drivers do not know {words:?}"),
            }
        }
    });
}

impl Group {
    fn new(name: &str, apps: u64, executors: u64) -> Self {
        Self {
            name: name.to_owned(),
            apps,
            executors,
            registered: AtomicU64::new(0),
            has_launched: AtomicBool::new(false),
            running: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        }
    }

    fn on_note(&self, note: &Note) {
        match note {
            Note::Registered { .. } => {
                if self.registered.fetch_add(1, Ordering::Relaxed) + 1 == self.apps {
                    say(&format!("registered {}", self.name));
                }
            }
            Note::MasterLost { .. } => {
                self.registered.fetch_sub(1, Ordering::Relaxed);
            }
            Note::ExecutorLaunched { .. } => {
                if !self.has_launched.swap(true, Ordering::Relaxed) {
                    say(&format!("launched {}", self.name));
                }
            }
            Note::ExecutorRunning { .. } => {
                if self.running.fetch_add(1, Ordering::Relaxed) + 1 == self.apps * self.executors {
                    say(&format!("running {}", self.name));
                }
            }
            Note::ExecutorEnded { .. } => {
                self.ended.fetch_add(1, Ordering::Relaxed);
            }
            Note::MasterUnreachable { .. }
            | Note::LeaderConflict(_)
            | Note::WorkerRemoved { .. }
            | Note::FewerThanAsked { .. }
            | Note::Ending { .. }
            | Note::LeftBehind { .. }
            | Note::UnexpectedMessage { .. } => {}
        }
    }
}

fn start(
    masters: Vec<Address>,
    until: Until,
    seed: u64,
    (clock, introduction): (Clock, Introduction),
    group: Arc<Group>,
) {
    let config = Config {
        masters,
        description: description(&group),
        until,
        registration_timeout: PATIENCE,
        starvation_timeout: PATIENCE,
        seed,
    };
    let mut context = Context::introduced(introduction, QueueLimits::default(), clock);
    context.raise(Event::Start);
    tokio::spawn(async move {
        let name = group.name.clone();
        let shell = MockShell { group };
        let ending = owner::run(Launcher::new(config), shell, context, &mut EndRequests::none()).await;
        assert!(matches!(ending, Ending::Met { code: 0 }), "an application of {name} ended: {ending:?}");
    });
}

/// An application with executors of one core, and a command of ordinary length.
fn description(group: &Group) -> ApplicationDescription {
    let mut command = Command::of("/opt/application/bin/executor");
    command.arguments = (0..10).map(|number| format!("--option-{number}=value-{number}")).collect();
    command.environment =
        (0..10).map(|number| (format!("VARIABLE_{number}"), format!("value-{number}"))).collect();
    let profile =
        ResourceProfile { cores: Some(Cores(1)), memory: Some(MiB(1)), resources: ResourceAmounts::new() };
    let cores = Cores(i64::try_from(group.executors).expect("it is small"));
    let wanted = WantedExecutors { profile, max_cores: Some(cores), ..WantedExecutors::default() };
    let submitter = Submitter::new(group.name.clone(), "failover");
    ApplicationDescription::new(submitter, wanted, Placing::default(), Work::of(command))
}

/// Performs the launcher's effects on connections, and counts.
struct MockShell {
    group: Arc<Group>,
}

impl Shell for MockShell {
    type Machine = Launcher;
    type End = Ending;

    fn deadline(_: Timestamp) -> Event {
        Event::Deadline
    }

    fn disconnected(peer: PeerId) -> Event {
        Event::Disconnected { peer }
    }

    fn perform(&mut self, effect: Effect, context: &mut Context<Event>) -> ControlFlow<Ending> {
        match effect {
            Effect::Connect { master } => {
                let address = master.clone();
                context.peers.dial(&address, Role::Master, from_master, |result| match result {
                    Ok((peer, leadership)) => Event::Connected { peer, master, leadership },
                    Err(error) => Event::ConnectFailed { master, error: error.into() },
                });
            }
            Effect::Send { peer, message } => context.peers.send(peer, message),
            Effect::Close { peer } => context.peers.close(peer),
            Effect::Note(note) => self.group.on_note(&note),
            Effect::Done(ending) => return ControlFlow::Break(ending),
        }
        ControlFlow::Continue(())
    }

    fn asked_to_end(&mut self, _: EndRequest) -> ControlFlow<Ending, Event> {
        ControlFlow::Continue(Event::End)
    }
}

fn from_master(Arrival { peer, .. }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: wire::decode(body)? })
}
