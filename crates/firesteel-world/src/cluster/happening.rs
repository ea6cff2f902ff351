//! What will happen.

use firesteel_core::ids::{AppId, AttemptId, FetchId};
use firesteel_core::process::ExitStatus;

use super::links::{LinkIndex, Side};
use super::message::Message;
use super::node::NodeEvent;
use super::world::NodeIndex;

/// Something that will happen at its time.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// A message arrives at that side.
    Deliver { link: LinkIndex, side: Side, message: Message },
    /// That side learns that the connection ended.
    Hangup { link: LinkIndex, side: Side },
    /// A dial is answered, or not.
    Dial { node: NodeIndex, target: Target, answer: Answer },
    /// A node's alarm rings.
    Wake { node: NodeIndex, at: u64 },
    /// A node is told something, if it still lives.
    Tell { node: NodeIndex, event: NodeEvent },
    /// A Master starts.
    StartMaster,
    /// A Worker starts on that machine.
    StartWorker { plan: usize },
    /// An application's driver starts.
    StartDriver { app: usize },
    /// A task is handed to a driver; after the last one the input ends.
    Submit { node: NodeIndex, task: usize },
    /// An executor's process comes up, or fails to.
    ExecutorUp { node: NodeIndex },
    /// An executor's process ends.
    ExecutorEnd { node: NodeIndex, status: ExitStatus },
    /// An executor's process must have ended by now.
    DoomCheck { node: NodeIndex, doom: Doom },
    /// A Worker's fetch of an application's files comes to its end.
    FetchEnd { node: NodeIndex, app: AppId, fetch: FetchId, driver: usize, fails: bool },
    /// An executor that has been idle since then must have ended by now, unless it is wanted.
    IdleCheck { node: NodeIndex, since: u64 },
    /// A task's process comes up, or fails to.
    TaskUp { node: NodeIndex, attempt: AttemptId },
    /// A task's process goes on.
    TaskStep { node: NodeIndex, attempt: AttemptId },
    /// A fault strikes.
    Strike,
    /// A stranger says something, and has so much left to say.
    Speak { node: NodeIndex, role: StrangerRole, left: u64 },
    /// From now on nothing goes wrong any more.
    Calm,
    /// Applications that were left without executors ask for some; those that can never end are given up.
    Mend { round: u32 },
    /// What the Master believes is held against what runs.
    Audit,
}

/// Why an executor's process must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doom {
    /// Its Worker died.
    Orphaned,
    /// Its Worker was told to end it.
    Ordered,
}

/// Who is dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Master,
    /// The driver of that application.
    Driver(usize),
}

/// What becomes of a dial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is taken, if somebody is there.
    Taken,
    Refused,
    TimesOut,
}

/// What a stranger pretends to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StrangerRole {
    Worker,
    Driver,
    Executor,
    Client,
    Master,
    /// An executor that floods its driver with output.
    Impostor,
}
