//! Simulated processes: the programs of executors and of tasks.

use std::collections::BTreeMap;

use bytes::Bytes;
use firesteel_placement::advanced::resources::TaskResources;
use firesteel_placement::{Cores, Resources};
use firesteel_protocol::ids::{AttemptId, ExecutorKey, ProfileId};
use firesteel_protocol::process::{ExitStatus, Signal};

use crate::cluster::faults::Fault;
use crate::cluster::world::NodeIndex;
use firesteel_sim::dice::Dice;

/// The behaviour of an executor's process after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExecutorFate {
    Serves,
    /// The process serves its driver, and ignores a request to end.
    IgnoresTerminate,
    /// The process serves its driver, and dies after this time.
    DiesAfter {
        millis: u64,
        status: ExitStatus,
    },
    /// The process ends before it connects to its driver.
    EndsAtOnce {
        status: ExitStatus,
    },
    /// The process neither connects to its driver nor ends.
    Hangs,
    /// The process is a command: it runs for this time, and exits with this status.
    Works {
        millis: u64,
        status: ExitStatus,
    },
    CannotStart,
}

impl ExecutorFate {
    /// A random faulty fate of a process, and the fault as which it is counted.
    pub(crate) fn faulty(dice: &mut Dice) -> (Self, Fault) {
        match dice.below(6) {
            0 => (Self::CannotStart, Fault::ExecutorCannotStart),
            1 => {
                let status = *dice.pick(&[ExitStatus::Code(1), ExitStatus::Signal(11)]);
                (Self::EndsAtOnce { status }, Fault::ExecutorCrashesAtOnce)
            }
            2 => (Self::EndsAtOnce { status: ExitStatus::SUCCESS }, Fault::ExecutorExitsZero),
            3 => (Self::IgnoresTerminate, Fault::ExecutorIgnoresTerminate),
            4 => {
                let status = *dice.pick(&[ExitStatus::Code(1), ExitStatus::Signal(9)]);
                (Self::DiesAfter { millis: dice.between(100, 20_000), status }, Fault::ExecutorCrashesLater)
            }
            _ => (Self::Hangs, Fault::ExecutorHangs),
        }
    }
}

#[derive(Debug)]
pub(crate) struct ExecutorProcess {
    pub(crate) key: ExecutorKey,
    pub(crate) worker: NodeIndex,
    /// The application whose driver the process serves, as an index into the scenario's applications.
    pub(crate) app: usize,
    pub(crate) cores: Cores,
    pub(crate) resources: Resources,
    pub(crate) fate: ExecutorFate,
    pub(crate) phase: ProcessPhase,
    pub(crate) tasks: BTreeMap<AttemptId, TaskProcess>,
    pub(crate) profile: ProfileId,
    /// Since when the process has served its driver without a task.
    pub(crate) idle_since: Option<u64>,
    /// When the process received its first signal.
    pub(crate) asked_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessPhase {
    Starting,
    /// The process has been running since this time.
    Running {
        since: u64,
    },
}

impl ExecutorProcess {
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.phase, ProcessPhase::Running { .. })
    }

    /// Whether the process was told to end seconds ago, obeys signals, and does not wait for anything.
    pub(crate) fn should_have_ended(&self, now: u64) -> bool {
        let was_asked = self.asked_at.is_some_and(|at| now - at > 5_000);
        was_asked && self.fate == ExecutorFate::Serves && self.tasks.is_empty()
    }

    /// The cores of the tasks that run in the process.
    pub(crate) fn cores_in_use(&self) -> Cores {
        self.tasks.values().map(|task| task.cores).sum()
    }
}

#[derive(Debug)]
pub(crate) struct TaskProcess {
    pub(crate) program: Program,
    pub(crate) cores: Cores,
    /// The custom resources that the task requests of its executor.
    pub(crate) asked: TaskResources,
    /// The addresses that the task may use.
    pub(crate) given: Resources,
    pub(crate) is_started: bool,
    /// The number of bytes of the task's output that may be read before more is allowed.
    pub(crate) allowed: u64,
    /// Whether the task's output is discarded.
    pub(crate) is_drained: bool,
    /// The number of bytes that were read, by stream.
    pub(crate) read: [u64; 2],
    /// The number of bytes that the task writes, by stream.
    pub(crate) output: [u64; 2],
    /// When the task's work is done. `None`: never.
    pub(crate) works_until: Option<u64>,
    pub(crate) status: ExitStatus,
    pub(crate) ignores_terminate: bool,
    /// Whether the task's next step is in the queue.
    pub(crate) has_step: bool,
    /// Whether the task waits for credit and has been counted for it.
    pub(crate) has_waited: bool,
}

/// The next step of a task's process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TaskStep {
    /// A piece of output is read.
    Output {
        stream: usize,
        bytes: Bytes,
    },
    /// More output exists than is allowed, so the process is blocked.
    Waits,
    /// The process works until this time.
    Works {
        until: u64,
    },
    /// The process never ends by itself.
    Hangs,
    Ends {
        status: ExitStatus,
    },
}

impl TaskProcess {
    /// The next step at this time.
    pub(crate) fn step(&mut self, now: u64, dice: &mut Dice) -> TaskStep {
        if !self.is_drained {
            let left = [0, 1].map(|stream| self.output[stream] - self.read[stream]);
            let stream = usize::from(left[0] == 0 || (left[1] > 0 && dice.one_in(2)));
            if left[stream] > 0 {
                if self.allowed == 0 {
                    return TaskStep::Waits;
                }
                let most = left[stream].min(self.allowed).min(4096);
                let length = if dice.one_in(3) { dice.between(1, most) } else { most };
                let bytes = self.program.output(stream, self.read[stream], length);
                self.read[stream] += length;
                self.allowed -= length;
                return TaskStep::Output { stream, bytes };
            }
        }
        match self.works_until {
            None => TaskStep::Hangs,
            Some(until) if until > now => TaskStep::Works { until },
            Some(_) => TaskStep::Ends { status: self.status },
        }
    }

    /// Receives a signal. Returns whether the signal changes anything.
    pub(crate) fn signal(&mut self, signal: Signal, now: u64) -> bool {
        let number = match signal {
            Signal::Terminate if self.ignores_terminate => return false,
            Signal::Terminate => 15,
            Signal::Kill => 9,
        };
        self.status = ExitStatus::Signal(number);
        self.works_until = Some(now);
        // It does not write the rest of its output.
        self.output = self.read;
        true
    }
}

/// A task's program, which always writes the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) app: usize,
    pub(crate) task: usize,
}

/// The text that all programs write, each from its own offset. The text does not repeat within the output of one
/// program. So lost, repeated and misplaced pieces are noticed.
static TEXT: [u8; TEXT_LENGTH] = text();
const TEXT_LENGTH: usize = 1 << 14;

const fn text() -> [u8; TEXT_LENGTH] {
    let mut text = [0; TEXT_LENGTH];
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut i = 0;
    while i < TEXT_LENGTH {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text[i] = state.to_le_bytes()[4];
        i += 1;
    }
    text
}

impl Program {
    /// The piece of a stream that begins at this offset. It is at most half as long as the text.
    pub(crate) fn output(self, stream: usize, from: u64, length: u64) -> Bytes {
        let start = (self.app * 7919 + self.task * 1009 + stream * 4001) as u64 + from;
        let start = usize::try_from(start).expect("it is small") % (TEXT_LENGTH / 2);
        let length = usize::try_from(length).expect("it is small");
        Bytes::from_static(&TEXT[start..start + length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_writes_the_same_however_it_is_read() {
        let program = Program { app: 1, task: 2 };
        let whole = program.output(0, 0, 100);
        let halves = [program.output(0, 0, 40), program.output(0, 40, 60)].concat();
        assert_eq!(whole, halves);
        assert_ne!(whole, program.output(1, 0, 100));
    }
}
