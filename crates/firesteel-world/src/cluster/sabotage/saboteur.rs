//! The saboteur changes a machine's events and effects as if the machine had a bug.
//!
//! `master`, `worker` and `driver` change the effects of these machines.

mod driver;
mod master;
mod worker;

use std::time::Duration;

use firesteel_engine::driver::LocalityWait;
use firesteel_engine::{driver as core_driver, executor, launcher};
use firesteel_master as core_master;
use firesteel_master::Exclusion;
use firesteel_placement::Cores;
use firesteel_protocol::Leadership;
use firesteel_protocol::ids::{ExecutorId, PeerId, ProfileId};
use firesteel_protocol::messages::{
    ApplicationDescription, ClientToMaster, DriverToMaster, ExecutorReport, ExecutorState, ExecutorToDriver,
    MasterToDriver, MasterToWorker, Rights, TaskEnd, TaskState, WorkerDescription, WorkerToMaster,
};
use firesteel_protocol::scheduling::run_time::RUN_TIME;
use firesteel_protocol::scheduling::{GangPreemption, Preemption};
use firesteel_protocol::time::Timestamp;
use firesteel_worker as core_worker;

use super::Sabotage;
use crate::cluster::laws::entrance::{PLAUSIBLE, corrected, token_of};
use crate::cluster::laws::ledger::Ledger;
use crate::cluster::processes::node::{NodeEffects, NodeEvent};
use firesteel_sim::dice::Dice;

/// Applies a bug to the events and effects of machines.
#[derive(Clone, Debug)]
pub(crate) struct Saboteur {
    sabotage: Sabotage,
}

/// How the saboteur treats an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    Dropped,
    Doubled,
}

impl Saboteur {
    pub(crate) fn new(sabotage: Sabotage) -> Self {
        Self { sabotage }
    }

    pub(crate) fn is(&self, sabotage: Sabotage) -> bool {
        self.sabotage == sabotage
    }

    /// The waiting times for locality of a driver with this bug.
    pub(crate) fn locality_wait(&self, wait: LocalityWait) -> LocalityWait {
        match self.sabotage {
            Sabotage::Impatient => LocalityWait { node: Duration::ZERO, rack: Duration::ZERO },
            _ => wait,
        }
    }

    /// The preemption limits of a Master with this bug.
    pub(crate) fn preemption(&self, preemption: Preemption) -> Preemption {
        match (self.sabotage, preemption) {
            (Sabotage::PreemptTooMany, Preemption::AtMost { executors, every }) => {
                Preemption::AtMost { executors: executors + 20, every }
            }
            // If the wrong executor is preempted, another law breaks first.
            (
                Sabotage::StealReserved
                | Sabotage::LendToAll
                | Sabotage::ForgetQueue
                | Sabotage::ForgetPriority,
                _,
            ) => Preemption::Off,
            (_, preemption) => preemption,
        }
    }

    /// The preemption for gangs by a Master with this bug.
    pub(crate) fn gang_preemption(&self, gang_preemption: Option<GangPreemption>) -> Option<GangPreemption> {
        match self.sabotage {
            Sabotage::PreemptForAnyGang => {
                Some(GangPreemption { patience: Duration::ZERO, reach: Duration::from_secs(86_400) })
            }
            _ => gang_preemption,
        }
    }

    /// How long a Master with this bug waits for Workers and drivers that are away.
    pub(crate) fn away_timeout(&self, timeout: Duration) -> Duration {
        match self.sabotage {
            Sabotage::LoseAway => timeout / 10,
            Sabotage::AwaitForLong => timeout * 10,
            _ => timeout,
        }
    }

    /// How much a Master with this bug keeps, in bytes.
    pub(crate) fn budget(&self, budget: u64) -> u64 {
        match self.sabotage {
            Sabotage::KeepTooMuch => budget.saturating_mul(2),
            Sabotage::RefuseEarly => budget / 2,
            _ => budget,
        }
    }

    /// How many cores a Master with this bug gives to each user.
    pub(crate) fn user_cores(&self, cores: Cores) -> Cores {
        match self.sabotage {
            Sabotage::GiveUsersMore => cores + cores,
            _ => cores,
        }
    }

    /// How long a Master with this bug excludes Workers.
    pub(crate) fn exclusion(&self, exclusion: Exclusion) -> Exclusion {
        match self.sabotage {
            Sabotage::ForgetFailureHistory => Exclusion::Off,
            Sabotage::NeverReadmit => {
                let day = Duration::from_secs(86_400);
                Exclusion::For { first: day, longest: day }
            }
            _ => exclusion,
        }
    }

    pub(crate) fn event(
        &mut self,
        now: Timestamp,
        event: NodeEvent,
        ledger: &Ledger,
        dice: &mut Dice,
    ) -> Option<NodeEvent> {
        let event = match event {
            NodeEvent::Master(core_master::Event::Deadline { .. })
                if self.sabotage == Sabotage::JudgeByReading =>
            {
                NodeEvent::Master(core_master::Event::Deadline { heard_until: now })
            }
            NodeEvent::Worker(core_worker::Event::FilesFailed { app, fetch, .. })
                if self.sabotage == Sabotage::TrustFetch =>
            {
                NodeEvent::Worker(core_worker::Event::FilesFetched { app, fetch })
            }
            NodeEvent::Worker(core_worker::Event::Received {
                peer,
                message: core_worker::Inbound::Master(MasterToWorker::LaunchDriver(mut launch)),
            }) if self.sabotage == Sabotage::ForgetSupervise => {
                launch.description.supervise = false;
                let message = core_worker::Inbound::Master(MasterToWorker::LaunchDriver(launch));
                NodeEvent::Worker(core_worker::Event::Received { peer, message })
            }
            NodeEvent::Master(core_master::Event::Received { peer, arrived, message }) => {
                let message = self.bend_master_message(message, peer, ledger);
                NodeEvent::Master(core_master::Event::Received { peer, arrived, message })
            }
            NodeEvent::Driver(core_driver::Event::Received {
                peer,
                message: core_driver::Inbound::Executor(mut message),
            }) => {
                if let (Sabotage::CountShortages, ExecutorToDriver::TaskGivenBack { attempt, failure }) =
                    (self.sabotage, &message)
                {
                    let state = TaskState::Ended(TaskEnd::NotStarted(failure.clone()));
                    message = ExecutorToDriver::StatusUpdate { attempt: *attempt, state };
                }
                self.bend_newcomer(&mut message, ledger, dice);
                let message = core_driver::Inbound::Executor(message);
                NodeEvent::Driver(core_driver::Event::Received { peer, message })
            }
            NodeEvent::Driver(core_driver::Event::Submit { task, request }) => {
                let request = self.bend_request(request);
                NodeEvent::Driver(core_driver::Event::Submit { task, request })
            }
            event if self.sabotage == Sabotage::IgnoreEpoch => forget_epoch(event),
            event => event,
        };
        let is_swallowed = self.swallows(&event, ledger) && !dice.one_in(3);
        (!is_swallowed).then_some(event)
    }

    /// Changes a message to a Master.
    fn bend_master_message(
        &self,
        message: core_master::Inbound,
        peer: PeerId,
        ledger: &Ledger,
    ) -> core_master::Inbound {
        match message {
            core_master::Inbound::Driver(mut message) => {
                self.bend_driver_message(&mut message, peer);
                core_master::Inbound::Driver(message)
            }
            core_master::Inbound::Worker(message) => {
                core_master::Inbound::Worker(self.bend_worker_message(message, peer, ledger))
            }
            core_master::Inbound::Client(ClientToMaster::RequestLog { range, mut by })
                if self.sabotage == Sabotage::TrustReaders =>
            {
                by.prove(None, Rights::Admin);
                core_master::Inbound::Client(ClientToMaster::RequestLog { range, by })
            }
            message @ core_master::Inbound::Client(_) => message,
        }
    }

    /// Changes a Worker's message to a Master.
    fn bend_worker_message(&self, message: WorkerToMaster, peer: PeerId, ledger: &Ledger) -> WorkerToMaster {
        match message {
            WorkerToMaster::Heartbeat { worker, .. } if self.sabotage == Sabotage::TakeForAnswered => {
                WorkerToMaster::Heartbeat { worker, last_order: ledger.youngest_on(peer) }
            }
            WorkerToMaster::ExecutorStateChanged(ExecutorReport {
                executor,
                state: ExecutorState::Exited(status),
                used,
            }) if self.sabotage == Sabotage::MissTurn => {
                let state = ExecutorState::Killed(Some(status));
                WorkerToMaster::ExecutorStateChanged(ExecutorReport { executor, state, used })
            }
            WorkerToMaster::RegisterWorker { worker, executors, drivers } => {
                let worker = Box::new(self.bend_claim(*worker));
                WorkerToMaster::RegisterWorker { worker, executors, drivers }
            }
            message => message,
        }
    }

    /// Whether this bug prevents the machine from receiving an event.
    fn swallows(&self, event: &NodeEvent, ledger: &Ledger) -> bool {
        match (event, self.sabotage) {
            (NodeEvent::Master(core_master::Event::Received { message, .. }), Sabotage::DropGiveBack) => {
                matches!(message, core_master::Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report))
                    if report.state.is_finished())
            }
            (NodeEvent::Master(core_master::Event::Received { message, .. }), Sabotage::MissDriverEnd) => {
                matches!(message, core_master::Inbound::Worker(WorkerToMaster::DriverStateChanged(report))
                    if report.state.is_finished())
            }
            (NodeEvent::Master(core_master::Event::Disconnected { peer }), Sabotage::ForgetWorker) => {
                ledger.is_worker(*peer)
            }
            (NodeEvent::Master(core_master::Event::Received { message, .. }), Sabotage::ForgetLeaving) => {
                matches!(message, core_master::Inbound::Worker(WorkerToMaster::WorkerDecommissioning { .. }))
            }
            (NodeEvent::Master(core_master::Event::Received { peer, message, .. }), Sabotage::MournLeft) => {
                matches!(message, core_master::Inbound::Worker(WorkerToMaster::WorkerDecommissioning { .. }))
                    && ledger.is_empty_worker(*peer)
            }
            (NodeEvent::Master(core_master::Event::Received { message, .. }), Sabotage::IgnoreHeartbeat) => {
                matches!(message, core_master::Inbound::Worker(WorkerToMaster::Heartbeat { .. }))
            }
            (NodeEvent::Master(core_master::Event::Received { message, .. }), Sabotage::MissFullDisk) => {
                matches!(message, core_master::Inbound::Worker(WorkerToMaster::StartsChecked { .. }))
            }
            (NodeEvent::Master(core_master::Event::Disconnected { peer }), Sabotage::ForgetDriver) => {
                ledger.is_driver(*peer)
            }
            (NodeEvent::Worker(core_worker::Event::Received { message, .. }), Sabotage::StayOn) => {
                matches!(message, core_worker::Inbound::Master(MasterToWorker::DecommissionWorker { .. }))
            }
            (NodeEvent::Driver(core_driver::Event::Received { message, .. }), Sabotage::UseLeaving) => {
                matches!(message, core_driver::Inbound::Master(MasterToDriver::ExecutorLeaving { .. }))
            }
            _ => false,
        }
    }

    /// Changes the description that a Worker sends about itself.
    fn bend_claim(&self, mut worker: WorkerDescription) -> WorkerDescription {
        match self.sabotage {
            Sabotage::TrustAnyToken => worker.token = token_of(&worker.id),
            Sabotage::TrustAnySize => worker.cores = worker.cores.min(PLAUSIBLE),
            _ => {}
        }
        worker
    }

    /// Changes an executor's registration with its driver.
    fn bend_newcomer(&self, message: &mut ExecutorToDriver, ledger: &Ledger, dice: &mut Dice) {
        let ExecutorToDriver::RegisterExecutor { app, executor, secret, resources, .. } = message else {
            return;
        };
        match self.sabotage {
            Sabotage::TrustAnySecret => *secret = corrected(secret),
            Sabotage::TakeForWhole => *resources = resources.made_whole(),
            Sabotage::TrustAnyNumber => {
                *executor = ledger.some_executor(app, dice).unwrap_or(*executor);
            }
            _ => {}
        }
    }

    /// Changes a driver's message to a Master.
    fn bend_driver_message(&self, message: &mut DriverToMaster, peer: PeerId) {
        match (self.sabotage, message) {
            (_, DriverToMaster::RegisterApplication(description)) => self.bend_description(description, peer),
            (Sabotage::ForgetOutcome, DriverToMaster::UnregisterApplication { outcome, .. }) => {
                *outcome = None;
            }
            _ => {}
        }
    }

    /// Changes the request of a task that is submitted to a driver.
    fn bend_request(&self, request: core_driver::TaskRequest) -> core_driver::TaskRequest {
        match self.sabotage {
            Sabotage::ForgetProfile => core_driver::TaskRequest { profile: ProfileId::DEFAULT, ..request },
            Sabotage::ForgetBinding => core_driver::TaskRequest { on: None, ..request },
            _ => request,
        }
    }

    /// Changes the description with which a Master registers an application.
    fn bend_description(&self, description: &mut ApplicationDescription, peer: PeerId) {
        let gang = description.gang > 1;
        match self.sabotage {
            Sabotage::SplitGang => description.gang = 0,
            Sabotage::StarveGang if gang => {
                let each = description.profile.cores.unwrap_or(Cores(1)).0.max(1);
                description.gang = u64::try_from(Cores::UNLIMITED.0 / each).unwrap_or(0);
                description.max_cores = None;
            }
            Sabotage::StealReserved if !gang => description.priority += 100,
            Sabotage::LendToAll if !gang => {
                let second = (RUN_TIME.to_owned(), "1".to_owned());
                description.command.environment_mut().extend([second]);
            }
            Sabotage::ForgetPriority => description.priority = i32::try_from(peer.0 % 7).unwrap_or(0),
            Sabotage::ForgetQueue => description.queue = None,
            Sabotage::PreemptPeers => description.priority = i32::try_from(peer.0).unwrap_or(0),
            _ => {}
        }
    }

    pub(crate) fn effects(&mut self, effects: &mut NodeEffects, ledger: &Ledger, dice: &mut Dice) {
        match effects {
            NodeEffects::Master(effects) => {
                self.bend_master(effects, ledger);
                self.hurry_master(effects, ledger);
                self.ask_once(effects);
                self.forget_order(effects, ledger);
                tamper(effects, dice, |effect| self.of_master(effect));
            }
            NodeEffects::Worker(effects) => {
                self.bend_worker(effects);
                self.remove_the_living(effects);
                tamper(effects, dice, |effect| self.of_worker(effect));
            }
            NodeEffects::Driver(effects) => {
                self.bend_driver(effects);
                tamper(effects, dice, |effect| self.of_driver(effect));
            }
            NodeEffects::Launcher(effects) => {
                self.bend_launcher(effects);
                tamper(effects, dice, |effect| self.of_launcher(effect));
            }
            NodeEffects::Executor(effects) => {
                if self.sabotage == Sabotage::LeaveTasks
                    && effects.iter().any(|effect| matches!(effect, executor::Effect::StartTask { .. }))
                {
                    effects.push(executor::Effect::Exit(executor::Exit::Stopped));
                }
                self.bend_executor(effects);
                tamper(effects, dice, |effect| self.of_executor(effect));
            }
        }
    }

    fn bend_executor(&self, effects: &mut Vec<executor::Effect>) {
        for effect in effects.iter_mut() {
            if let (
                Sabotage::ForgetReceived,
                executor::Effect::Send(ExecutorToDriver::RegisterExecutor { received, .. }),
            ) = (self.sabotage, effect)
            {
                *received = Some(0);
            }
        }
        let is_back = |effect: &executor::Effect| {
            matches!(effect, executor::Effect::Note(executor::Note::Back { again: 1.., .. }))
        };
        let is_sent = |effect: &executor::Effect| matches!(effect, executor::Effect::Send(_));
        match self.sabotage {
            Sabotage::ForgetResent if effects.iter().any(is_back) => {
                effects.retain(|effect| !is_sent(effect))
            }
            Sabotage::DoubleResent if effects.iter().any(is_back) => {
                let again: Vec<_> = effects.iter().filter(|effect| is_sent(effect)).cloned().collect();
                effects.extend(again);
            }
            _ => {}
        }
    }

    fn bend_launcher(&self, effects: &mut [launcher::Effect]) {
        for effect in effects {
            if let (Sabotage::WrongCode, launcher::Effect::Done(launcher::Ending::Met { code })) =
                (self.sabotage, effect)
            {
                *code += 1;
            }
        }
    }

    fn of_launcher(&self, effect: &launcher::Effect) -> Fate {
        match (self.sabotage, effect) {
            (
                Sabotage::EndlessLaunch,
                launcher::Effect::Send { message: DriverToMaster::UnregisterApplication { .. }, .. },
            ) => Fate::Dropped,
            _ => Fate::Stays,
        }
    }

    fn of_executor(&self, effect: &executor::Effect) -> Fate {
        match (self.sabotage, effect) {
            (
                Sabotage::DropStatusUpdate,
                executor::Effect::Send(ExecutorToDriver::StatusUpdate { state: TaskState::Ended(_), .. }),
            )
            | (Sabotage::DropTaskOutput, executor::Effect::Send(ExecutorToDriver::TaskOutput { .. }))
            | (Sabotage::DropExecutorHeartbeat, executor::Effect::Send(ExecutorToDriver::Heartbeat { .. }))
            | (Sabotage::DropExit, executor::Effect::Exit(_)) => Fate::Dropped,
            (
                Sabotage::DoubleStatusUpdate,
                executor::Effect::Send(ExecutorToDriver::StatusUpdate { state: TaskState::Ended(_), .. }),
            )
            | (Sabotage::DoubleTaskOutput, executor::Effect::Send(ExecutorToDriver::TaskOutput { .. })) => {
                Fate::Doubled
            }
            _ => Fate::Stays,
        }
    }
}

/// Drops and repeats effects, with a chance of two in three.
fn tamper<E: Clone>(effects: &mut Vec<E>, dice: &mut Dice, fate: impl Fn(&E) -> Fate) {
    if effects.iter().all(|effect| fate(effect) == Fate::Stays) {
        return;
    }
    for effect in std::mem::take(effects) {
        let fate = if dice.one_in(3) { Fate::Stays } else { fate(&effect) };
        match fate {
            Fate::Stays => effects.push(effect),
            Fate::Dropped => {}
            Fate::Doubled => effects.extend([effect.clone(), effect]),
        }
    }
}

/// Makes an elected leader look like a single Master.
fn forget_epoch(mut event: NodeEvent) -> NodeEvent {
    let leadership = match &mut event {
        NodeEvent::Worker(core_worker::Event::Connected { leadership, .. })
        | NodeEvent::Driver(core_driver::Event::Connected { leadership, .. })
        | NodeEvent::Launcher(launcher::Event::Connected { leadership, .. }) => leadership,
        _ => return event,
    };
    if let Leadership::Here { epoch } = leadership {
        *epoch = 0;
    }
    event
}

fn before(executor: ExecutorId) -> ExecutorId {
    ExecutorId(executor.0.saturating_sub(1))
}
