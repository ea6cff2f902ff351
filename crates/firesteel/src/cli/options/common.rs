//! Arguments of several commands.

use std::io::{self, BufRead as _};

use clap::Args;
use firesteel_daemons::secret::file_keyring::keyring_of;
use firesteel_host::daemon::{Announcement, Lifetime};
use firesteel_host::net::Keyring;
use firesteel_protocol::secret::Secret;
use firesteel_settings::Properties;
use firesteel_settings::master::credentials_optional_until;

use crate::cli::exit::{Exit, Failure};

/// Flags for programs that start daemons and must make sure that these daemons end.
#[derive(Clone, Copy, Debug, Args)]
pub(in crate::cli) struct DaemonFlags {
    /// Print one line of JSON when ready
    #[arg(long, hide = true)]
    announce: bool,
    /// End when standard input ends
    #[arg(long, hide = true)]
    until_stdin_closes: bool,
    /// Be part of a local cluster, whose secret is the first line of standard input
    #[arg(long, hide = true, requires = "until_stdin_closes")]
    local_cluster: bool,
}

impl DaemonFlags {
    pub(in crate::cli) fn announcement(self) -> Announcement {
        if self.announce { Announcement::OnStdout } else { Announcement::InLog }
    }

    pub(in crate::cli) fn lifetime(self) -> Lifetime {
        if self.until_stdin_closes { Lifetime::UntilStdinCloses } else { Lifetime::UntilAsked }
    }

    /// The keys of the daemon: those of its local cluster, or else those of the file that these properties name.
    pub(in crate::cli) fn keyring(self, properties: &Properties) -> Result<Option<Keyring>, Failure> {
        match self.local_cluster()? {
            Some(secret) => Ok(Some(Keyring::of_local_cluster(&secret))),
            None => {
                let until =
                    credentials_optional_until(properties).map_err(|error| Failure::setting(&error))?;
                keyring_of(properties, until).map_err(|error| Failure::with(Exit::Configuration, &error))
            }
        }
    }

    /// Reads the secret of the local cluster, if the daemon is part of one. Without a valid secret, this is an error.
    fn local_cluster(self) -> Result<Option<Secret>, Failure> {
        if !self.local_cluster {
            return Ok(None);
        }
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        match (read, line.strip_suffix('\n')) {
            (Ok(_), Some(secret)) if !secret.is_empty() => Ok(Some(Secret::new(secret))),
            (Ok(_), _) => Err(Failure::of(Exit::Usage, "standard input has no line with the secret")),
            (Err(error), _) => Err(Failure::of(Exit::Failure, format!("cannot read the secret: {error}"))),
        }
    }
}
