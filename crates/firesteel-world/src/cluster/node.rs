//! One process of a simulated cluster, with the state machine that it runs.

use std::collections::BTreeMap;

use firesteel_core::driver::{self, Driver};
use firesteel_core::executor::{self, Executor};
use firesteel_core::ids::{AppId, ExecutorKey, PeerId, WorkerId};
use firesteel_core::launcher;
use firesteel_core::master::{self, Master};
use firesteel_core::worker::{self, Worker};
use firesteel_core::{Machine, Timestamp, Violation};

use super::headcount::Headcount;
use super::launches::LauncherBody;
use super::links::LinkIndex;
use super::processes::ExecutorProcess;
use super::truth::{Questions, Tasks};
use super::wishes::Waiting;

/// A process of the cluster, living or dead.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) body: Body,
    /// Its connections, by the number that it knows them by.
    pub(crate) connections: Vec<LinkIndex>,
    pub(crate) alarm: Option<Alarm>,
    /// When it was woken last, and how often at that time.
    pub(crate) woken: (u64, u32),
    /// Events that it was told.
    pub(crate) events: u64,
}

/// When a node is to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alarm {
    /// When it wants to be.
    pub(crate) due: u64,
    /// When it will be.
    pub(crate) rings: u64,
}

/// What a process runs.
#[derive(Debug)]
pub(crate) enum Body {
    Master(Box<Master>),
    Worker(Box<WorkerBody>),
    Driver(Box<DriverBody>),
    Launcher(Box<LauncherBody>),
    Executor(Box<ExecutorBody>),
    /// A process that no machine of ours runs in: what a launched executor is.
    Command(Box<ExecutorProcess>),
    /// Somebody who answers nothing: a hostile peer or a status client.
    Stranger,
    /// It has ended.
    Gone,
}

#[derive(Debug)]
pub(crate) struct WorkerBody {
    pub(crate) machine: Worker,
    pub(crate) id: WorkerId,
    /// The machine that it runs on: an index into the scenario's.
    pub(crate) plan: usize,
    /// Logs that are being read for clients; the executor where it lived when the reading began.
    pub(crate) readings: BTreeMap<PeerId, Option<ExecutorKey>>,
}

#[derive(Debug)]
pub(crate) struct DriverBody {
    pub(crate) machine: Driver,
    /// The application: an index into the scenario's.
    pub(crate) app: usize,
    pub(crate) tasks: Tasks,
    pub(crate) questions: Questions,
    /// Those of them that wait and would like to be somewhere.
    pub(crate) waiting: Waiting,
    /// Its id at the Master, and its connection there.
    pub(crate) registration: Option<(AppId, PeerId)>,
    /// What it has asked of its Master.
    pub(crate) headcount: Headcount,
}

#[derive(Debug)]
pub(crate) struct ExecutorBody {
    pub(crate) machine: Executor,
    pub(crate) process: ExecutorProcess,
}

/// What a node is told.
#[derive(Clone, Debug)]
pub(crate) enum NodeEvent {
    Master(master::Event),
    Worker(worker::Event),
    Driver(driver::Event),
    Launcher(launcher::Event),
    Executor(executor::Event),
}

/// What a node wants done.
#[derive(Clone, Debug)]
pub(crate) enum NodeEffects {
    Master(Vec<master::Effect>),
    Worker(Vec<worker::Effect>),
    Driver(Vec<driver::Effect>),
    Launcher(Vec<launcher::Effect>),
    Executor(Vec<executor::Effect>),
}

impl Node {
    pub(crate) fn new(body: Body) -> Self {
        Self { body, connections: Vec::new(), alarm: None, woken: (0, 0), events: 0 }
    }
}

impl Body {
    pub(crate) fn is_alive(&self) -> bool {
        match self {
            Self::Master(_)
            | Self::Worker(_)
            | Self::Driver(_)
            | Self::Launcher(_)
            | Self::Executor(_)
            | Self::Command(_)
            | Self::Stranger => true,
            Self::Gone => false,
        }
    }

    /// Whether the event is one of its machine's own.
    pub(crate) fn hears(&self, event: &NodeEvent) -> bool {
        match event {
            NodeEvent::Master(_) => matches!(self, Self::Master(_)),
            NodeEvent::Worker(_) => matches!(self, Self::Worker(_)),
            NodeEvent::Driver(_) => matches!(self, Self::Driver(_)),
            NodeEvent::Launcher(_) => matches!(self, Self::Launcher(_)),
            NodeEvent::Executor(_) => matches!(self, Self::Executor(_)),
        }
    }

    /// Tells the machine; `None` if the event is not one of its own.
    pub(crate) fn apply(&mut self, now: Timestamp, event: NodeEvent) -> Option<NodeEffects> {
        Some(match (self, event) {
            (Self::Master(machine), NodeEvent::Master(event)) => {
                NodeEffects::Master(machine.apply(now, event))
            }
            (Self::Worker(body), NodeEvent::Worker(event)) => {
                NodeEffects::Worker(body.machine.apply(now, event))
            }
            (Self::Driver(body), NodeEvent::Driver(event)) => {
                NodeEffects::Driver(body.machine.apply(now, event))
            }
            (Self::Launcher(body), NodeEvent::Launcher(event)) => {
                NodeEffects::Launcher(body.machine.apply(now, event))
            }
            (Self::Executor(body), NodeEvent::Executor(event)) => {
                NodeEffects::Executor(body.machine.apply(now, event))
            }
            (
                Self::Master(_)
                | Self::Worker(_)
                | Self::Driver(_)
                | Self::Launcher(_)
                | Self::Executor(_)
                | Self::Command(_)
                | Self::Stranger
                | Self::Gone,
                NodeEvent::Master(_)
                | NodeEvent::Worker(_)
                | NodeEvent::Driver(_)
                | NodeEvent::Launcher(_)
                | NodeEvent::Executor(_),
            ) => return None,
        })
    }

    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        match self {
            Self::Master(machine) => machine.next_deadline().map(|(at, _)| at),
            Self::Worker(body) => body.machine.next_deadline().map(|(at, _)| at),
            Self::Driver(body) => body.machine.next_deadline().map(|(at, _)| at),
            Self::Launcher(body) => body.machine.next_deadline().map(|(at, _)| at),
            Self::Executor(body) => body.machine.next_deadline().map(|(at, _)| at),
            Self::Command(_) | Self::Stranger | Self::Gone => None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Violation> {
        match self {
            Self::Master(machine) => machine.check(),
            Self::Worker(body) => body.machine.check(),
            Self::Driver(body) => body.machine.check(),
            Self::Launcher(body) => body.machine.check(),
            Self::Executor(body) => body.machine.check(),
            Self::Command(_) | Self::Stranger | Self::Gone => Ok(()),
        }
    }

    /// What a Master keeps for a gang that waits.
    pub(crate) fn reservation(&self) -> Option<master::ReservationView> {
        match self {
            Self::Master(machine) => machine.reservation(),
            Self::Worker(_)
            | Self::Driver(_)
            | Self::Launcher(_)
            | Self::Executor(_)
            | Self::Command(_)
            | Self::Stranger
            | Self::Gone => None,
        }
    }

    /// The event that a deadline is to it.
    pub(crate) fn deadline(&self) -> Option<NodeEvent> {
        match self {
            Self::Master(_) => Some(NodeEvent::Master(master::Event::Deadline)),
            Self::Worker(_) => Some(NodeEvent::Worker(worker::Event::Deadline)),
            Self::Driver(_) => Some(NodeEvent::Driver(driver::Event::Deadline)),
            Self::Launcher(_) => Some(NodeEvent::Launcher(launcher::Event::Deadline)),
            Self::Executor(_) => Some(NodeEvent::Executor(executor::Event::Deadline)),
            Self::Command(_) | Self::Stranger | Self::Gone => None,
        }
    }

    /// The event that the end of a connection is to it.
    pub(crate) fn disconnected(&self, peer: PeerId) -> Option<NodeEvent> {
        match self {
            Self::Master(_) => Some(NodeEvent::Master(master::Event::Disconnected { peer })),
            Self::Worker(_) => Some(NodeEvent::Worker(worker::Event::Disconnected { peer })),
            Self::Driver(_) => Some(NodeEvent::Driver(driver::Event::Disconnected { peer })),
            Self::Launcher(_) => Some(NodeEvent::Launcher(launcher::Event::Disconnected { peer })),
            Self::Executor(_) => Some(NodeEvent::Executor(executor::Event::Disconnected)),
            Self::Command(_) | Self::Stranger | Self::Gone => None,
        }
    }

    /// For traces.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Master(_) => "master".to_owned(),
            Self::Worker(body) => body.id.to_string(),
            Self::Driver(body) => format!("driver {}", body.app),
            Self::Launcher(body) => format!("launcher {}", body.app),
            Self::Command(process) => format!("executor {}", process.key),
            Self::Executor(body) => format!("executor {}", body.process.key),
            Self::Stranger => "stranger".to_owned(),
            Self::Gone => "gone".to_owned(),
        }
    }
}
