//! Cluster drivers, which an operator submits and Workers run.

use std::collections::BTreeMap;

use firesteel_placement::{Amount, Cores, MiB, ResourceAmounts};
use firesteel_protocol::ids::DriverId;
use firesteel_protocol::messages::{
    ClientToMaster, DriverDescription, DriverReport, DriverState, MasterToWorker, Requester, Rights,
    WorkerToMaster,
};
use firesteel_protocol::process::{Command, ExitStatus, Signal, StartFailure, StartStep};
use firesteel_worker::{self as worker, DriverPlan};

use super::node::{Body, NodeEvent};
use crate::cluster::faults::Fault;
use crate::cluster::faults::shortages::no_processes;
use crate::cluster::network::message::Message;
use crate::cluster::scheduled_event::ScheduledEvent;
use crate::cluster::world::{NodeIndex, World};
use firesteel_sim::dice::Dice;

/// How long a cluster driver may run after a request to end it, in milliseconds: its grace period and a reserve.
const ENDS_WITHIN: u64 = 60_000;

/// A cluster driver that is submitted.
#[derive(Clone, Debug)]
pub struct SubmissionPlan {
    /// When the driver is submitted, in milliseconds after the start.
    pub at: u64,
    /// The driver's size and custom resources, and whether it is supervised.
    pub description: DriverDescription,
    /// How long after the submission an operator requests the driver's end, in milliseconds. There may be several
    /// requests.
    pub killed_after: Vec<u64>,
}

impl SubmissionPlan {
    /// Random cluster drivers: up to six, in one of three clusters. If Workers have gpus, some of these drivers need
    /// one.
    pub(crate) fn rolled(dice: &mut Dice, gpus: bool) -> Vec<Self> {
        if !dice.one_in(3) {
            return Vec::new();
        }
        let count = dice.between(1, 6);
        (0..count).map(|_| Self::one(dice, gpus)).collect()
    }

    fn one(dice: &mut Dice, gpus: bool) -> Self {
        // Sometimes a driver that is refused.
        let cores = if dice.one_in(12) { 0 } else { dice.between(1, 3) };
        let memory = dice.between(1, 8) * 256;
        let resources = match memory {
            // More kinds of resources than are allowed.
            256 => (0..17).map(|number| (format!("resource{number}"), Amount::Whole(1))).collect(),
            768 | 1536 if gpus => [("gpu".to_owned(), Amount::Whole(1))].into(),
            _ => ResourceAmounts::new(),
        };
        let kills = if dice.one_in(3) { dice.between(1, 3) } else { 0 };
        Self {
            at: dice.below(40_000),
            description: DriverDescription {
                user: "an operator".to_owned(),
                command: Command::of("driver"),
                cores: Cores(i64::try_from(cores).expect("it is small")),
                memory: MiB(i64::try_from(memory).expect("it is small")),
                supervise: dice.one_in(2),
                resources,
            },
            killed_after: (0..kills).map(|_| dice.between(100, 60_000)).collect(),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct ClusterDrivers {
    running: BTreeMap<DriverId, Process>,
    /// For each cluster driver, the Worker that first started it, and whether it is supervised.
    known: BTreeMap<DriverId, Known>,
    starts: u64,
}

impl ClusterDrivers {
    /// Whether a process of a cluster driver runs on this Worker.
    pub(crate) fn runs_on(&self, driver: &DriverId, worker: NodeIndex) -> bool {
        self.running.get(driver).is_some_and(|process| process.worker == worker)
    }

    pub(crate) fn started_by(&self, driver: &DriverId) -> Option<NodeIndex> {
        self.known.get(driver)?.home
    }
}

#[derive(Debug)]
struct Process {
    worker: NodeIndex,
    /// The number of this process. Numbers are not reused.
    start: u64,
    is_up: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    supervised: bool,
    home: Option<NodeIndex>,
}

impl World {
    pub(crate) fn submit_driver(&mut self, plan: usize) {
        let Some(master) = self.master else { return };
        let description = Box::new(self.scenario.submissions[plan].description.clone());
        let question = ClientToMaster::RequestSubmitDriver(description);
        self.ask_master(master, question);
        for after in self.scenario.submissions[plan].killed_after.clone() {
            self.after(after, ScheduledEvent::KillDriver);
        }
    }

    /// An operator asks for the state of a cluster driver, then for its end. Some operators end all drivers, or clear
    /// the ended ones.
    pub(crate) fn kill_driver(&mut self) {
        let Some(master) = self.master else { return };
        let rights = if self.now.is_multiple_of(8) { Rights::Modify } else { Rights::Admin };
        let by = Requester::new("an operator", rights);
        let known: Vec<DriverId> = self.ledger.submitted().cloned().collect();
        let driver = match self.dice.index(known.len() + 1) {
            Some(index) if index < known.len() => known[index].clone(),
            _ => {
                let by = by.clone();
                self.ask_master(
                    master,
                    match known.is_empty() {
                        true => ClientToMaster::RequestClearCompletedDriversAndApps { by },
                        false => ClientToMaster::RequestKillAllDrivers { by },
                    },
                );
                DriverId::new("driver-of-nobody")
            }
        };
        self.ask_master(master, ClientToMaster::RequestDriverStatus { driver: driver.clone() });
        self.ask_master(master, ClientToMaster::RequestKillDriver { driver, by });
    }

    fn ask_master(&mut self, master: NodeIndex, question: ClientToMaster) {
        let operator = self.add_node(Body::Stranger);
        let peer = self.connect(operator, master);
        self.send(operator, peer, Message::ClientToMaster(question));
    }

    /// A Master gives a cluster driver to a Worker.
    pub(crate) fn see_driver_order(&mut self, message: &MasterToWorker) {
        if let MasterToWorker::LaunchDriver(launch) = message {
            let supervised = launch.description.supervise;
            self.cluster_drivers.known.entry(launch.driver.clone()).or_default().supervised = supervised;
        }
    }

    pub(crate) fn start_cluster_driver(&mut self, worker: NodeIndex, plan: DriverPlan) {
        let driver = plan.driver;
        let drivers = &mut self.cluster_drivers;
        let known = drivers.known.entry(driver.clone()).or_default();
        let (supervised, home) = (known.supervised, known.home.replace(worker));
        if drivers.running.contains_key(&driver) {
            return self.violate(format!("{driver} is started while a process of it runs"));
        }
        if home.is_some_and(|home| home != worker) {
            return self.violate(format!("{driver} is started on two Workers"));
        }
        if home.is_some() && !supervised || home.is_none() != plan.is_first {
            return self.violate(format!("{driver} is started again"));
        }
        drivers.starts += 1;
        let start = drivers.starts;
        drivers.running.insert(driver.clone(), Process { worker, start, is_up: false });
        let millis = self.dice.between(1, 300);
        self.after(millis, ScheduledEvent::ClusterDriverUp { driver, start });
    }

    fn cluster_driver(&mut self, driver: &DriverId, start: u64) -> Option<&mut Process> {
        self.cluster_drivers.running.get_mut(driver).filter(|process| process.start == start)
    }

    /// A cluster driver's process has started, or its start has failed.
    pub(crate) fn cluster_driver_up(&mut self, driver: DriverId, start: u64) {
        let cannot_start = self.is_rough() && self.dice.one_in(10);
        let Some(process) = self.cluster_driver(&driver, start) else { return };
        process.is_up = true;
        let worker = process.worker;
        if cannot_start {
            self.cluster_drivers.running.remove(&driver);
            let failure = StartFailure { step: StartStep::Lookup, error: "no such file".to_owned() };
            return self.tell(
                worker,
                NodeEvent::Worker(worker::Event::DriverFailed { driver, why: failure.into() }),
            );
        }
        if self.starts_nothing(worker) {
            self.fault(Fault::WorkerMeetsShortage);
            self.cluster_drivers.running.remove(&driver);
            let event = worker::Event::DriverFailed { driver, why: no_processes() };
            return self.tell(worker, NodeEvent::Worker(event));
        }
        let pid = u32::try_from(start).unwrap_or(u32::MAX);
        let (millis, status) = match self.is_rough() {
            false => (self.dice.between(10, 8_000), ExitStatus::SUCCESS),
            true => (self.dice.between(10, 30_000), self.rough_status()),
        };
        self.after(millis, ScheduledEvent::ClusterDriverEnd { driver: driver.clone(), start, status });
        self.tell(worker, NodeEvent::Worker(worker::Event::DriverStarted { driver, pid }));
    }

    fn rough_status(&mut self) -> ExitStatus {
        *self.dice.pick(&[
            ExitStatus::SUCCESS,
            ExitStatus::Code(1),
            ExitStatus::Code(1),
            ExitStatus::Signal(9),
        ])
    }

    /// A cluster driver's process ends. Its Worker learns of the end.
    pub(crate) fn cluster_driver_end(&mut self, driver: DriverId, start: u64, status: ExitStatus) {
        let Some(worker) = self.cluster_driver(&driver, start).map(|process| process.worker) else { return };
        self.cluster_drivers.running.remove(&driver);
        let millis = self.dice.below(20);
        let (id, last) = (driver.clone(), self.last_measurement(status));
        self.tell_worker(millis, worker, worker::Event::DriverMeasured { driver: id, last });
        self.tell_worker(millis, worker, worker::Event::DriverExited { driver, status });
    }

    pub(crate) fn signal_cluster_driver(&mut self, worker: NodeIndex, driver: DriverId, signal: Signal) {
        // The driver may have ended, which its Worker will learn in a moment.
        let Some(process) = self.cluster_drivers.running.get(&driver) else { return };
        let start = process.start;
        if process.worker != worker || !process.is_up {
            return self.violate(format!("a Worker signals {driver}, which it never started"));
        }
        let (millis, status) = match signal {
            Signal::Kill => (self.dice.between(1, 20), ExitStatus::Signal(9)),
            Signal::Terminate if self.dice.one_in(4) => return,
            Signal::Terminate if self.dice.one_in(4) => (self.dice.between(1, 3_000), ExitStatus::SUCCESS),
            Signal::Terminate => (self.dice.between(1, 3_000), ExitStatus::Signal(15)),
        };
        self.after(millis, ScheduledEvent::ClusterDriverEnd { driver, start, status });
    }

    pub(crate) fn end_cluster_drivers(&mut self, worker: NodeIndex) {
        self.cluster_drivers.running.retain(|_, process| process.worker != worker);
    }

    /// Checks a Worker's report on a cluster driver. A supervised driver is restarted each time that it fails.
    pub(crate) fn check_driver_report(&mut self, message: &WorkerToMaster) {
        let reports = match message {
            WorkerToMaster::DriverStateChanged(report) => std::slice::from_ref(report),
            WorkerToMaster::RegisterWorker { drivers, .. } => drivers,
            _ => return,
        };
        for DriverReport { driver, state, .. } in reports {
            self.coverage.driver_state.count(state);
            let known = self.cluster_drivers.known.get_mut(driver);
            let supervised = known.as_ref().is_some_and(|known| known.supervised);
            // The driver never ran: the Worker gave it back, or could not start it before it was told to end it. Any
            // Worker may start it.
            if matches!(state, DriverState::Submitted | DriverState::Killed(None))
                && let Some(known) = known
            {
                known.home = None;
            }
            match state {
                DriverState::Failed(_) if supervised => {
                    self.violate(format!("{driver} is supervised, and its Worker gives it up"));
                }
                state if state.is_finished() && self.cluster_drivers.running.contains_key(driver) => {
                    self.violate(format!("{driver} is said to have ended, and runs"));
                }
                _ => {}
            }
        }
    }

    /// Compares the tables of the Master and the Workers with the running processes of cluster drivers.
    pub(crate) fn audit_cluster_drivers(&mut self) {
        let wrong = self.wrong_worker_driver().or_else(|| self.wrong_master_driver());
        if let Some(sentence) = wrong {
            self.violate(sentence);
        }
    }

    /// Describes a cluster driver that was never started, although its Worker counts it as running.
    fn wrong_worker_driver(&self) -> Option<String> {
        self.living_workers().into_iter().find_map(|node| {
            let Body::Worker(body) = &self.node(node).body else { return None };
            let view = body.machine.view();
            let lost = view.drivers.into_iter().find(|driver| {
                let is_announced = self.pending().any(|scheduled_event| {
                    matches!(scheduled_event,
                    ScheduledEvent::Tell { event: NodeEvent::Worker(
                        worker::Event::DriverExited { driver: told, .. }
                        | worker::Event::DriverFailed { driver: told, .. }), .. } if *told == driver.driver)
                });
                driver.starts == 0
                    && !self.cluster_drivers.running.contains_key(&driver.driver)
                    && !is_announced
            })?;
            Some(format!("{} counts on {}, which was never started", body.id, lost.driver))
        })
    }

    /// Describes a cluster driver of the Master that the driver's Worker does not have, or that should have ended long
    /// ago.
    fn wrong_master_driver(&self) -> Option<String> {
        if !self.is_settled() {
            return None;
        }
        self.ledger.placed_drivers().find_map(|(driver, worker, asked)| {
            let node = self
                .living_workers()
                .into_iter()
                .find(|node| matches!(&self.node(*node).body, Body::Worker(body) if body.id == *worker))?;
            let Body::Worker(body) = &self.node(node).body else { return None };
            if asked.is_some_and(|at| self.now > at + ENDS_WITHIN) {
                return Some(format!("{driver} was to end, and runs on"));
            }
            let is_there = body.machine.view().drivers.iter().any(|row| row.driver == *driver);
            let is_pending = self.pending().any(|scheduled_event| match scheduled_event {
                ScheduledEvent::Deliver {
                    message: Message::MasterToWorker(MasterToWorker::LaunchDriver(launch)),
                    ..
                } => launch.driver == *driver,
                ScheduledEvent::Deliver {
                    message: Message::WorkerToMaster(WorkerToMaster::DriverStateChanged(report)),
                    ..
                } => report.driver == *driver,
                _ => false,
            });
            (!is_there && !is_pending)
                .then(|| format!("the Master counts on {driver}, which its Worker does not have"))
        })
    }

    /// The first process of a cluster driver that runs.
    pub(crate) fn some_cluster_driver(&self) -> Option<DriverId> {
        self.cluster_drivers.running.keys().next().cloned()
    }
}
