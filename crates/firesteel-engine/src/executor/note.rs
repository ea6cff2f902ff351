//! The notes of an executor, each a line of the log.

use std::time::Duration;

use firesteel_placement::Cores;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::ids::AttemptId;

/// A line of the log: its level, its text and its fields.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Note)]
#[kind("executor note")]
pub enum Note {
    #[note(Info, "registered with the driver")]
    Registered,
    /// The first dial failed.
    #[note(
        Warn,
        "cannot reach the driver: {error}; trying again for at most {} s",
        patience.as_secs_f64()
    )]
    Unreachable { error: String, patience: Duration },
    #[note(
        Warn,
        "the connection to the driver ended: tasks keep running; reconnecting for at most {} s",
        patience.as_secs_f64()
    )]
    Away { patience: Duration },
    #[note(Warn, "nothing arrived from the driver for {} s: closing the connection", silence.as_secs_f64())]
    DriverSilent { silence: Duration },
    /// The driver accepted the executor again, which sends these messages again.
    #[note(
        Info,
        "back at the driver after {:.1} s; sending {} again",
        absent.as_secs_f64(),
        counted(*again, "message")
    )]
    Back { absent: Duration, again: usize },
    #[note(Warn, "ignored a repeated launch of task {attempt}")]
    RepeatedLaunch { attempt: AttemptId },
    #[note(Warn, "refused task {attempt}: it needs {}, and {free} are free", counted(cores.0, "core"))]
    TooFewCores { attempt: AttemptId, cores: Cores, free: Cores },
    #[note(Warn, "task {attempt} did not end after SIGTERM: sending SIGKILL")]
    GraceOver { attempt: AttemptId },
}
