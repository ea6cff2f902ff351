//! The phases of the daemon, from serving to its end.

use firesteel_protocol::time::Timestamp;

/// Whether the daemon serves, leaves or shuts down.
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
    /// The Master was told, and every executor was asked to end. At `give_up` all executors have been killed for a
    /// while. Then the daemon ends even if one is left.
    Ending { give_up: Timestamp },
    /// The daemon was asked twice: every executor was killed.
    Killing { give_up: Timestamp },
    /// The shell was told to end the daemon. Events no longer matter.
    Over,
}

impl ShutdownPhase {
    /// Whether the Worker looks for a Master if it has none.
    pub(crate) fn wants_master(self) -> bool {
        match self {
            Self::Serving | Self::Draining { .. } => true,
            Self::Ending { .. } | Self::Killing { .. } | Self::Over => false,
        }
    }
}
