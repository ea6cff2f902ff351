//! One process of a simulated cluster, with its state machine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use firesteel_engine::driver::{self, Driver};
use firesteel_engine::executor::{self, Executor};
use firesteel_engine::launcher;
use firesteel_master::{self as master, Master};
use firesteel_protocol::ids::{AppId, ExecutorId, PeerId, WorkerId};
use firesteel_protocol::messages::LogAuthor;
use firesteel_protocol::{Machine, Timestamp, Violation};
use firesteel_worker::{self as worker, Worker};

use super::launches::LauncherBody;
use super::programs::ExecutorProcess;
use crate::cluster::laws::entrance::Entrance;
use crate::cluster::laws::headcount::ExecutorRequests;
use crate::cluster::laws::truth::{Questions, Tasks};
use crate::cluster::network::links::LinkIndex;
use crate::cluster::scenario::host_preferences::Waiting;

/// A process of the cluster, living or dead.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) body: Body,
    /// The process's connections, indexed by the process's own numbers.
    pub(crate) connections: Vec<LinkIndex>,
    pub(crate) alarm: Option<Alarm>,
    /// When the process was last woken, and how many times at that moment.
    pub(crate) woken: (u64, u32),
    pub(crate) events: u64,
    /// Events that wait while the process is paused.
    pub(crate) waiting: Option<VecDeque<NodeEvent>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alarm {
    /// The time at which the node asked to be woken.
    pub(crate) due: u64,
    pub(crate) rings: u64,
}

/// The program of a process.
#[derive(Debug)]
pub(crate) enum Body {
    Master(Box<Master>),
    Worker(Box<WorkerBody>),
    Driver(Box<DriverBody>),
    Launcher(Box<LauncherBody>),
    Executor(Box<ExecutorBody>),
    /// A launched command, which runs no state machine of Firesteel.
    Command(Box<ExecutorProcess>),
    /// A process that answers nothing: a hostile peer or a status client.
    Stranger,
    /// A standby Master, which reports that the Master at this listener leads.
    Standby {
        leader: Option<usize>,
    },
    Gone,
}

#[derive(Debug)]
pub(crate) struct WorkerBody {
    pub(crate) machine: Worker,
    pub(crate) id: WorkerId,
    /// The machine of the Worker, as an index into the scenario's machines.
    pub(crate) plan: usize,
    /// Logs that are being read for clients. Each has the process that writes it, if this process was alive when the
    /// reading began.
    pub(crate) readings: BTreeMap<PeerId, Option<LogAuthor>>,
    /// When the Worker must have ended, if it is decommissioned.
    pub(crate) gone_by: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct DriverBody {
    pub(crate) machine: Driver,
    /// The application, as an index into the scenario's applications.
    pub(crate) app: usize,
    pub(crate) tasks: Tasks,
    pub(crate) questions: Questions,
    /// The tasks that wait and have preferred hosts.
    pub(crate) waiting: Waiting,
    /// The application's id at the Master, and the driver's connection to the Master.
    pub(crate) registration: Option<(AppId, PeerId)>,
    pub(crate) headcount: ExecutorRequests,
    /// The executors that the driver may accept.
    pub(crate) entrance: Entrance,
    /// Executors whose registration is among the effects that are not performed yet. A task that ended as unfit in this
    /// event could not use them.
    pub(crate) newcomers: BTreeSet<ExecutorId>,
}

#[derive(Debug)]
pub(crate) struct ExecutorBody {
    pub(crate) machine: Executor,
    pub(crate) process: ExecutorProcess,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeEvent {
    Master(master::Event),
    Worker(worker::Event),
    Driver(driver::Event),
    Launcher(launcher::Event),
    Executor(executor::Event),
}

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
        Self { body, connections: Vec::new(), alarm: None, woken: (0, 0), events: 0, waiting: None }
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
            | Self::Standby { .. }
            | Self::Stranger => true,
            Self::Gone => false,
        }
    }

    /// Whether this node's machine handles the event.
    pub(crate) fn hears(&self, event: &NodeEvent) -> bool {
        match event {
            NodeEvent::Master(_) => matches!(self, Self::Master(_)),
            NodeEvent::Worker(_) => matches!(self, Self::Worker(_)),
            NodeEvent::Driver(_) => matches!(self, Self::Driver(_)),
            NodeEvent::Launcher(_) => matches!(self, Self::Launcher(_)),
            NodeEvent::Executor(_) => matches!(self, Self::Executor(_)),
        }
    }

    /// Applies the event to the machine. `None` if the machine does not handle events of this kind.
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
                | Self::Standby { .. }
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
            Self::Command(_) | Self::Stranger | Self::Standby { .. } | Self::Gone => None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), Violation> {
        match self {
            Self::Master(machine) => machine.check(),
            Self::Worker(body) => body.machine.check(),
            Self::Driver(body) => body.machine.check(),
            Self::Launcher(body) => body.machine.check(),
            Self::Executor(body) => body.machine.check(),
            Self::Command(_) | Self::Stranger | Self::Standby { .. } | Self::Gone => Ok(()),
        }
    }

    /// The reservations that a Master keeps for waiting gangs.
    pub(crate) fn reservations(&self) -> Vec<master::ReservationView> {
        match self {
            Self::Master(machine) => machine.reservations(),
            Self::Worker(_)
            | Self::Driver(_)
            | Self::Launcher(_)
            | Self::Executor(_)
            | Self::Command(_)
            | Self::Stranger
            | Self::Standby { .. }
            | Self::Gone => Vec::new(),
        }
    }

    /// The machine's deadline event. All messages that arrived before `heard_until` have been handled.
    pub(crate) fn deadline(&self, heard_until: Timestamp) -> Option<NodeEvent> {
        match self {
            Self::Master(_) => Some(NodeEvent::Master(master::Event::Deadline { heard_until })),
            Self::Worker(_) => Some(NodeEvent::Worker(worker::Event::Deadline)),
            Self::Driver(_) => Some(NodeEvent::Driver(driver::Event::Deadline)),
            Self::Launcher(_) => Some(NodeEvent::Launcher(launcher::Event::Deadline)),
            Self::Executor(_) => Some(NodeEvent::Executor(executor::Event::Deadline)),
            Self::Command(_) | Self::Stranger | Self::Standby { .. } | Self::Gone => None,
        }
    }

    /// The machine's event for the end of a connection.
    pub(crate) fn disconnected(&self, peer: PeerId) -> Option<NodeEvent> {
        match self {
            Self::Master(_) => Some(NodeEvent::Master(master::Event::Disconnected { peer })),
            Self::Worker(_) => Some(NodeEvent::Worker(worker::Event::Disconnected { peer })),
            Self::Driver(_) => Some(NodeEvent::Driver(driver::Event::Disconnected { peer })),
            Self::Launcher(_) => Some(NodeEvent::Launcher(launcher::Event::Disconnected { peer })),
            Self::Executor(_) => Some(NodeEvent::Executor(executor::Event::Disconnected)),
            Self::Command(_) | Self::Stranger | Self::Standby { .. } | Self::Gone => None,
        }
    }

    /// The name of the node in traces.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Master(_) => "master".to_owned(),
            Self::Worker(body) => body.id.to_string(),
            Self::Driver(body) => format!("driver {}", body.app),
            Self::Launcher(body) => format!("launcher {}", body.app),
            Self::Command(process) => format!("executor {}", process.key),
            Self::Executor(body) => format!("executor {}", body.process.key),
            Self::Stranger => "stranger".to_owned(),
            Self::Standby { .. } => "standby Master".to_owned(),
            Self::Gone => "gone".to_owned(),
        }
    }
}
