//! A process of mock Workers: the Worker's own state machine with its own connections. Executors are simulated: each
//! runs at once.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use firesteel_host::clock::Clock;
use firesteel_host::inbox::Inbox;
use firesteel_host::net::{Arrival, Introduction, Keyring, QueueLimits};
use firesteel_host::owner::{self, Context, Shell};
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::{Address, parse_masters};
use firesteel_protocol::ids::{ExecutorKey, PeerId, WorkerId};
use firesteel_protocol::messages::{Offered, WorkerDescription};
use firesteel_protocol::process::ExitStatus;
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::{self, DecodeError, Role};
use firesteel_worker::{Config, Effect, Event, Exit, Inbound, Note, Outbound, Worker};
use tokio::sync::{Notify, mpsc};

use crate::crew::{self, say};
use crate::moment::Moment;

/// The most Workers that first register at the same time.
const STEP: u64 = 250;

/// What all Workers of the process share.
struct Shared {
    masters: Vec<Address>,
    keyring: Option<Keyring>,
    cores: i64,
    count: u64,
    registered: AtomicU64,
    /// The times of confirmed registrations since the last report.
    registrations: Mutex<Vec<Moment>>,
    /// Attempted and failed connections since the last report.
    dials: AtomicU64,
    failures: AtomicU64,
    /// The number of executors that a Master had ended.
    killed: AtomicU64,
    executors: Mutex<BTreeMap<ExecutorKey, Inbox<Event>>>,
    changed: Notify,
}

pub(crate) fn run(first: u64, count: u64, cores: i64, masters: &str) {
    let masters = parse_masters(masters).expect("a URL of Masters");
    let shared = Arc::new(Shared {
        masters,
        keyring: crew::keyring(),
        cores,
        count,
        registered: AtomicU64::new(0),
        registrations: Mutex::default(),
        dials: AtomicU64::new(0),
        failures: AtomicU64::new(0),
        killed: AtomicU64::new(0),
        executors: Mutex::default(),
        changed: Notify::new(),
    });
    crew::run(|told| serve(first, shared, told));
}

async fn serve(first: u64, shared: Arc<Shared>, mut told: mpsc::UnboundedReceiver<String>) {
    let clock = Clock::start();
    for from in (0..shared.count).step_by(usize::try_from(STEP).expect("it is small")) {
        let until = shared.count.min(from + STEP);
        for number in from..until {
            start(first + number, clock, Arc::clone(&shared));
        }
        while shared.registered.load(Ordering::Relaxed) < until {
            shared.changed.notified().await;
        }
    }
    say("ready");
    while let Some(words) = told.recv().await {
        match words.as_str() {
            "forget" => drop(shared.report()),
            "report" => say(&format!("report {}", shared.report())),
            "end" => {
                let ended = std::mem::take(&mut *shared.executors());
                for (executor, inbox) in ended {
                    let event = Event::RunnerExited { executor, status: ExitStatus::SUCCESS };
                    inbox.send(event).await.expect("the Worker lives");
                }
                say("ended");
            }
            other => panic!("Workers do not know {other:?}"),
        }
    }
}

impl Shared {
    fn executors(&self) -> MutexGuard<'_, BTreeMap<ExecutorKey, Inbox<Event>>> {
        self.executors.lock().expect("no task panics with it")
    }

    fn on_registered(&self) {
        self.registrations.lock().expect("no task panics with it").push(Moment::now());
        if self.registered.fetch_add(1, Ordering::Relaxed) + 1 == self.count {
            say("registered");
        }
        self.changed.notify_one();
    }

    /// The counts of connections, failures and ended executors, and the times of all registrations.
    fn report(&self) -> String {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed).to_string();
        let mut words = vec![take(&self.dials), take(&self.failures), take(&self.killed)];
        let registrations = std::mem::take(&mut *self.registrations.lock().expect("no task panics with it"));
        words.extend(registrations.iter().map(Moment::to_string));
        words.join(" ")
    }
}

fn start(number: u64, clock: Clock, shared: Arc<Shared>) {
    let host = format!("10.0.{}.{}", number / 250, number % 250);
    let id = WorkerId::new(format!("worker-20261120212235-{host}-7078"));
    let offered =
        Offered { cores: Cores(shared.cores), memory: MiB(1 << 20), resources: Resources::default() };
    let token = Secret::of_bytes((u128::from(number) + 1).to_be_bytes());
    let description = WorkerDescription::new(id.clone(), Address::new(host, 7078), offered, "/work");
    let config = Config {
        description: description.with_token(token),
        masters: shared.masters.clone(),
        max_registration_retries: 16,
        kill_grace: Duration::from_secs(10),
        driver_kill_grace: Duration::from_secs(10),
        cleanup: None,
        try_pause: None,
        max_disk_percent: 100,
        usage_pause: None,
        limits: Default::default(),
        web_address: None,
        retained_executors: 1000,
        seed: number,
    };
    let introduction = Introduction::new(Role::Worker, id.as_str()).with_keys(shared.keyring.clone());
    let mut context = Context::introduced(introduction, QueueLimits::default(), clock);
    context.raise(Event::Start);
    tokio::spawn(async move {
        let shell = MockShell { shared };
        let exit = owner::run(Worker::new(config), shell, context, &mut EndRequests::none()).await;
        panic!("{id} ended: {exit:?}");
    });
}

/// Performs the Worker's effects on connections, and simulates executors.
struct MockShell {
    shared: Arc<Shared>,
}

impl Shell for MockShell {
    type Machine = Worker;
    type End = Exit;

    fn deadline(_: Timestamp) -> Event {
        Event::Deadline
    }

    fn disconnected(peer: PeerId) -> Event {
        Event::Disconnected { peer }
    }

    fn perform(&mut self, effect: Effect, context: &mut Context<Event>) -> ControlFlow<Exit> {
        let shared = &self.shared;
        match effect {
            Effect::Connect { master } => {
                shared.dials.fetch_add(1, Ordering::Relaxed);
                let (address, shared) = (master.clone(), Arc::clone(shared));
                context.peers.dial(&address, Role::Master, from_master, move |result| match result {
                    Ok((peer, leadership)) => Event::Connected { peer, master, leadership },
                    Err(error) => {
                        shared.failures.fetch_add(1, Ordering::Relaxed);
                        Event::ConnectFailed { master, error: error.into() }
                    }
                });
            }
            Effect::Send { peer, message: Outbound::Master(message) } => context.peers.send(peer, message),
            Effect::Send { peer, message: Outbound::Client(message) } => context.peers.send(peer, message),
            Effect::Close { peer } => context.peers.close(peer),
            Effect::StartExecutor(plan) => {
                shared.executors().insert(plan.executor.clone(), context.inbox());
                context.raise(Event::RunnerStarted { executor: plan.executor, pid: 1 });
            }
            Effect::SignalExecutor { executor, .. } => {
                if shared.executors().remove(&executor).is_some() {
                    shared.killed.fetch_add(1, Ordering::Relaxed);
                    context.raise(Event::RunnerExited { executor, status: ExitStatus::Signal(15) });
                }
            }
            Effect::Exit(exit) => return ControlFlow::Break(exit),
            Effect::Note(Note::Registered { .. }) => shared.on_registered(),
            Effect::Note(Note::MasterLost { .. }) => {
                shared.registered.fetch_sub(1, Ordering::Relaxed);
            }
            Effect::Note(_)
            | Effect::Measure { .. }
            | Effect::StartDriver(_)
            | Effect::SignalDriver { .. }
            | Effect::FetchFiles { .. }
            | Effect::RemoveFiles { .. }
            | Effect::CleanApplication { .. }
            | Effect::TryToStart { .. }
            | Effect::FindStale { .. }
            | Effect::RemoveDirectory { .. }
            | Effect::RemoveExecutorDirectories { .. }
            | Effect::ReadLog { .. } => {}
        }
        ControlFlow::Continue(())
    }

    fn asked_to_end(&mut self, _: EndRequest) -> ControlFlow<Exit, Event> {
        ControlFlow::Continue(Event::Shutdown)
    }
}

fn from_master(Arrival { peer, .. }: Arrival, body: &[u8]) -> Result<Event, DecodeError> {
    Ok(Event::Received { peer, message: Inbound::Master(wire::decode(body)?) })
}
