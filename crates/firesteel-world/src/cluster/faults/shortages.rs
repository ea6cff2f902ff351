//! Shortages of processes: for some time, each executor of a machine can run only a few tasks, and its Worker may be
//! unable to start processes.

use firesteel_protocol::process::{Fault as FailureHistory, NotStarted, StartFailure, StartStep};

use super::Fault;
use crate::cluster::processes::node::Body;
use crate::cluster::world::{NodeIndex, World};
use firesteel_protocol::ids::AttemptId;
use firesteel_sim::dice::Dice;

/// A time during which a machine is short of processes.
#[derive(Clone, Debug)]
pub struct Shortage {
    pub machine: usize,
    /// The beginning, in milliseconds after the start. The shortage ends when the faults stop, at the latest.
    pub from: u64,
    /// The duration in milliseconds. It is shorter than the time after which a driver considers a shortage permanent.
    pub millis: u64,
    /// The maximum number of tasks that an executor can run. At 0, the Worker cannot start processes, either.
    pub most: usize,
}

impl Shortage {
    /// A random shortage: in one of four clusters with faults, on one machine.
    pub(crate) fn rolled(dice: &mut Dice, faults_until: u64, machines: usize) -> Option<Self> {
        let machine = dice.index(machines)?;
        let happens = faults_until > 0 && dice.one_in(4);
        let most = dice.index(3)?;
        happens.then(|| Self {
            machine,
            from: dice.below(faults_until),
            millis: dice.between(1_000, 30_000),
            most,
        })
    }
}

/// The error of a start without free processes.
pub(crate) fn no_processes() -> NotStarted {
    let error = "Resource temporarily unavailable".to_owned();
    NotStarted { failure: StartFailure { step: StartStep::Program, error }, fault: FailureHistory::Shortage }
}

impl World {
    /// The maximum number of processes of each executor on a Worker's machine now. `None`: no limit.
    fn most_processes(&self, worker: NodeIndex) -> Option<usize> {
        let Body::Worker(body) = &self.node(worker).body else { return None };
        let shortage = self.scenario.shortage.as_ref().filter(|_| self.is_rough())?;
        let is_now = (shortage.from..shortage.from + shortage.millis).contains(&self.now);
        (is_now && shortage.machine == body.plan).then_some(shortage.most)
    }

    /// Whether a Worker can start no process now.
    pub(crate) fn starts_nothing(&self, worker: NodeIndex) -> bool {
        self.most_processes(worker) == Some(0)
    }

    /// Whether an executor cannot start a process for this task, because the executor has reached its limit of
    /// processes.
    pub(crate) fn meets_shortage(&mut self, node: NodeIndex, attempt: AttemptId) -> bool {
        let Some(process) = self.process(node) else { return false };
        let others =
            process.tasks.iter().filter(|(other, task)| **other != attempt && task.is_started).count();
        let is_met = self.most_processes(process.worker).is_some_and(|most| others >= most);
        if is_met {
            self.fault(Fault::TaskMeetsShortage);
        }
        is_met
    }
}
