//! Arguments that several commands have.

use clap::Args;
use firesteel_host::daemon::{Announcement, Lifetime};

/// Flags for programs that start daemons and must not leave them behind.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct DaemonFlags {
    /// Print one line of JSON when ready
    #[arg(long, hide = true)]
    announce: bool,
    /// End when standard input ends
    #[arg(long, hide = true)]
    until_stdin_closes: bool,
}

impl DaemonFlags {
    pub(super) fn announcement(self) -> Announcement {
        if self.announce { Announcement::OnStdout } else { Announcement::InLog }
    }

    pub(super) fn lifetime(self) -> Lifetime {
        if self.until_stdin_closes { Lifetime::UntilStdinCloses } else { Lifetime::UntilAsked }
    }
}
