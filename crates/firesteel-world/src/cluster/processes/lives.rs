//! The starts and ends of Masters, Workers and drivers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use firesteel_engine::driver::{self, Driver};
use firesteel_engine::executor::{self};
use firesteel_master::{self as master, Durability, Master, UnknownExecutors};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{TaskId, WorkerId};
use firesteel_protocol::messages::{Offered, PageSize, WorkerDescription};
use firesteel_protocol::process::ExitStatus;
use firesteel_worker::{self as worker, Worker};

use super::node::{Body, DriverBody, NodeEvent, WorkerBody};
use super::task_lives::FATAL;
use super::users::outcome_of;
use crate::cluster::faults::absences::AWAY;
use crate::cluster::faults::busy_master::MasterInbox;
use crate::cluster::faults::disks;
use crate::cluster::faults::election::listener_address;
use crate::cluster::laws::entrance::{PLAUSIBLE, secret_of, token_of};
use crate::cluster::laws::headcount::ExecutorRequests;
use crate::cluster::laws::ledger::Ledger;
use crate::cluster::network::ProcessEnd;
use crate::cluster::sabotage::Sabotage;
use crate::cluster::scenario::AppKind;
use crate::cluster::scheduled_event::{KillReason, ScheduledEvent};
use crate::cluster::world::{DriverPhase, NodeIndex, World};

/// The grace period of a process between the request to end and SIGKILL.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(10);
/// How long an executor's process may live after its Worker's death, in milliseconds. The process has its grace period,
/// then the Worker's cleanup process kills it.
const ORPHAN_LIMIT: u64 = 15_000;

/// How many unfinished tasks the driver's owner submits: more than all cores of a small cluster.
const MOST_OPEN: u64 = 200;

impl World {
    /// A Master begins to lead at this listener, unless another Master leads.
    pub(crate) fn start_master(&mut self, listener: usize) {
        if self.master.is_some() {
            return;
        }
        self.take_listener(listener);
        let preemption = match &self.saboteur {
            Some(saboteur) => saboteur.preemption(self.scenario.preemption),
            None => self.scenario.preemption,
        };
        let gang_preemption = self.scenario.gang_preemption;
        let gang_preemption =
            self.saboteur.as_ref().map_or(gang_preemption, |it| it.gang_preemption(gang_preemption));
        let exclusion = master::Config::default().exclusion;
        let exclusion = self.saboteur.as_ref().map_or(exclusion, |saboteur| saboteur.exclusion(exclusion));
        let away_timeout = Duration::from_millis(AWAY);
        let away_timeout = self.saboteur.as_ref().map_or(away_timeout, |it| it.away_timeout(away_timeout));
        let budget = self.scenario.budget;
        let kept = self.saboteur.as_ref().map_or(budget, |saboteur| saboteur.budget(budget));
        let mut per_user = master::PerUser::default();
        if let Some(cores) = self.scenario.user_cores {
            per_user.cores = self.saboteur.as_ref().map_or(cores, |saboteur| saboteur.user_cores(cores));
        }
        let config = master::Config {
            preemption,
            gang_preemption,
            reservations: self.scenario.reservations,
            exclusion,
            url: listener_address(listener).url(),
            strategy: self.scenario.strategy,
            worker_order: self.scenario.order,
            rule: self.scenario.rule.clone(),
            queues: self.scenario.queues.clone(),
            backfill: self.scenario.backfill,
            order: self.scenario.serving,
            driver_strategy: self.scenario.driver_strategy,
            max_drivers: self.scenario.max_drivers,
            // The same value as in the daemon: a Master may replace another Master within the same second.
            first_application: self.timestamp().millis() % 1000 * 10,
            page: self.page(),
            limits: master::Limits { cores: PLAUSIBLE, kept, per_user, ..master::Limits::default() },
            resource_shares: master::ResourceShares::Allowed,
            web_address: self.scenario.is_measured().then(|| "http://master:8080/".to_owned()),
            away_timeout,
            ..master::Config::default()
        };
        self.master_inbox = MasterInbox::default();
        self.unheard.clear();
        let master = match self.scenario.is_durable {
            true => self.recovered_master(master::Config { durability: Durability::Durable, ..config }),
            false => {
                self.ledger = Ledger::default();
                Some(self.new_master(config))
            }
        };
        let Some(master) = master else { return };
        let node = self.add_node(Body::Master(Box::new(master)));
        self.begin_term(listener, node);
        self.write_late();
        self.compare_tables();
        self.set_alarm(node);
    }

    /// A Master with empty tables. In half of the clusters it tolerates unknown executors for some time.
    fn new_master(&mut self, config: master::Config) -> Master {
        let holds = self.scenario.holds_foreign && !self.is_sabotaged_by(Sabotage::EndForeign);
        let foreign = if holds { UnknownExecutors::Held } else { UnknownExecutors::Ended };
        let config = master::Config { foreign, ..config };
        self.master_began = self.timestamp();
        Master::recover(config, self.timestamp(), []).expect("no record contradicts another one")
    }

    /// The size of pages of the Master's state, often much smaller than a real Master's.
    fn page(&self) -> PageSize {
        let rows = [2, 5, PageSize::default().rows];
        let chosen = usize::try_from(self.timestamp().millis() % 3).expect("it is small");
        PageSize { rows: rows[chosen], ..PageSize::default() }
    }

    pub(crate) fn crash_master(&mut self) {
        let Some(node) = self.master.take() else { return };
        match self.scenario.is_durable {
            true => self.lose_held(),
            false => self.ledger = Ledger::default(),
        }
        self.end_process(node, ProcessEnd::Abruptly);
        let (pause, listener) = self.succession();
        self.after(pause, ScheduledEvent::StartMaster { listener });
        self.leave_listener(node);
    }

    pub(crate) fn start_worker(&mut self, plan: usize) {
        if self.workers[plan].is_some() {
            return;
        }
        let host = format!("host{plan}");
        let id = WorkerId::new(format!("worker-{}-{host}-7078", self.timestamp().compact()));
        let machine = &self.scenario.workers[plan];
        let measures = self.scenario.is_measured() && plan == 5;
        let config = worker::Config {
            description: WorkerDescription::new(
                id.clone(),
                Address::new(host, 7078),
                Offered {
                    cores: machine.cores,
                    memory: machine.memory,
                    resources: machine.resources.clone(),
                },
                format!("/work{plan}"),
            )
            .with_token(token_of(&id)),
            masters: self.master_addresses(),
            max_registration_retries: u32::try_from(self.dice.between(2, 16)).expect("it is small"),
            kill_grace: KILL_GRACE,
            driver_kill_grace: KILL_GRACE,
            // Most Workers do not do this, since it would wake them often.
            try_pause: self.scenario.may_start_nothing().then_some(Duration::from_secs(20)),
            max_disk_percent: 95,
            // In few clusters, one Worker measures usage, and ends what uses too much.
            usage_pause: measures.then_some(Duration::from_secs(20)),
            limits: if measures { disks::LIMITS } else { worker::Limits::default() },
            web_address: measures.then(|| format!("http://host{plan}:8081/")),
            cleanup: Some(worker::Cleanup {
                interval: Duration::from_millis(self.dice.between(1_000, 60_000)),
                keep: Duration::from_secs(60),
                max_executors: 3,
                max_bytes: 1_000,
            }),
            retained_executors: 1_000,
            seed: self.dice.number(),
        };
        let body =
            WorkerBody { machine: Worker::new(config), id, plan, readings: BTreeMap::new(), gone_by: None };
        let node = self.add_node(Body::Worker(Box::new(body)));
        self.workers[plan] = Some(node);
        self.tell(node, NodeEvent::Worker(worker::Event::Start));
        self.tell(node, NodeEvent::Worker(World::earlier_directories()));
    }

    /// Ends a Worker, orderly or not. Later checks that its executors have ended, too. Then the Worker starts again.
    pub(crate) fn end_worker(&mut self, node: NodeIndex, end: ProcessEnd) {
        let Body::Worker(body) = &self.node(node).body else { return };
        let plan = body.plan;
        self.workers[plan] = None;
        self.fetches.forget(node);
        self.end_process(node, end);
        self.end_cluster_drivers(node);
        let orphans: Vec<NodeIndex> = self.living_processes().into_iter().collect();
        for process in orphans {
            if self.process(process).is_none_or(|process| process.worker != node) {
                continue;
            }
            let at_once = self.dice.one_in(2);
            let delay = self.dice.between(1, 400);
            if !at_once {
                let scheduled_event = match self.node(process).body {
                    Body::Command(_) => {
                        ScheduledEvent::ExecutorEnd { node: process, status: ExitStatus::Signal(15) }
                    }
                    _ => ScheduledEvent::Tell {
                        node: process,
                        event: NodeEvent::Executor(executor::Event::Shutdown),
                    },
                };
                self.after(delay, scheduled_event);
            }
            let killed = if at_once { delay } else { ORPHAN_LIMIT - 1_000 };
            self.after(killed, ScheduledEvent::ExecutorEnd { node: process, status: ExitStatus::Signal(9) });
            self.after(
                ORPHAN_LIMIT,
                ScheduledEvent::KillCheck { node: process, kill_reason: KillReason::Orphaned },
            );
        }
        let pause = self.dice.between(1_001, 15_000);
        self.after(pause, ScheduledEvent::StartWorker { plan });
    }

    pub(crate) fn start_driver(&mut self, app: usize) {
        let plan = &self.scenario.apps[app];
        if let AppKind::Launcher(until) = plan.kind {
            return self.start_launcher(app, until);
        }
        let config = driver::Config {
            masters: self.master_addresses(),
            description: plan.description.clone(),
            secret: secret_of(app as u64),
            max_task_failures: plan.max_task_failures,
            fatal_exit_codes: driver::ExitCodes::from_iter([FATAL]),
            allocation: plan.allocation,
            output_credit: plan.output_credit,
            registration_timeout: Duration::from_secs(60),
            starvation_timeout: Duration::from_secs(15),
            loss_delay: Duration::from_secs(5),
            away_timeout: match &self.saboteur {
                Some(saboteur) if saboteur.is(Sabotage::GiveUpAway) => Duration::ZERO,
                Some(_) | None => plan.away_timeout,
            },
            executor_timeout: Duration::from_secs(30),
            heartbeats: driver::Heartbeats {
                interval: Duration::from_secs(10),
                timeout: Duration::from_secs(40),
                max_failures: 4,
            },
            topology: plan.locality.topology.clone(),
            exclusion: plan.locality.exclusion,
            locality_wait: self
                .saboteur
                .as_ref()
                .map_or(plan.locality.wait(), |saboteur| saboteur.locality_wait(plan.locality.wait())),
            seed: self.dice.number(),
        };
        let machine = Driver::new(config);
        let body = DriverBody {
            machine,
            app,
            tasks: Default::default(),
            questions: Default::default(),
            waiting: Default::default(),
            registration: None,
            headcount: ExecutorRequests::default(),
            newcomers: Default::default(),
            entrance: Default::default(),
        };
        let node = self.add_node(Body::Driver(Box::new(body)));
        self.drivers[app] = DriverPhase::Lives(node);
        self.tell(node, NodeEvent::Driver(driver::Event::Start));
        for (profile, needs) in self.scenario.apps[app].profiles.clone() {
            let total = self.dice.below(3);
            self.tell(node, NodeEvent::Driver(driver::Event::AddProfile { profile, needs, total }));
        }
        self.at(self.now, ScheduledEvent::Submit { node, task: 0 });
    }

    /// The driver's owner submits tasks while few tasks are unfinished.
    pub(crate) fn submit(&mut self, node: NodeIndex, task: usize) {
        let Some(body) = self.driver_mut(node) else { return };
        let (app, open) = (body.app, body.tasks.open());
        let plan = &self.scenario.apps[app];
        if task >= plan.tasks.len() {
            let outcome = outcome_of(app);
            return self.tell(node, NodeEvent::Driver(driver::Event::Finish { outcome }));
        }
        let pause = if self.dice.one_in(20) { self.dice.between(1, 5_000) } else { self.dice.below(3) };
        if open >= MOST_OPEN {
            return self.after(pause + 50, ScheduledEvent::Submit { node, task });
        }
        let request = self.scenario.apps[app].tasks[task].request(app, task);
        let (now, id) = (self.now, task as u64);
        let locality = Arc::clone(&self.scenario.apps[app].locality);
        if let Some(body) = self.driver_mut(node) {
            body.tasks.submit();
            body.waiting.add(&locality, request.profile, id, now);
        }
        let request = driver::TaskRequest { preferred_hosts: locality.hosts_of(id), ..request };
        let id = TaskId(id);
        let event = driver::Event::Submit { task: id, request };
        self.tell(node, NodeEvent::Driver(event));
        if let Some(millis) = self.scenario.apps[app].tasks[task].given_up_after {
            self.tell_driver(millis, node, driver::Event::CancelTask { task: id });
        }
        if self.dice.one_in(50) {
            let question = *self.dice.pick(&[driver::Question::Look, driver::Question::Explain]);
            self.ask(node, question);
        }
        self.after(pause, ScheduledEvent::Submit { node, task: task + 1 });
    }

    pub(crate) fn end_driver(&mut self, node: NodeIndex, end: ProcessEnd) {
        let Some(body) = self.driver_mut(node) else { return };
        let app = body.app;
        self.drivers[app] = DriverPhase::Over { at: self.now };
        self.end_process(node, end);
    }
}
