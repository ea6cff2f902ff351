//! The notes of an executor, each a line of the log.

use firesteel_placement::Cores;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::ids::AttemptId;

/// A line of the log: its level, its text and its fields.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Note)]
#[kind("executor note")]
pub enum Note {
    #[note(Info, "registered with the driver")]
    Registered,
    #[note(Warn, "ignored a repeated launch of task {attempt}")]
    RepeatedLaunch { attempt: AttemptId },
    #[note(Warn, "refused task {attempt}: it needs {}, and {free} are free", counted(cores.0, "core"))]
    TooFewCores { attempt: AttemptId, cores: Cores, free: Cores },
    #[note(Warn, "task {attempt} did not end after SIGTERM: sending SIGKILL")]
    GraceOver { attempt: AttemptId },
}
