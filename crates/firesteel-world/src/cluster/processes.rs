//! Fake processes: what an executor's program and a task's program do.

use std::collections::BTreeMap;

use bytes::Bytes;
use firesteel_core::ids::{AttemptId, ExecutorKey, ProfileId};
use firesteel_core::process::{ExitStatus, Signal};
use firesteel_placement::{Cores, Resources, TaskResources};

use super::faults::Fault;
use super::world::NodeIndex;
use firesteel_sim::dice::Dice;

/// What an executor's process does once it was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExecutorFate {
    /// It serves its driver.
    Serves,
    /// So does this one, but it cannot be asked to end.
    IgnoresTerminate,
    /// It serves, and dies after that time.
    DiesAfter { millis: u64, status: ExitStatus },
    /// It ends before it dials anybody.
    EndsAtOnce { status: ExitStatus },
    /// It neither dials anybody nor ends.
    Hangs,
    /// It is a command: it works for so long, and ends so.
    Works { millis: u64, status: ExitStatus },
    /// It never becomes a process.
    CannotStart,
}

impl ExecutorFate {
    /// What becomes of a process that is not what it should be, and the fault that this is.
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

/// An executor's process.
#[derive(Debug)]
pub(crate) struct ExecutorProcess {
    pub(crate) key: ExecutorKey,
    /// The Worker that started it.
    pub(crate) worker: NodeIndex,
    /// The application whose driver it serves: an index into the scenario's.
    pub(crate) app: usize,
    pub(crate) cores: Cores,
    /// Its addresses.
    pub(crate) resources: Resources,
    pub(crate) fate: ExecutorFate,
    pub(crate) phase: ProcessPhase,
    pub(crate) tasks: BTreeMap<AttemptId, TaskProcess>,
    /// Its resource profile.
    pub(crate) profile: ProfileId,
    /// Since when it serves its driver and has no task.
    pub(crate) idle_since: Option<u64>,
    /// When it was first signalled.
    pub(crate) asked_at: Option<u64>,
}

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessPhase {
    /// It is being started.
    Starting,
    /// It runs since then.
    Running { since: u64 },
}

impl ExecutorProcess {
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.phase, ProcessPhase::Running { .. })
    }

    /// Whether it was asked to end seconds ago, listens, and has nothing that it must wait for.
    pub(crate) fn should_have_ended(&self, now: u64) -> bool {
        let was_asked = self.asked_at.is_some_and(|at| now - at > 5_000);
        was_asked && self.fate == ExecutorFate::Serves && self.tasks.is_empty()
    }

    /// Cores of the tasks that run in it.
    pub(crate) fn cores_in_use(&self) -> Cores {
        self.tasks.values().map(|task| task.cores).sum()
    }
}

/// A task's process.
#[derive(Debug)]
pub(crate) struct TaskProcess {
    pub(crate) program: Program,
    pub(crate) cores: Cores,
    /// What it takes of the executor's addresses.
    pub(crate) asked: TaskResources,
    /// Those that it may use.
    pub(crate) given: Resources,
    pub(crate) is_started: bool,
    /// Bytes that may be read before more is allowed.
    pub(crate) allowed: u64,
    /// Its output is thrown away.
    pub(crate) is_drained: bool,
    /// Bytes that were read, by stream.
    pub(crate) read: [u64; 2],
    /// Bytes that it writes, by stream.
    pub(crate) output: [u64; 2],
    /// When its work is done. `None`: never.
    pub(crate) works_until: Option<u64>,
    pub(crate) status: ExitStatus,
    pub(crate) ignores_terminate: bool,
    /// A step of it is on the way.
    pub(crate) has_step: bool,
    /// It waits for credit, and has been counted for it.
    pub(crate) has_waited: bool,
}

/// What a task's process does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TaskStep {
    /// A piece of output is read.
    Output { stream: usize, bytes: Bytes },
    /// More output than is allowed: it waits.
    Waits,
    /// It works until then.
    Works { until: u64 },
    /// It never ends by itself.
    Hangs,
    /// It has ended.
    Ends { status: ExitStatus },
}

impl TaskProcess {
    /// What happens next, at that time.
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

    /// A signal comes. Whether it changes anything.
    pub(crate) fn signal(&mut self, signal: Signal, now: u64) -> bool {
        let number = match signal {
            Signal::Terminate if self.ignores_terminate => return false,
            Signal::Terminate => 15,
            Signal::Kill => 9,
        };
        self.status = ExitStatus::Signal(number);
        self.works_until = Some(now);
        // What it would have written later, it does not write.
        self.output = self.read;
        true
    }
}

/// A task's program: it always writes the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) app: usize,
    pub(crate) task: usize,
}

/// What all programs write, each from another place on. It does not repeat itself within what one program
/// writes, so that a piece which is lost, doubled or out of order is found.
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
    /// The piece of a stream that begins there. At most half the text in length.
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
