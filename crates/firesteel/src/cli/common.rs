//! Arguments that several commands have.

use clap::Args;
use firesteel_host::daemon::{Announcement, Life};

/// Flags for programs that start daemons and must not leave them behind.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Held {
    /// Print one line of JSON when ready
    #[arg(long, hide = true)]
    announce: bool,
    /// End when standard input ends
    #[arg(long, hide = true)]
    until_stdin_closes: bool,
}

impl Held {
    pub(super) fn announcement(self) -> Announcement {
        if self.announce { Announcement::OnStdout } else { Announcement::InLog }
    }

    pub(super) fn life(self) -> Life {
        if self.until_stdin_closes { Life::UntilStdinCloses } else { Life::UntilAsked }
    }
}
