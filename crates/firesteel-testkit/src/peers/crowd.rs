//! A cluster of Workers and drivers that are only connections, so that one machine holds thousands of them.
//!
//! Workers report each executor as running as soon as they receive the order to launch it. All Workers and drivers end
//! when the crowd is dropped.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use firesteel_placement::{Cores, ExecutorLimit, MiB, ResourceAmounts, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToMaster, ExecutorReport, ExecutorState, MasterToDriver, MasterToWorker,
    Offered, Outcome, Placing, ResourceProfile, Submitter, WantedExecutors, Work, WorkerDescription,
    WorkerToMaster,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::wire::{self, Role};
use tokio::runtime;
use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{MissedTickBehavior, interval};

use super::link::Link;

/// An application to start in the crowd.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The name of the application on the Master's pages.
    pub name: String,
    /// The user to whom the application belongs.
    pub user: String,
    pub executors: u64,
    /// The cores and the memory in GiB of each executor.
    pub each: (i64, i64),
    /// The number of executors that the application wants at the same time. 0: no gang.
    pub gang: u64,
    /// Whether the application ends immediately, and with which result.
    pub ends: Option<Ends>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The application ends without a report of its outcome.
    Well,
    /// The application ends as failed.
    Failed,
}

/// A handle of a crowd, which runs on another thread.
pub struct Crowd {
    orders: Option<mpsc::UnboundedSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    /// A Worker with this number, and with these cores and GiB.
    Worker(u64, i64, i64),
    Application(Asked),
}

impl Crowd {
    /// An empty crowd, at the Master with this address.
    pub fn of(master: &str) -> Self {
        let (orders, received) = mpsc::unbounded_channel();
        let master = master.to_owned();
        let thread = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            LocalSet::new().block_on(&runtime.expect("a runtime starts"), perform(master, received));
        });
        Self { orders: Some(orders), thread: Some(thread) }
    }

    /// Connects Workers with these numbers. Every fifth Worker has twice the cores and memory.
    pub fn workers(&self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            let (cores, memory) = if number % 5 == 4 { (32, 128) } else { (16, 64) };
            self.order(Order::Worker(number, cores, memory));
        }
    }

    pub fn application(&self, asked: Asked) {
        self.order(Order::Application(asked));
    }

    fn order(&self, order: Order) {
        let orders = self.orders.as_ref().expect("it lasts until the end");
        orders.send(order).expect("the thread runs");
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.thread.take().expect("it has a thread").join();
    }
}

async fn perform(master: String, mut orders: mpsc::UnboundedReceiver<Order>) {
    while let Some(order) = orders.recv().await {
        match order {
            Order::Worker(number, cores, memory) => {
                let link = Link::dial(&master, Role::Worker, &id(number)).await.expect("the Master listens");
                spawn_local(work(link, number, cores, memory));
            }
            Order::Application(asked) => {
                let link = Link::dial(&master, Role::Driver, &asked.name).await.expect("the Master listens");
                spawn_local(drive(link, asked));
            }
        }
    }
}

fn id(number: u64) -> String {
    format!("worker-20261126084210-{}-7078", host(number))
}

fn host(number: u64) -> String {
    format!("node-{:04}", number + 1)
}

async fn work(link: Link, number: u64, cores: i64, memory: i64) {
    let Link { mut incoming, mut outgoing } = link;
    let resources = Resources::default();
    let offered = Offered { cores: Cores(cores), memory: MiB(memory * 1024), resources };
    let address = Address::new(host(number), 7078);
    let id = WorkerId::new(id(number));
    let worker = WorkerDescription::new(id.clone(), address, offered, "/var/lib/firesteel/work");
    outgoing.push(&WorkerToMaster::register(worker, Vec::new()));
    let mut beats = interval(Duration::from_secs(10));
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last_order = None;
    while outgoing.flush().await {
        tokio::select! {
            frame = incoming.next() => {
                let Some(body) = frame else { return };
                match wire::decode(&body).expect("the Master speaks the protocol") {
                    MasterToWorker::LaunchExecutor(launch) => {
                        last_order = Some(launch.executor.clone());
                        let report = ExecutorReport::new(launch.executor, ExecutorState::Running);
                        outgoing.push(&WorkerToMaster::ExecutorStateChanged(report));
                    }
                    MasterToWorker::KillExecutor { executor } => {
                        let report = ExecutorReport::new(executor, ExecutorState::Killed(None));
                        outgoing.push(&WorkerToMaster::ExecutorStateChanged(report));
                    }
                    _ => {}
                }
            }
            _ = beats.tick() => {
                outgoing.push(&WorkerToMaster::Heartbeat { worker: id.clone(), last_order: last_order.take() });
            }
        }
    }
}

async fn drive(link: Link, asked: Asked) {
    let Link { mut incoming, mut outgoing } = link;
    let ends = asked.ends;
    outgoing.push(&DriverToMaster::RegisterApplication(Box::new(description(asked))));
    outgoing.flush().await;
    while let Some(body) = incoming.next().await {
        let message: MasterToDriver = wire::decode(&body).expect("the Master speaks the protocol");
        if let (MasterToDriver::RegisteredApplication { app, .. }, Some(ends)) = (message, ends) {
            let outcome = match ends {
                Ends::Well => None,
                Ends::Failed => Some(Outcome::failed("3 of 2,000 items failed")),
            };
            outgoing.push(&DriverToMaster::UnregisterApplication { app, outcome });
            outgoing.flush().await;
        }
    }
}

/// The description with which this application registers.
pub fn description(asked: Asked) -> ApplicationDescription {
    let Asked { name, user, executors, each: (cores, memory), gang, ends: _ } = asked;
    let resources = ResourceAmounts::new();
    let profile = ResourceProfile { cores: Some(Cores(cores)), memory: Some(MiB(memory * 1024)), resources };
    let most = Cores(cores * i64::try_from(executors).expect("it is small"));
    let wanted = WantedExecutors {
        profile,
        max_cores: Some(most),
        limit: ExecutorLimit::Unlimited,
        ..WantedExecutors::default()
    };
    let placing = Placing { gang, ..Placing::default() };
    ApplicationDescription::new(Submitter::new(name, user), wanted, placing, Work::of(Command::of("true")))
}
