//! The events in the world's queue.

use firesteel_protocol::Leadership;
use firesteel_protocol::ids::{AppId, AttemptId, DriverId, FetchId, PeerId};
use firesteel_protocol::process::ExitStatus;

use super::faults::absences::Probe;
use super::faults::election::Deposition;
use super::faults::leaving::Departure;
use super::faults::partitions::Partition;
use super::faults::stalls::Stall;
use super::network::links::{LinkIndex, Side};
use super::network::message::Message;
use super::processes::node::NodeEvent;
use super::world::NodeIndex;

/// An event in the world's queue.
#[derive(Clone, Debug)]
pub(crate) enum ScheduledEvent {
    /// A message arrives at this side of a connection.
    Deliver {
        link: LinkIndex,
        side: Side,
        message: Message,
    },
    /// This side learns that the connection ended.
    Hangup {
        link: LinkIndex,
        side: Side,
    },
    /// A connection attempt succeeds or fails.
    Dial {
        node: NodeIndex,
        target: Target,
        answer: Answer,
    },
    /// The alarm of a node is due.
    Wake {
        node: NodeIndex,
        at: u64,
    },
    /// A node receives an event, if the node is still alive.
    Tell {
        node: NodeIndex,
        event: NodeEvent,
    },
    /// A partition between two parties begins.
    Part(Partition),
    /// A Worker's connection stalls.
    Stall(Stall),
    /// An operator decommissions a Worker.
    Depart(Departure),
    Cut {
        link: LinkIndex,
    },
    /// A Master's question to the address of a Worker that is away is answered.
    Probe {
        master: NodeIndex,
        probe: Probe,
    },
    /// A busy Master handles the next message.
    MasterTurn {
        node: NodeIndex,
    },
    /// A Master begins to lead at this listener, unless another Master leads.
    StartMaster {
        listener: usize,
    },
    /// A standby Master starts at this listener, if the listener is empty.
    StandBy {
        listener: usize,
    },
    /// A standby Master at this listener learns of another leader.
    Follow {
        listener: usize,
    },
    /// The leader is deposed, immediately or after its messages were held up.
    Depose(Deposition),
    /// The lease of a leader ends. The former leader still receives messages for this many milliseconds.
    EndLease {
        node: NodeIndex,
        lingers: u64,
    },
    EndFormer {
        node: NodeIndex,
    },
    /// A Master's hello arrives at the peer that connected.
    Greet {
        node: NodeIndex,
        peer: PeerId,
        listener: usize,
        leadership: Leadership,
    },
    /// A write of the Master to its disk has ended.
    Synced {
        node: NodeIndex,
    },
    StartWorker {
        plan: usize,
    },
    StartDriver {
        app: usize,
    },
    /// A task is submitted to a driver. After the last task, the input ends.
    Submit {
        node: NodeIndex,
        task: usize,
    },
    /// An executor's process starts, or its start fails.
    ExecutorUp {
        node: NodeIndex,
    },
    ExecutorEnd {
        node: NodeIndex,
        status: ExitStatus,
    },
    /// The deadline by which an executor's process must have ended.
    KillCheck {
        node: NodeIndex,
        kill_reason: KillReason,
    },
    /// A paused process continues.
    GoOn {
        node: NodeIndex,
    },
    /// A Worker's fetch of an application's files ends.
    FetchEnd {
        node: NodeIndex,
        app: AppId,
        fetch: FetchId,
        driver: usize,
        fails: bool,
    },
    /// The time by which an executor that has been idle since `since` must have ended, unless it is wanted.
    IdleCheck {
        node: NodeIndex,
        since: u64,
    },
    /// A task's process starts, or its start fails.
    TaskUp {
        node: NodeIndex,
        attempt: AttemptId,
    },
    /// A task's process takes its next step.
    TaskStep {
        node: NodeIndex,
        attempt: AttemptId,
    },
    /// An operator submits the cluster driver with this number.
    SubmitDriver {
        plan: usize,
    },
    /// An operator asks for the end of some cluster driver.
    KillDriver,
    /// The process of a cluster driver starts, or its start fails.
    ClusterDriverUp {
        driver: DriverId,
        start: u64,
    },
    ClusterDriverEnd {
        driver: DriverId,
        start: u64,
        status: ExitStatus,
    },
    Strike,
    /// A stranger sends a message, and then has this many messages left to send.
    Speak {
        node: NodeIndex,
        role: StrangerRole,
        left: u64,
    },
    /// All faults stop for good.
    Calm,
    /// Applications without executors request some. Applications that can never end are cancelled.
    Mend,
    /// The Master's tables are compared with the running processes.
    Audit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillReason {
    /// The Worker of the executor died.
    Orphaned,
    /// The Worker was told to end the executor.
    Ordered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Master(usize),
    /// The driver of the application with this index.
    Driver(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The connection attempt succeeds, if the target is alive.
    Taken,
    Refused,
    TimesOut,
}

/// The role that a stranger plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StrangerRole {
    Worker,
    Driver,
    Executor,
    Client,
    Master,
    /// An executor that floods its driver with output under another executor's id.
    Impostor,
}
