//! The executors: turns the allocator's effects into processes and messages to the driver.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use firesteel_placement::{Cores, MiB, Resources};
use firesteel_protocol::Machine as _;
use firesteel_protocol::address::Address;
use firesteel_protocol::executor_trouble::explained;
use firesteel_protocol::ids::{ContainerId, ExecutorId, ExecutorKey, ProfileId, WorkerId};
use firesteel_protocol::messages::{ExecutorState, LossReason, MasterToDriver};
use firesteel_protocol::process::{ExitStatus, Filling, StartFailure, StartStep};
use firesteel_protocol::time::Timestamp;

use super::{ApplicationMaster, Effect, Launch, Node, Note, Phase};
use crate::allocator::{self, Cause, Loss};

/// The maximum number of ended executors that are remembered for a returning driver.
const MOST_ENDS: usize = 1_000;
/// The maximum length of a manager's message about a container, in bytes.
const LONGEST_WORDS: usize = 2_000;

#[derive(Clone, Debug, Default)]
pub(super) struct Executors {
    rows: BTreeMap<ExecutorId, Executor>,
    of_container: BTreeMap<ContainerId, ExecutorId>,
    /// The nodes of the containers that the last answer granted.
    nodes: BTreeMap<ContainerId, Node>,
    /// The executors that ended last, in order, for a driver that missed the messages about them.
    ends: VecDeque<End>,
    ended: u64,
    gone_told: bool,
}

#[derive(Clone, Debug)]
struct End {
    executor: ExecutorId,
    row: Executor,
    state: ExecutorState,
    at: Timestamp,
}

#[derive(Clone, Debug)]
pub(super) struct Known<'a> {
    pub(super) row: &'a Executor,
    pub(super) state: ExecutorState,
    pub(super) ended: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub(super) struct Executor {
    pub(super) container: ContainerId,
    pub(super) profile: ProfileId,
    pub(super) worker: WorkerId,
    pub(super) node: Address,
    pub(super) logs: String,
    pub(super) cores: Cores,
    pub(super) memory: MiB,
    pub(super) launched: Timestamp,
    pub(super) started: Option<Timestamp>,
    /// Whether the executor's host is being decommissioned.
    pub(super) leaves: bool,
}

impl Executor {
    fn living(&self) -> Known<'_> {
        let state = self.started.map_or(ExecutorState::Launching, |_| ExecutorState::Running);
        Known { row: self, state, ended: None }
    }

    fn added(&self, executor: ExecutorId) -> MasterToDriver {
        MasterToDriver::ExecutorAdded {
            executor,
            profile: self.profile,
            worker: self.worker.clone(),
            host: self.node.host.clone(),
            cores: self.cores,
            memory: self.memory,
            port: self.node.port,
        }
    }

    fn leaving(&self, executor: ExecutorId) -> MasterToDriver {
        MasterToDriver::ExecutorLeaving { executor, host: Some(self.node.host.clone()) }
    }
}

impl Executors {
    /// Stores the nodes of containers that the manager has reported.
    pub(super) fn set_nodes(&mut self, nodes: BTreeMap<ContainerId, Node>) {
        self.nodes = nodes;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = ExecutorId> {
        self.rows.keys().copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ExecutorId, &Executor)> {
        self.rows.iter().map(|(id, row)| (*id, row))
    }

    pub(super) fn ended(&self) -> u64 {
        self.ended
    }

    /// The number of ended executors that are no longer remembered.
    pub(super) fn forgotten(&self) -> u64 {
        self.ended - self.ends.len() as u64
    }

    /// Whether the driver was informed that all executors have ended.
    pub(super) fn are_gone_told(&self) -> bool {
        self.gone_told
    }

    /// Records that the driver gets the message that all executors have ended.
    pub(super) fn tell_gone(&mut self) {
        self.gone_told = true;
    }

    /// The messages for a driver that may have missed some, by executor number: which executors were added, run, will
    /// leave, or have ended. With them, the driver knows every executor number that was used.
    pub(super) fn story(&self) -> Vec<MasterToDriver> {
        let tell = |(executor, Known { row, state, ended }): (ExecutorId, Known<'_>)| {
            let news = (state != ExecutorState::Launching).then(|| updated(executor, state));
            let leaving = (row.leaves && ended.is_none()).then(|| row.leaving(executor));
            [Some(row.added(executor)), news, leaving]
        };
        self.known().into_iter().flat_map(tell).flatten().collect()
    }

    /// The live executors and the latest ended ones, by number.
    pub(super) fn known(&self) -> BTreeMap<ExecutorId, Known<'_>> {
        self.live_from(ExecutorId(0)).chain(self.ended_from(ExecutorId(0))).collect()
    }

    pub(super) fn live_from(&self, from: ExecutorId) -> impl Iterator<Item = (ExecutorId, Known<'_>)> {
        self.rows.range(from..).map(|(executor, row)| (*executor, row.living()))
    }

    /// The latest ended executors, from this number on, in no particular order.
    pub(super) fn ended_from(&self, from: ExecutorId) -> impl Iterator<Item = (ExecutorId, Known<'_>)> {
        let ends = self.ends.iter().filter(move |end| end.executor >= from);
        ends.map(|End { executor, row, state, at }| {
            (*executor, Known { row, state: state.clone(), ended: Some(*at) })
        })
    }

    fn remember(&mut self, end: End) {
        if self.ends.len() >= MOST_ENDS {
            self.ends.pop_front();
        }
        self.ends.push_back(end);
    }

    /// Checks the table. Returns the first contradiction.
    pub(super) fn contradiction(&self) -> Option<String> {
        let expected: BTreeMap<_, _> =
            self.rows.iter().map(|(id, row)| (row.container.clone(), *id)).collect();
        if expected != self.of_container {
            return Some(format!("executors by container are {:?}, not {expected:?}", self.of_container));
        }
        let most = self.ends.len() <= MOST_ENDS;
        (!most).then(|| format!("{} ends are kept", self.ends.len()))
    }
}

fn updated(executor: ExecutorId, state: ExecutorState) -> MasterToDriver {
    MasterToDriver::ExecutorUpdated { executor, state, lost_host: None }
}

impl ApplicationMaster {
    /// Passes an event to the allocator and performs its effects. Does nothing once the report about the application's
    /// end is on its way.
    pub(super) fn allocate(&mut self, now: Timestamp, event: allocator::Event) {
        match &self.phase {
            Phase::Finishing(_) | Phase::Done => return,
            Phase::Idle | Phase::Waiting { .. } | Phase::Serving | Phase::Stopping { .. } => {}
        }
        for effect in self.allocator.apply(now, event) {
            match effect {
                allocator::Effect::Allocate(call) => self.effects.push(Effect::Allocate(call)),
                allocator::Effect::Register => {
                    self.manager = super::Manager::Unregistered;
                    self.register();
                }
                allocator::Effect::Launch(launch) => self.launch(now, launch),
                allocator::Effect::ExecutorEnded { executor, host, loss } => {
                    self.end_executor(now, executor, host, &loss);
                }
                allocator::Effect::Decommission { host } => self.tell_of_leaving(host),
                // Drivers never ask this question, because they get a message about every end.
                allocator::Effect::AnswerLoss { .. } => {}
                allocator::Effect::Fail(failure) => self.on_allocator_failed(&failure),
                allocator::Effect::Note(note) => self.effects.note(Note::Allocator(note)),
            }
        }
        self.count_final_ends(now);
        self.stop_if_all_are_gone();
    }

    /// Informs the driver of each executor on a host that is being decommissioned.
    fn tell_of_leaving(&mut self, host: String) {
        let there = self.executors.rows.iter_mut().filter(|(_, row)| row.node.host == host);
        let told: Vec<MasterToDriver> = there
            .map(|(executor, row)| {
                row.leaves = true;
                row.leaving(*executor)
            })
            .collect();
        self.effects.note(Note::Decommissioning { host });
        told.into_iter().for_each(|message| self.tell_driver(message));
    }

    fn launch(&mut self, now: Timestamp, launch: allocator::Launch) {
        let allocator::Launch { container, host, executor, profile, cores, memory } = launch;
        let description = self.drivers.description().expect("only a driver has executors launched");
        let node = self.executors.nodes.remove(&container);
        let address = node.as_ref().map_or_else(|| Address::new(&*host, 0), |node| node.address.clone());
        let worker = WorkerId::new(format!("{}:{}", address.host, address.port));
        let key = ExecutorKey { app: self.config.app.clone(), executor };
        let program = description.command.program().expect("an application with another command is refused");
        let (mut command, directory) = (program.clone(), description.directory.clone());
        command.fill(&Filling {
            executor: &key,
            profile,
            cores,
            memory,
            resources: &Resources::default(),
            worker: &worker,
            address: &address,
        });
        let logs = node.as_ref().map(|node| node.logs.clone()).unwrap_or_default();
        let row = Executor {
            container: container.clone(),
            profile,
            worker,
            node: address.clone(),
            logs: logs.clone(),
            cores,
            memory,
            launched: now,
            started: None,
            leaves: false,
        };
        let added = row.added(executor);
        self.executors.of_container.insert(container.clone(), executor);
        self.executors.rows.insert(executor, row);
        self.tell_driver(added);
        self.effects.note(Note::ExecutorLaunched {
            executor,
            container: container.clone(),
            node: address,
            logs,
        });
        self.effects.push(Effect::Launch(Launch {
            container,
            node,
            executor: key,
            command,
            directory,
            cores,
            memory,
        }));
    }

    pub(super) fn on_container_started(&mut self, now: Timestamp, container: ContainerId) {
        if let Some(executor) = self.executors.of_container.get(&container).copied()
            && let Some(row) = self.executors.rows.get_mut(&executor)
            && row.started.is_none()
        {
            row.started = Some(now);
            self.tell_driver(updated(executor, ExecutorState::Running));
        }
        self.allocate(now, allocator::Event::ContainerStarted { container });
    }

    fn end_executor(&mut self, now: Timestamp, executor: ExecutorId, host: Arc<str>, loss: &Loss) {
        let row = self.executors.rows.remove(&executor).expect("the end of an executor is told once");
        self.executors.of_container.remove(&row.container);
        self.executors.ended += 1;
        let state = match self.drivers.description() {
            Some(description) => explained(&description.command, state(loss)).0,
            None => state(loss),
        };
        self.effects.note(Note::ExecutorEnded { executor, host, state: state.clone() });
        self.tell_driver(updated(executor, state.clone()));
        let relaunch = self.drivers.description().map(|description| description.relaunch);
        if relaunch.is_some_and(|relaunch| relaunch.is_final(&state)) {
            self.want_one_less(row.profile);
        }
        self.executors.remember(End { executor, row, state, at: now });
    }
}

/// An executor's end as a state, in the form that its driver gets.
///
/// An exit code above 128 is read as a signal, as in a shell. NodeManagers do not distinguish the two.
fn state(loss: &Loss) -> ExecutorState {
    const SIGNALS: std::ops::RangeInclusive<i32> = 129..=192;
    /// The exit status of a container whose files could not be fetched, or whose command could not be run.
    const NEVER_RAN: i32 = -1000;
    match loss {
        Loss::Killed => ExecutorState::Killed(None),
        Loss::NotStarted { error } => {
            ExecutorState::Failed(StartFailure { step: StartStep::Program, error: words(error) })
        }
        Loss::Ended { cause, diagnostics } => match cause {
            Cause::Ended => ExecutorState::Exited(ExitStatus::SUCCESS),
            Cause::DriverStopping => ExecutorState::Killed(None),
            Cause::OverMemory { .. } => {
                ExecutorState::Lost(LossReason::OverLimit { why: words(&loss.to_string()) })
            }
            Cause::Failed(status) if SIGNALS.contains(status) => {
                ExecutorState::Exited(ExitStatus::Signal(*status - 128))
            }
            Cause::Failed(status) if *status > 0 => ExecutorState::Exited(ExitStatus::Code(*status)),
            Cause::Failed(NEVER_RAN) => {
                ExecutorState::Failed(StartFailure { step: StartStep::Files, error: words(diagnostics) })
            }
            Cause::Failed(_) | Cause::Preempted | Cause::Manager(_) => {
                ExecutorState::Lost(LossReason::Container { why: words(&loss.to_string()) })
            }
        },
    }
}

/// A manager's message, on one line of limited length.
fn words(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line[..line.floor_char_boundary(LONGEST_WORDS)].to_owned()
}
