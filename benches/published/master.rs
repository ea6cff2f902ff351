//! A Master of Firesteel's as a policy of the experiment.

use std::collections::VecDeque;

use firesteel_master::{self as master, Config, Effect, Event, Inbound, Outbound};
use firesteel_placement::{Cores, ExecutorLimit, MiB, ResourceAmounts, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, PeerId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, DriverToMaster, ExecutorLaunch, ExecutorReport, ExecutorState, MasterToDriver,
    MasterToWorker, Offered, Placing, ResourceProfile, Submitter, WantedExecutors, Work, WorkerDescription,
    WorkerToMaster,
};
use firesteel_protocol::process::Command;
use firesteel_protocol::{Machine as _, Timestamp};

use firesteel_sim::replay::{DRIVERS, GPU, in_virtual_time};
use firesteel_sim::setup::Setup;
use firesteel_sim::trace::Models;

use crate::chooser::{Choice, Chooser};
use crate::cluster::{Cluster, Node};
use crate::request::Request;

/// The number of thousandths of a core that a Master takes for a core: it counts no more than 65,536 on a Worker.
const THOUSANDTHS: u64 = 2;

/// The real Master, which places each request as the only executor of an application. It has 500 cores for each core of
/// a node, so that requests need not be rounded, and a model of GPU is a kind of the resource `gpu`. The ids of its
/// Workers are in the order of the ranks.
pub(crate) struct Master {
    master: master::Master,
    /// Number of applications that have registered.
    drivers: u64,
    /// Number of Workers that it has.
    workers: usize,
    registered: Option<AppId>,
    launched: Option<Choice>,
}

impl Master {
    /// A Master with this set-up, and a Worker for each node.
    pub(crate) fn new(setup: &Setup, cluster: &Cluster, ranks: &[u32]) -> Self {
        let master = master::Master::new(in_virtual_time(setup.config(Config::default())));
        let mut this = Self { master, drivers: 0, workers: 0, registered: None, launched: None };
        for ((node, rank), peer) in cluster.nodes.iter().zip(ranks).zip(0..) {
            let message = WorkerToMaster::register(worker(cluster, node, *rank), Vec::new());
            this.hear(PeerId(peer), Inbound::Worker(message));
        }
        assert_eq!(this.workers, cluster.nodes.len(), "the Master takes every Worker");
        this
    }

    /// Gives the Master a message and what follows from it.
    fn hear(&mut self, peer: PeerId, message: Inbound) {
        let mut messages = VecDeque::from([(peer, message)]);
        while let Some((peer, message)) = messages.pop_front() {
            let arrived = Timestamp::default();
            for effect in self.master.apply(arrived, Event::Received { peer, arrived, message }) {
                let Effect::Send { peer, message } = effect else { continue };
                match message {
                    Outbound::Worker(MasterToWorker::LaunchExecutor(launch)) => {
                        self.launched = Some(choice(peer, &launch));
                        let report = ExecutorReport::new(launch.executor, ExecutorState::Running);
                        let message = WorkerToMaster::ExecutorStateChanged(report);
                        messages.push_back((peer, Inbound::Worker(message)));
                    }
                    Outbound::Worker(MasterToWorker::RegisteredWorker { .. }) => self.workers += 1,
                    Outbound::Driver(MasterToDriver::RegisteredApplication { app, .. }) => {
                        self.registered = Some(app);
                    }
                    Outbound::Worker(_) | Outbound::Driver(_) | Outbound::Client(_) => {}
                }
            }
        }
    }
}

impl Chooser for Master {
    fn choose(&mut self, cluster: &Cluster, _: &[u32], request: &Request) -> Option<Choice> {
        let driver = PeerId(DRIVERS + self.drivers);
        self.drivers += 1;
        self.launched = None;
        let application = Box::new(application(cluster, request));
        self.hear(driver, Inbound::Driver(DriverToMaster::RegisterApplication(application)));
        let app = self.registered.take().expect("the Master takes every application");
        if self.launched.is_none() {
            let message = DriverToMaster::UnregisterApplication { app, outcome: None };
            self.hear(driver, Inbound::Driver(message));
        }
        self.launched
    }
}

/// The node and the GPU of a launch.
fn choice(worker: PeerId, launch: &ExecutorLaunch) -> Choice {
    let mut addresses = launch.resources.iter().flat_map(|(_, addresses)| addresses);
    let gpu = addresses.next().map_or(0, |address| address.parse().expect("addresses are numbers"));
    Choice { node: usize::try_from(worker.0).expect("Workers are numbered from 0"), gpu }
}

fn worker(cluster: &Cluster, node: &Node, rank: u32) -> WorkerDescription {
    let mut resources = Resources::default();
    for (number, _) in node.gpus.iter().enumerate() {
        for model in cluster.models.of(node.model) {
            // Two digits, so that the order of the text is that of the numbers.
            resources.insert(format!("{GPU}:{model}"), format!("{number:02}"));
        }
    }
    WorkerDescription::new(
        WorkerId::new(format!("worker-{rank:07}")),
        Address::new(format!("node-{rank:07}"), 7078),
        Offered { cores: cores(node.cpu / THOUSANDTHS), memory: memory(node.memory), resources },
        "/work",
    )
}

fn application(cluster: &Cluster, request: &Request) -> ApplicationDescription {
    let models: Vec<&str> = match request.models {
        Models::ANY => Vec::new(),
        models => cluster.models.of(models).collect(),
    };
    let name = if models.is_empty() { GPU.to_owned() } else { format!("{GPU}:{}", models.join("|")) };
    let asked = Some((name, request.gpus)).filter(|(_, amount)| !amount.is_none());
    let resources: ResourceAmounts = asked.into_iter().collect();
    let profile = ResourceProfile {
        cores: Some(cores(request.cpu.div_ceil(THOUSANDTHS))),
        memory: Some(memory(request.memory)),
        resources,
    };
    ApplicationDescription::new(
        Submitter::new("request", "experiment"),
        WantedExecutors {
            max_cores: profile.cores,
            profile,
            limit: ExecutorLimit::AtMost(1),
            ..WantedExecutors::default()
        },
        Placing::default(),
        Work::of(Command::of("true")),
    )
}

fn cores(cores: u64) -> Cores {
    Cores(i64::try_from(cores).expect("a table has no such number"))
}

fn memory(mib: u64) -> MiB {
    MiB(i64::try_from(mib).expect("a table has no such number"))
}
