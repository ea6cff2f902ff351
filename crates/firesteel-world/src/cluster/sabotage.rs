//! Deliberate bugs: a machine's events and effects are changed, as if the machine had erred. Each proves
//! that some invariant is checked.

use std::time::Duration;

use firesteel_core::Kind;
use firesteel_core::driver::LocalityWait;
use firesteel_core::ids::{ExecutorId, PeerId, ProfileId};
use firesteel_core::messages::{
    ApplicationDescription, ApplicationEnd, DriverToExecutor, DriverToMaster, ExecutorReport, ExecutorState,
    ExecutorToDriver, MasterToDriver, MasterToWorker, Outcome, TaskState, WorkerToClient, WorkerToMaster,
};
use firesteel_core::scheduling::Preemption;
use firesteel_core::{driver, executor, launcher, master, worker};
use firesteel_placement::{Cores, Resources};

use super::ledger::Ledger;
use super::node::{NodeEffects, NodeEvent};
use firesteel_sim::dice::Dice;

/// A deliberate bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// The Master misses an executor's end and never frees its share.
    DropGiveBack,
    /// The Master launches an executor twice.
    DoubleLaunch,
    /// The Master misses that a Worker's connection ended.
    ForgetWorker,
    /// The Master misses that a Worker is about to end.
    ForgetLeaving,
    /// The Master misses that a driver's connection ended.
    ForgetDriver,
    /// The Master does not order an executor's end.
    DropKillExecutor,
    /// The Master gives an executor the number of the previous one.
    ReuseExecutorId,
    /// The Master reports an executor's state to another application's driver.
    WrongDriver,
    /// The Master sends an order to launch to another peer.
    LaunchOnTheDead,
    /// The Master gives an executor one core more than it counted.
    OneCoreTooMany,
    /// The Master does not report a new executor to the driver.
    DropExecutorAdded,
    /// The Master does not answer a Worker's registration.
    DropRegisteredWorker,
    /// The Master does not tell a driver that its application was killed.
    DropKilled,
    /// The Master treats an executor that ended by itself as one that its Worker ended.
    MissTurn,
    /// The Master gives an application a part of its gang.
    SplitGang,
    /// The Master never finds room for gangs.
    StarveGang,
    /// The Master serves applications behind a waiting gang from the reservation.
    StealReserved,
    /// The Master confuses the priorities in a queue.
    ForgetPriority,
    /// The Master puts all applications into one queue.
    ForgetQueue,
    /// The Master preempts more executors than allowed.
    PreemptTooMany,
    /// The Master preempts executors for applications of no higher priority.
    PreemptPeers,
    /// The Master does not report that all executors of an ended application are gone.
    DropExecutorsGone,
    /// The Master reports that all executors are gone as soon as they were told to end.
    EarlyExecutorsGone,
    /// The Master misses what the driver says of its work.
    ForgetOutcome,
    /// The Worker reports RUNNING twice.
    RunningTwice,
    /// The Worker does not report an executor's end, and forgets it.
    LoseEnd,
    /// The Worker starts an executor twice.
    StartTwice,
    /// The Worker does not fill in the placeholders of a command.
    ForgetWords,
    /// The Worker never signals an executor that it was told to end.
    DropSignal,
    /// The Worker stops its heartbeats.
    DropHeartbeat,
    /// The Worker treats files that it could not fetch as fetched.
    TrustFetch,
    /// The Worker fetches files twice.
    FetchTwice,
    /// The Worker never removes files.
    KeepFiles,
    /// The Worker says too early that a log is over.
    EndLog,
    /// The Worker includes living applications in its search for old directories.
    KeepNothing,
    /// The Worker removes the directory of the application whose executor it starts.
    RemoveTheLiving,
    /// The driver never unregisters its application.
    ForgetUnregister,
    /// The driver says that its work succeeded, however it went.
    ClaimSuccess,
    /// The driver launches an attempt twice.
    DoubleLaunchTask,
    /// The driver gives no more credit.
    DropOutputCredit,
    /// The driver gives credit twice.
    DoubleCredit,
    /// The driver stores a piece of output twice.
    DoubleOutput,
    /// The driver loses a piece of output.
    DropOutput,
    /// The driver reports a task's end twice.
    DoubleTaskEnd,
    /// The driver never reports a task's end.
    DropTaskEnd,
    /// The driver does not tell an executor that a task was cancelled.
    DropKillTask,
    /// The driver says that a task has ended as soon as it was cancelled.
    EarlyCancelled,
    /// The driver does not answer.
    DropAnswer,
    /// The driver answers twice.
    DoubleAnswer,
    /// The driver does not wait for the hosts that tasks prefer.
    Impatient,
    /// The driver forgets the profile of a task.
    ForgetProfile,
    /// The driver forgets that a task is bound to one executor.
    ForgetBinding,
    /// The driver gives every task the same address.
    SameAddress,
    /// The driver gives tasks no addresses.
    DropAddresses,
    /// The driver requests a hundred executors too many.
    AskForMore,
    /// The driver requests no executors.
    AskForNone,
    /// The driver ends other executors along with an idle one.
    KillNeighbours,
    /// The driver does not end idle executors.
    DropKills,
    /// The launcher ends with another code than its executors.
    WrongCode,
    /// The launcher does not tell its Master that it ends.
    EndlessLaunch,
    /// The executor does not report a task's end.
    DropStatusUpdate,
    /// The executor reports a task's end twice.
    DoubleStatusUpdate,
    /// The executor sends a piece of output twice.
    DoubleTaskOutput,
    /// The executor loses a piece of output.
    DropTaskOutput,
    /// The executor ends and leaves its tasks behind.
    LeaveTasks,
    /// The executor does not end when it should.
    DropExit,
}

firesteel_core::kinds!("sabotage", Sabotage: DropGiveBack DoubleLaunch ForgetWorker ForgetLeaving ForgetDriver DropKillExecutor
    ReuseExecutorId WrongDriver LaunchOnTheDead OneCoreTooMany DropExecutorAdded DropRegisteredWorker
    DropKilled MissTurn SplitGang StarveGang StealReserved ForgetPriority ForgetQueue PreemptTooMany PreemptPeers DropExecutorsGone EarlyExecutorsGone ForgetOutcome RunningTwice LoseEnd StartTwice ForgetWords DropSignal DropHeartbeat TrustFetch FetchTwice KeepFiles EndLog KeepNothing RemoveTheLiving ForgetUnregister ClaimSuccess DoubleLaunchTask
    DropOutputCredit DoubleCredit DoubleOutput DropOutput DoubleTaskEnd DropTaskEnd DropKillTask
    EarlyCancelled DropAnswer DoubleAnswer Impatient ForgetProfile ForgetBinding SameAddress DropAddresses AskForMore AskForNone KillNeighbours DropKills WrongCode EndlessLaunch
    DropStatusUpdate DoubleStatusUpdate DoubleTaskOutput DropTaskOutput LeaveTasks DropExit);

impl Sabotage {
    /// The list of all bugs.
    pub const ALL: &'static [Self] = &[
        Self::DropGiveBack,
        Self::DoubleLaunch,
        Self::ForgetWorker,
        Self::ForgetLeaving,
        Self::ForgetDriver,
        Self::DropKillExecutor,
        Self::ReuseExecutorId,
        Self::WrongDriver,
        Self::LaunchOnTheDead,
        Self::OneCoreTooMany,
        Self::DropExecutorAdded,
        Self::DropRegisteredWorker,
        Self::DropKilled,
        Self::MissTurn,
        Self::SplitGang,
        Self::StarveGang,
        Self::StealReserved,
        Self::ForgetPriority,
        Self::ForgetQueue,
        Self::PreemptTooMany,
        Self::PreemptPeers,
        Self::DropExecutorsGone,
        Self::EarlyExecutorsGone,
        Self::ForgetOutcome,
        Self::RunningTwice,
        Self::LoseEnd,
        Self::StartTwice,
        Self::ForgetWords,
        Self::DropSignal,
        Self::DropHeartbeat,
        Self::TrustFetch,
        Self::FetchTwice,
        Self::KeepFiles,
        Self::EndLog,
        Self::KeepNothing,
        Self::RemoveTheLiving,
        Self::ForgetUnregister,
        Self::ClaimSuccess,
        Self::DoubleLaunchTask,
        Self::DropOutputCredit,
        Self::DoubleCredit,
        Self::DoubleOutput,
        Self::DropOutput,
        Self::DoubleTaskEnd,
        Self::DropTaskEnd,
        Self::DropKillTask,
        Self::EarlyCancelled,
        Self::DropAnswer,
        Self::DoubleAnswer,
        Self::Impatient,
        Self::ForgetProfile,
        Self::ForgetBinding,
        Self::SameAddress,
        Self::DropAddresses,
        Self::AskForMore,
        Self::AskForNone,
        Self::KillNeighbours,
        Self::DropKills,
        Self::WrongCode,
        Self::EndlessLaunch,
        Self::DropStatusUpdate,
        Self::DoubleStatusUpdate,
        Self::DoubleTaskOutput,
        Self::DropTaskOutput,
        Self::LeaveTasks,
        Self::DropExit,
    ];

    /// The name of the bug, as in the list of all.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.kind()
    }
}

/// Applies a bug to the events and effects of machines.
#[derive(Clone, Debug)]
pub(crate) struct Saboteur {
    sabotage: Sabotage,
}

/// What happens to one effect.
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

    /// The locality wait of a driver with this bug.
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
            (Sabotage::StealReserved | Sabotage::ForgetQueue | Sabotage::ForgetPriority, _) => {
                Preemption::Off
            }
            (_, preemption) => preemption,
        }
    }

    /// Changes an event for a machine.
    pub(crate) fn event(&mut self, event: NodeEvent, ledger: &Ledger, dice: &mut Dice) -> Option<NodeEvent> {
        let event = match event {
            NodeEvent::Worker(worker::Event::FilesFailed { app, fetch, .. })
                if self.sabotage == Sabotage::TrustFetch =>
            {
                NodeEvent::Worker(worker::Event::FilesFetched { app, fetch })
            }
            NodeEvent::Master(master::Event::Received {
                peer,
                message: master::Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report)),
            }) if self.sabotage == Sabotage::MissTurn => {
                let state = match report.state {
                    ExecutorState::Exited(status) => ExecutorState::Killed(Some(status)),
                    state => state,
                };
                let report = ExecutorReport { executor: report.executor, state };
                let message = master::Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report));
                NodeEvent::Master(master::Event::Received { peer, message })
            }
            NodeEvent::Master(master::Event::Received {
                peer,
                message: master::Inbound::Driver(mut message),
            }) => {
                self.bend_driver_message(&mut message, peer);
                NodeEvent::Master(master::Event::Received { peer, message: master::Inbound::Driver(message) })
            }
            NodeEvent::Driver(driver::Event::Submit { task, request })
                if self.sabotage == Sabotage::ForgetProfile =>
            {
                let request = driver::TaskRequest { profile: ProfileId::DEFAULT, ..request };
                NodeEvent::Driver(driver::Event::Submit { task, request })
            }
            NodeEvent::Driver(driver::Event::Submit { task, request })
                if self.sabotage == Sabotage::ForgetBinding =>
            {
                let request = driver::TaskRequest { on: None, ..request };
                NodeEvent::Driver(driver::Event::Submit { task, request })
            }
            event => event,
        };
        let swallowed = match (&event, self.sabotage) {
            (NodeEvent::Master(master::Event::Received { message, .. }), Sabotage::DropGiveBack) => {
                matches!(message, master::Inbound::Worker(WorkerToMaster::ExecutorStateChanged(report))
                    if report.state.is_finished())
            }
            (NodeEvent::Master(master::Event::Disconnected { peer }), Sabotage::ForgetWorker) => {
                ledger.is_worker(*peer)
            }
            (NodeEvent::Master(master::Event::Received { message, .. }), Sabotage::ForgetLeaving) => {
                matches!(message, master::Inbound::Worker(WorkerToMaster::WorkerDecommissioning { .. }))
            }
            (NodeEvent::Master(master::Event::Disconnected { peer }), Sabotage::ForgetDriver) => {
                ledger.is_driver(*peer)
            }
            _ => false,
        };
        (!swallowed || dice.one_in(3)).then_some(event)
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
            Sabotage::ForgetPriority => description.priority = i32::try_from(peer.0 % 7).unwrap_or(0),
            Sabotage::ForgetQueue => description.queue = None,
            Sabotage::PreemptPeers => description.priority = i32::try_from(peer.0).unwrap_or(0),
            _ => {}
        }
    }

    /// Changes the effects of a machine.
    pub(crate) fn effects(&mut self, effects: &mut NodeEffects, ledger: &Ledger, dice: &mut Dice) {
        match effects {
            NodeEffects::Master(effects) => {
                self.bend_master(effects, ledger);
                self.hurry_master(effects, ledger);
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
                tamper(effects, dice, |effect| self.of_executor(effect));
            }
        }
    }

    /// Changes effects of the Master without dropping them.
    fn bend_master(&self, effects: &mut [master::Effect], ledger: &Ledger) {
        let stranger =
            |peer| ledger.apps().filter_map(|app| ledger.peer_of_app(app)).find(|other| *other != peer);
        for effect in effects {
            let master::Effect::Send { peer, message } = effect else { continue };
            match (self.sabotage, message) {
                (
                    Sabotage::ReuseExecutorId,
                    master::Outbound::Worker(MasterToWorker::LaunchExecutor(launch)),
                ) => launch.executor.executor = before(launch.executor.executor),
                (
                    Sabotage::OneCoreTooMany,
                    master::Outbound::Worker(MasterToWorker::LaunchExecutor(launch)),
                ) => launch.cores.0 += 1,
                (Sabotage::WrongDriver, master::Outbound::Driver(MasterToDriver::ExecutorUpdated { .. }))
                | (Sabotage::LaunchOnTheDead, master::Outbound::Worker(MasterToWorker::LaunchExecutor(_))) => {
                    if let Some(other) = stranger(*peer) {
                        *peer = other;
                    }
                }
                _ => {}
            }
        }
    }

    fn hurry_master(&self, effects: &mut Vec<master::Effect>, ledger: &Ledger) {
        let ended = effects.iter().find_map(|effect| match effect {
            master::Effect::Note(master::Note::ApplicationRemoved { app, .. }) => Some(app.clone()),
            _ => None,
        });
        if let (Sabotage::EarlyExecutorsGone, Some(app)) = (self.sabotage, ended)
            && let Some(peer) = ledger.peer_of_app(&app)
        {
            let message = master::Outbound::Driver(MasterToDriver::ExecutorsGone { app });
            effects.push(master::Effect::Send { peer, message });
        }
    }

    fn bend_worker(&self, effects: &mut [worker::Effect]) {
        for effect in effects {
            match (self.sabotage, effect) {
                (Sabotage::ForgetWords, worker::Effect::StartExecutor(plan)) => {
                    "{{CORES}}".clone_into(&mut plan.command.arguments[3]);
                }
                (
                    Sabotage::LoseEnd,
                    worker::Effect::Send {
                        message: worker::Outbound::Master(WorkerToMaster::RegisterWorker { executors, .. }),
                        ..
                    },
                ) => executors.retain(|report| !report.state.is_finished()),
                (Sabotage::KeepNothing, worker::Effect::FindStale { keep, .. }) => keep.clear(),
                (
                    Sabotage::EndLog,
                    worker::Effect::Send {
                        message: worker::Outbound::Client(WorkerToClient::LogResponse(piece)),
                        ..
                    },
                ) => piece.is_over = true,
                _ => {}
            }
        }
    }

    fn remove_the_living(&self, effects: &mut Vec<worker::Effect>) {
        let started = |effect: &worker::Effect| match effect {
            worker::Effect::StartExecutor(plan) => Some(plan.executor.app.clone()),
            _ => None,
        };
        if self.sabotage == Sabotage::RemoveTheLiving
            && let Some(app) = effects.iter().find_map(started)
        {
            effects.push(worker::Effect::RemoveDirectory { app });
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

    fn bend_driver(&self, effects: &mut Vec<driver::Effect>) {
        let killed = |effect: &driver::Effect| match effect {
            driver::Effect::Send {
                message: driver::Outbound::Executor(DriverToExecutor::KillTask { attempt }),
                ..
            } => Some(attempt.task),
            _ => None,
        };
        if self.sabotage == Sabotage::EarlyCancelled
            && let Some(task) = effects.iter().find_map(killed)
        {
            effects.push(driver::Effect::TaskEnded { task, outcome: driver::TaskOutcome::Cancelled });
        }
        for effect in effects {
            if let driver::Effect::Send {
                message: driver::Outbound::Executor(DriverToExecutor::LaunchTask { resources, .. }),
                ..
            } = effect
            {
                self.bend_addresses(resources);
            }
            let driver::Effect::Send { message: driver::Outbound::Master(message), .. } = effect else {
                continue;
            };
            match (self.sabotage, message) {
                (Sabotage::ClaimSuccess, DriverToMaster::UnregisterApplication { outcome, .. }) => {
                    *outcome = Some(Outcome::Succeeded);
                }
                (Sabotage::AskForMore, DriverToMaster::RequestExecutors { targets, .. }) => {
                    targets.iter_mut().for_each(|target| target.total = target.total.saturating_add(100));
                }
                (Sabotage::AskForNone, DriverToMaster::RequestExecutors { targets, .. }) => {
                    targets.iter_mut().for_each(|target| target.total = 0);
                }
                (Sabotage::KillNeighbours, DriverToMaster::KillExecutors { executors, .. }) => {
                    let neighbours = executors.iter().flat_map(|id| [before(*id), ExecutorId(id.0 + 1)]);
                    *executors = neighbours.collect();
                }
                _ => {}
            }
        }
    }

    fn bend_addresses(&self, resources: &mut Resources) {
        match self.sabotage {
            Sabotage::DropAddresses => *resources = Resources::default(),
            Sabotage::SameAddress if resources.count("gpu") == 1 => {
                *resources = Resources::from_iter([("gpu", ["0"])]);
            }
            _ => {}
        }
    }

    fn of_master(&self, effect: &master::Effect) -> Fate {
        let master::Effect::Send { message, .. } = effect else { return Fate::Stays };
        match (self.sabotage, message) {
            (Sabotage::DoubleLaunch, master::Outbound::Worker(MasterToWorker::LaunchExecutor(_))) => {
                Fate::Doubled
            }
            (Sabotage::DropKillExecutor, master::Outbound::Worker(MasterToWorker::KillExecutor { .. }))
            | (
                Sabotage::DropKilled,
                master::Outbound::Driver(MasterToDriver::ApplicationRemoved(ApplicationEnd::Killed {
                    ..
                })),
            )
            | (Sabotage::DropExecutorsGone, master::Outbound::Driver(MasterToDriver::ExecutorsGone { .. }))
            | (Sabotage::DropExecutorAdded, master::Outbound::Driver(MasterToDriver::ExecutorAdded { .. }))
            | (
                Sabotage::DropRegisteredWorker,
                master::Outbound::Worker(MasterToWorker::RegisteredWorker { .. }),
            ) => Fate::Dropped,
            _ => Fate::Stays,
        }
    }

    fn of_worker(&self, effect: &worker::Effect) -> Fate {
        match (self.sabotage, effect) {
            (Sabotage::StartTwice, worker::Effect::StartExecutor(_))
            | (Sabotage::FetchTwice, worker::Effect::FetchFiles { .. }) => Fate::Doubled,
            (Sabotage::DropSignal, worker::Effect::SignalExecutor { .. })
            | (Sabotage::KeepFiles, worker::Effect::RemoveFiles { .. }) => Fate::Dropped,
            (_, worker::Effect::Send { message: worker::Outbound::Master(message), .. }) => {
                self.of_worker_message(message)
            }
            _ => Fate::Stays,
        }
    }

    fn of_worker_message(&self, message: &WorkerToMaster) -> Fate {
        match (self.sabotage, message) {
            (Sabotage::RunningTwice, WorkerToMaster::ExecutorStateChanged(ExecutorReport { state, .. }))
                if !state.is_finished() =>
            {
                Fate::Doubled
            }
            (Sabotage::LoseEnd, WorkerToMaster::ExecutorStateChanged(ExecutorReport { state, .. }))
                if state.is_finished() =>
            {
                Fate::Dropped
            }
            (Sabotage::DropHeartbeat, WorkerToMaster::Heartbeat { .. }) => Fate::Dropped,
            _ => Fate::Stays,
        }
    }

    fn of_driver(&self, effect: &driver::Effect) -> Fate {
        match (self.sabotage, effect) {
            (
                Sabotage::ForgetUnregister,
                driver::Effect::Send {
                    message: driver::Outbound::Master(DriverToMaster::UnregisterApplication { .. }),
                    ..
                },
            )
            | (
                Sabotage::DropOutputCredit,
                driver::Effect::Send {
                    message: driver::Outbound::Executor(DriverToExecutor::OutputCredit { .. }),
                    ..
                },
            )
            | (
                Sabotage::DropKillTask,
                driver::Effect::Send {
                    message: driver::Outbound::Executor(DriverToExecutor::KillTask { .. }),
                    ..
                },
            )
            | (
                Sabotage::DropKills,
                driver::Effect::Send {
                    message: driver::Outbound::Master(DriverToMaster::KillExecutors { .. }),
                    ..
                },
            )
            | (Sabotage::DropAnswer, driver::Effect::Answer { .. })
            | (Sabotage::DropOutput, driver::Effect::Output { .. })
            | (Sabotage::DropTaskEnd, driver::Effect::TaskEnded { .. }) => Fate::Dropped,
            (
                Sabotage::DoubleLaunchTask,
                driver::Effect::Send {
                    message: driver::Outbound::Executor(DriverToExecutor::LaunchTask { .. }),
                    ..
                },
            )
            | (
                Sabotage::DoubleCredit,
                driver::Effect::Send {
                    message: driver::Outbound::Executor(DriverToExecutor::OutputCredit { .. }),
                    ..
                },
            )
            | (Sabotage::DoubleAnswer, driver::Effect::Answer { .. })
            | (Sabotage::DoubleOutput, driver::Effect::Output { .. })
            | (Sabotage::DoubleTaskEnd, driver::Effect::TaskEnded { .. }) => Fate::Doubled,
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

fn before(executor: ExecutorId) -> ExecutorId {
    ExecutorId(executor.0.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sabotage_is_in_the_list_of_all_once() {
        let listed: std::collections::BTreeSet<usize> = Sabotage::ALL.iter().map(Kind::index).collect();
        assert_eq!(listed.len(), Sabotage::NAMES.len());
    }
}
