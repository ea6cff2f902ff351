//! One attempt at a task, from its start to its end.

use firesteel_placement::Cores;
use firesteel_protocol::process::Signal;
use firesteel_protocol::time::Timestamp;

/// An attempt that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    cores: Cores,
    state: State,
}

/// The states of an attempt. Only a process can be signalled. So an attempt that is told to end while it starts ends
/// only after its process has started.
///
/// ```text
///  STARTING --told to end--> STOPPING ------.
///      |                        |          \ told to end hard
///      | started                | started   \
///      v                        v            v
///   RUNNING --told to end--> TERMINATING --grace over--> KILLING
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Starting,
    Stopping(Signal),
    Running,
    Terminating { kill_at: Timestamp },
    Killing,
}

/// The executor's next action for an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Nothing,
    Signal(Signal),
    /// Discard the attempt's output but keep reading it. Otherwise a process that blocks on writing could not end.
    DrainAndSignal(Signal),
}

impl Task {
    /// An attempt whose process is about to start.
    pub(super) fn new(cores: Cores) -> Self {
        Self { cores, state: State::Starting }
    }

    pub(super) fn cores(&self) -> Cores {
        self.cores
    }

    /// Whether the attempt has not been told to end yet.
    pub(super) fn is_wanted(&self) -> bool {
        matches!(self.state, State::Starting | State::Running)
    }

    /// When the attempt's grace period is over, if the attempt was told to end.
    pub(super) fn kill_at(&self) -> Option<Timestamp> {
        match self.state {
            State::Terminating { kill_at } => Some(kill_at),
            State::Starting | State::Stopping(_) | State::Running | State::Killing => None,
        }
    }

    /// The attempt's process runs.
    pub(super) fn started(&mut self, kill_at: Timestamp) -> Step {
        match self.state {
            State::Starting => {
                self.state = State::Running;
                Step::Nothing
            }
            State::Stopping(signal) => {
                self.state = after(signal, kill_at);
                Step::DrainAndSignal(signal)
            }
            State::Running | State::Terminating { .. } | State::Killing => Step::Nothing,
        }
    }

    /// Tells the attempt to end. After SIGTERM, its process has until `kill_at` to end by itself.
    pub(super) fn end(&mut self, signal: Signal, kill_at: Timestamp) -> Step {
        match (self.state, signal) {
            (State::Starting, _) => {
                self.state = State::Stopping(signal);
                Step::Nothing
            }
            (State::Stopping(earlier), _) => {
                self.state = State::Stopping(earlier.max(signal));
                Step::Nothing
            }
            (State::Running, _) => {
                self.state = after(signal, kill_at);
                Step::DrainAndSignal(signal)
            }
            (State::Terminating { .. }, Signal::Kill) => {
                self.state = State::Killing;
                Step::Signal(signal)
            }
            (State::Terminating { .. }, Signal::Terminate) | (State::Killing, _) => Step::Nothing,
        }
    }
}

fn after(signal: Signal, kill_at: Timestamp) -> State {
    match signal {
        Signal::Terminate => State::Terminating { kill_at },
        Signal::Kill => State::Killing,
    }
}
