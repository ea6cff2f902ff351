//! The phases of the daemon, from serving to its end.

use firesteel_protocol::time::Timestamp;

/// Whether the daemon runs normally, leaves or shuts down.
///
/// ```text
///            Shutdown           Shutdown              Shutdown, or give_up
///  SERVING -----------> ENDING ----------> KILLING -----------------------> OVER
///   |  |               ^   +--- all executors have ended, or give_up -------^ ^ ^
///   |  | asked to      | Shutdown, or the time is over                        | |
///   |  | leave         |                                                      | |
///   |  +---------> DRAINING --- all executors have ended ---------------------+ |
///   +------------- no Master, or refused ---------------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShutdownPhase {
    /// The Worker runs and takes executors.
    Serving,
    /// The Worker takes no more executors, and ends after its last one. Executors that still run at `until` are ended.
    Draining { until: Option<Timestamp> },
    /// The Master has a message about the end, and every executor was asked to end. At `give_up`, all executors have
    /// been killed for a while. Then the daemon ends even if an executor is left.
    Ending { give_up: Timestamp },
    /// The daemon was asked twice to end, so every executor was killed.
    Killing { give_up: Timestamp },
    /// The daemon has the order to end. Events no longer matter.
    Over,
}

impl ShutdownPhase {
    /// Whether the Worker searches for a Master if it has none.
    pub(crate) fn wants_master(self) -> bool {
        match self {
            Self::Serving | Self::Draining { .. } => true,
            Self::Ending { .. } | Self::Killing { .. } | Self::Over => false,
        }
    }
}
