//! The laws after the faults: everything must recover by itself, within a limited time.

use firesteel_engine::driver;
use firesteel_engine::driver::{Allocation, Question, Replacement};
use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::{ExecutorId, ExecutorKey, ProfileId};
use firesteel_protocol::messages::{ResourceProfile, WorkerToMaster};
use firesteel_worker as worker;

use crate::cluster::network::message::Message;
use crate::cluster::processes::node::{Body, NodeEvent};
use crate::cluster::processes::programs::ProcessPhase;
use crate::cluster::scenario::AppPlan;
use crate::cluster::scheduled_event::{KillReason, ScheduledEvent};
use crate::cluster::world::{DriverPhase, NodeIndex, World};

/// How long after the last fault everything is settled, in milliseconds: both sides know every cut connection, every
/// Worker is back, and every timeout has passed.
pub(crate) const SETTLED_AFTER: u64 = 240_000;
/// How long after the last fault all applications must have ended, in milliseconds.
pub(crate) const HEALED_AFTER: u64 = 3_600_000;
/// How long after the last application's end no trace of an application may be left, in milliseconds.
pub(crate) const CLEAN_AFTER: u64 = 240_000;
/// The time between two audits, in milliseconds.
const AUDIT_EVERY: u64 = 60_000;
/// An executor that was launched or ended within this time, in milliseconds, may be known to one side only.
const RECENT: u64 = 30_000;

impl World {
    pub(crate) fn calm_down(&mut self) {
        self.is_calm = true;
        self.remark("from now on nothing goes wrong any more".to_owned());
        self.after(SETTLED_AFTER, ScheduledEvent::Mend);
        self.after(SETTLED_AFTER, ScheduledEvent::Audit);
    }

    /// Helps applications that could never end, to free their resources for others. An application whose own limits
    /// leave it without executors requests some. An application that needs more than any Worker has is cancelled. Every
    /// task that never ends is cancelled, too.
    pub(crate) fn mend(&mut self) {
        self.after(AUDIT_EVERY, ScheduledEvent::Mend);
        self.mend_launchers();
        for node in self.living_drivers() {
            let Some(app) = self.driver_mut(node).map(|body| body.app) else { continue };
            if !self.fits_somewhere(&self.scenario.apps[app]) {
                self.cancel_driver(node);
                continue;
            }
            self.ask(node, Question::Explain);
            self.cancel_hanging_tasks(node, app);
            match self.scenario.apps[app].allocation {
                Allocation::Fixed => self.turn_to_a_profile(node, app),
                // Dynamic allocation itself requests what its tasks need.
                Allocation::Dynamic(_) => {}
            }
        }
    }

    /// Gives all the application's cores to one random profile for a time. In a fixed order, two applications might
    /// alternate forever if only one Worker fits both: one of the two would always hold all its cores.
    fn turn_to_a_profile(&mut self, node: NodeIndex, app: usize) {
        let own: Vec<ProfileId> = self.scenario.apps[app].all_profiles().map(|(id, _)| id).collect();
        let Some(turn) = self.dice.index(own.len()).map(|index| own[index]) else { return };
        let Some(body) = self.driver_mut(node) else { return };
        let view = body.machine.view();
        let others: Vec<_> = view.executors.iter().filter(|executor| executor.profile != turn).collect();
        let executors: Vec<ExecutorId> = others.iter().map(|executor| executor.id).collect();
        let targets = view.targets.iter().map(|(profile, _)| *profile);
        // A thousand tasks should not wait for four executors.
        let enough = 4.max(self.scenario.apps[app].tasks.len() as u64 / 25);
        for profile in targets {
            let total = if profile == turn { enough } else { 0 };
            self.tell(node, NodeEvent::Driver(driver::Event::RequestExecutors { profile, total }));
        }
        if !executors.is_empty() {
            let replacement = Replacement::Unwanted;
            let event = driver::Event::KillExecutors { executors, replacement };
            self.tell(node, NodeEvent::Driver(event));
        }
    }

    pub(crate) fn fits_somewhere(&self, plan: &AppPlan) -> bool {
        let default = &plan.description.profile;
        plan.all_profiles().all(|(id, profile)| {
            let cores = profile.cores.or(default.cores).unwrap_or(Cores(1));
            let memory = profile.memory.or(default.memory).unwrap_or(MiB(1024));
            let allowed = plan.description.max_cores.is_none_or(|max| max >= cores);
            let fits = self.scenario.workers.iter().any(|worker| {
                worker.cores >= cores
                    && worker.memory >= memory
                    && worker.resources.covers(&profile.resources)
            });
            let served = plan.tasks.iter().all(|task| task.profile != id || task.cores <= cores);
            allowed && fits && served && self.gang_fits(plan, cores, memory, profile)
        })
    }

    /// Whether the executors that the application starts with fit on all machines together.
    fn gang_fits(&self, plan: &AppPlan, cores: Cores, memory: MiB, profile: &ResourceProfile) -> bool {
        let room = self.scenario.workers.iter().map(|worker| {
            let by_resource =
                profile.resources.iter().filter_map(|(name, each)| worker.resources.fit(name, *each));
            let by_resources = by_resource.min().unwrap_or(u64::MAX);
            let by_memory = worker.memory.0.checked_div(memory.0).unwrap_or(i64::MAX);
            let both = (worker.cores.0 / cores.0).min(by_memory);
            by_resources.min(u64::try_from(both).unwrap_or(0))
        });
        let most =
            plan.description.max_cores.map_or(u64::MAX, |max| u64::try_from(max.0 / cores.0).unwrap_or(0));
        room.sum::<u64>() >= plan.description.gang.min(most)
    }

    /// Compares the Master's tables with the running processes.
    pub(crate) fn audit(&mut self) {
        if self.master_disk.is_busy() {
            // The books will soon contain the Master's latest decisions.
            return self.after(50, ScheduledEvent::Audit);
        }
        self.after(AUDIT_EVERY, ScheduledEvent::Audit);
        self.compare_tables();
        self.check_questions();
        self.audit_cluster_drivers();
        let believed: Vec<ExecutorKey> = self.ledger.executors().map(|(key, _)| key.clone()).collect();
        for key in believed {
            // An executor that was just launched may still be in transit.
            let is_real = self.processes.contains_key(&key)
                || self.launch_is_pending(&key)
                || self.fetch_is_pending(&key.app);
            if !is_real && !self.end_is_recent(&key) {
                self.violate(format!("the Master counts on executor {key}, of which no process is left"));
            }
        }
        let now = self.now;
        let unknown = self.living_processes().into_iter().find_map(|node| {
            let process = self.process(node)?;
            let ProcessPhase::Running { since } = process.phase else { return None };
            let is_old = now - since > RECENT && !self.ledger.holds(&process.key);
            // An executor that was taken back may not have got the order yet, or may still be ending.
            let is_ending = process.asked_at.is_some() || self.kill_is_pending(&process.key);
            (is_old && !is_ending && !self.app_ended_recently(process.app)).then(|| process.key.clone())
        });
        if let Some(key) = unknown {
            self.violate(format!("executor {key} runs, and the Master does not know it"));
        }
    }

    /// Checks that an executor's process has ended.
    pub(crate) fn check_kill(&mut self, node: NodeIndex, kill_reason: KillReason) {
        if self.node(node).body.is_alive() {
            let name = self.node(node).body.name();
            self.violate(match kill_reason {
                KillReason::Orphaned => format!("{name} outlived its Worker"),
                KillReason::Ordered => format!("{name} lives on though its Worker was told to end it"),
            });
        }
    }

    /// Whether a message about this executor is in transit.
    fn launch_is_pending(&self, key: &ExecutorKey) -> bool {
        self.pending().any(|scheduled_event| match scheduled_event {
            ScheduledEvent::Deliver { message: Message::MasterToWorker(message), .. } => {
                matches!(message, firesteel_protocol::messages::MasterToWorker::LaunchExecutor(launch)
                    if launch.executor == *key)
            }
            _ => false,
        })
    }

    fn kill_is_pending(&self, key: &ExecutorKey) -> bool {
        self.pending().any(|scheduled_event| match scheduled_event {
            ScheduledEvent::Deliver { message: Message::MasterToWorker(message), .. } => {
                matches!(message, firesteel_protocol::messages::MasterToWorker::KillExecutor { executor }
                    if executor == key)
            }
            _ => false,
        })
    }

    fn end_is_recent(&self, key: &ExecutorKey) -> bool {
        self.pending().any(|scheduled_event| match scheduled_event {
            ScheduledEvent::Deliver { message: Message::WorkerToMaster(message), .. } => match message {
                WorkerToMaster::ExecutorStateChanged(report) => report.executor == *key,
                WorkerToMaster::RegisterWorker { .. }
                | WorkerToMaster::Heartbeat { .. }
                | WorkerToMaster::StartsChecked { .. }
                | WorkerToMaster::WorkerLatestState { .. }
                | WorkerToMaster::DriverStateChanged(_)
                | WorkerToMaster::WorkerReported(_)
                | WorkerToMaster::DriverRestarted { .. }
                | WorkerToMaster::WorkerDecommissioning { .. } => false,
            },
            ScheduledEvent::Tell { event: NodeEvent::Worker(event), .. } => matches!(event,
                firesteel_worker::Event::RunnerExited { executor, .. } if executor == key),
            _ => false,
        })
    }

    fn app_ended_recently(&self, app: usize) -> bool {
        match self.drivers[app] {
            DriverPhase::Awaited | DriverPhase::Lives(_) => false,
            DriverPhase::Over { at } => self.now - at < RECENT,
        }
    }

    /// The time when the last driver ended, if all drivers have ended.
    pub(crate) fn all_over_since(&self) -> Option<u64> {
        self.drivers.iter().try_fold(0, |latest: u64, phase| match phase {
            DriverPhase::Awaited | DriverPhase::Lives(_) => None,
            DriverPhase::Over { at } => Some(latest.max(*at)),
        })
    }

    /// The first driver that is still alive, for the failure's text.
    pub(crate) fn first_living_driver(&self) -> Option<(usize, NodeIndex)> {
        self.drivers.iter().enumerate().find_map(|(app, phase)| match phase {
            DriverPhase::Lives(node) => Some((app, *node)),
            DriverPhase::Awaited | DriverPhase::Over { .. } => None,
        })
    }

    /// Checks the end: no resource is used, no process runs, and no message is in transit.
    pub(crate) fn check_end(&mut self) {
        self.compare_tables();
        let app = self.ledger.apps().next().cloned();
        if let Some(app) = app {
            return self.violate(format!("application {app} is live at the Master, and its driver is gone"));
        }
        let held = self.ledger.executors().next().map(|(key, worker)| (key.clone(), worker.clone()));
        if let Some((key, worker)) = held {
            return self.violate(format!("executor {key} still holds a share of {worker}"));
        }
        if let Some(key) = self.processes.keys().next().cloned() {
            return self.violate(format!("the process of executor {key} still lives"));
        }
        if let Some(driver) = self.some_cluster_driver() {
            return self.violate(format!("{driver} still runs"));
        }
        for plan in 0..self.workers.len() {
            let Some(node) = self.workers[plan] else {
                return self.violate(format!("the Worker of host{plan} is not back"));
            };
            let Body::Worker(body) = &self.node(node).body else { continue };
            if !self.ledger.workers().any(|id| *id == body.id) {
                let id = body.id.clone();
                return self.violate(format!("{id} is not registered"));
            }
            if let Some(executor) = body.machine.view().executors.first() {
                let (id, key) = (body.id.clone(), executor.executor.clone());
                return self.violate(format!("{id} still counts on executor {key}"));
            }
        }
        if let Some((worker, app)) = self.fetches.any() {
            let name = self.node(worker).body.name();
            return self.violate(format!("{name} still keeps the files of {app}"));
        }
        let left = self.pending().find_map(|scheduled_event| self.left_over(scheduled_event));
        if let Some(left) = left {
            self.violate(format!("all is over, and this is still to come: {left}"));
        }
    }

    /// Describes an event that should not be in the queue after the end. Only heartbeats, alarms, audits, a Master's
    /// turn and the Workers' searches for directories may be there.
    fn left_over(&self, scheduled_event: &ScheduledEvent) -> Option<String> {
        let is_for_the_living = match scheduled_event {
            ScheduledEvent::Wake { .. }
            | ScheduledEvent::Probe { .. }
            | ScheduledEvent::MasterTurn { .. }
            | ScheduledEvent::Mend
            | ScheduledEvent::Audit => false,
            ScheduledEvent::Deliver {
                message:
                    Message::WorkerToMaster(
                        WorkerToMaster::Heartbeat { .. }
                        | WorkerToMaster::WorkerReported(_)
                        | WorkerToMaster::DriverRestarted { .. },
                    ),
                ..
            } => false,
            ScheduledEvent::Tell {
                event:
                    NodeEvent::Worker(
                        worker::Event::StaleFound { .. }
                        | worker::Event::StartTried(_)
                        | worker::Event::Measured(_)
                        | worker::Event::DirectoryLeft { .. }
                        | worker::Event::EarlierFound { .. },
                    ),
                ..
            } => false,
            ScheduledEvent::ExecutorEnd { node, .. }
            | ScheduledEvent::Synced { node }
            | ScheduledEvent::KillCheck { node, .. }
            | ScheduledEvent::ExecutorUp { node }
            | ScheduledEvent::FetchEnd { node, .. }
            | ScheduledEvent::GoOn { node }
            | ScheduledEvent::EndLease { node, .. }
            | ScheduledEvent::EndFormer { node }
            | ScheduledEvent::Greet { node, .. }
            | ScheduledEvent::IdleCheck { node, .. }
            | ScheduledEvent::TaskUp { node, .. }
            | ScheduledEvent::TaskStep { node, .. }
            | ScheduledEvent::Submit { node, .. }
            | ScheduledEvent::Speak { node, .. }
            | ScheduledEvent::Dial { node, .. }
            | ScheduledEvent::Tell { node, .. } => self.node(*node).body.is_alive(),
            // A signal has ended it before.
            ScheduledEvent::ClusterDriverEnd { .. } | ScheduledEvent::ClusterDriverUp { .. } => false,
            ScheduledEvent::Cut { link } => self.links[link.0].is_open(),
            ScheduledEvent::Hangup { link, side } => self.links[link.0].end(*side).open,
            ScheduledEvent::Deliver { link, side, .. } => self.links[link.0].receives(*side),
            ScheduledEvent::StartMaster { .. }
            | ScheduledEvent::StandBy { .. }
            | ScheduledEvent::Follow { .. }
            | ScheduledEvent::Depose(_)
            | ScheduledEvent::StartWorker { .. }
            | ScheduledEvent::StartDriver { .. }
            | ScheduledEvent::SubmitDriver { .. }
            | ScheduledEvent::KillDriver
            | ScheduledEvent::Part(_)
            | ScheduledEvent::Stall(_)
            | ScheduledEvent::Depart(_)
            | ScheduledEvent::Strike
            | ScheduledEvent::Calm => true,
        };
        is_for_the_living.then(|| format!("{scheduled_event:?}"))
    }
}
