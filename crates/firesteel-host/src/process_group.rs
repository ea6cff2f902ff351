//! A child process that leads a process group: signalling the group, and how the leader ended.

use std::io;
use std::os::unix::process::ExitStatusExt;

use firesteel_core::process::{ExitStatus, Signal};
use nix::sys::signal::{self, killpg};
use nix::unistd::Pid;
use tokio::process::Child;

/// A group, by its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessGroup(Pid);

impl ProcessGroup {
    /// The group of a child that was started to lead one and was not waited for.
    pub fn of(leader: &Child) -> Self {
        let pid = leader.id().expect("a process that was not waited for has an id");
        Self(Pid::from_raw(i32::try_from(pid).expect("Linux's process ids fit")))
    }

    /// The leader's process id.
    pub fn leader(self) -> u32 {
        self.0.as_raw().unsigned_abs()
    }

    /// Signals every process in the group. It may have ended meanwhile. As long as it has members its id is
    /// nobody else's; where it had none the id has been free for the moment since the leader was waited for.
    pub fn signal(self, signal: Signal) {
        let signal = match signal {
            Signal::Terminate => signal::Signal::SIGTERM,
            Signal::Kill => signal::Signal::SIGKILL,
        };
        let _ = killpg(self.0, signal);
    }
}

/// How a process ended, out of what waiting for it gave.
pub fn exit_status(waited: io::Result<std::process::ExitStatus>) -> ExitStatus {
    match waited {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => ExitStatus::Code(code),
            (None, Some(signal)) => ExitStatus::Signal(signal),
            (None, None) => unreachable!("a process ends with a code or by a signal"),
        },
        Err(error) => {
            tracing::error!("cannot get the exit status of a process, reporting code 255: {error}");
            ExitStatus::Code(255)
        }
    }
}
