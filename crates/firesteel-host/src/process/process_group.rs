//! A child process that leads a process group: how to signal the group, and the leader's exit status.

use std::io;
use std::os::unix::process::ExitStatusExt;

use firesteel_protocol::process::{ExitStatus, Signal};
use nix::sys::signal::{self, killpg};
use nix::unistd::Pid;
use tokio::process::Child;

/// A process group, identified by its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessGroup(Pid);

impl ProcessGroup {
    /// The group of a child that was started as its leader. The caller must not have waited for the child yet.
    pub fn of(leader: &Child) -> Self {
        Self::led_by(leader.id().expect("a process that was not waited for has an id"))
    }

    /// The group of a child with this id: see [`of`](Self::of).
    pub fn led_by(leader: u32) -> Self {
        Self(Pid::from_raw(i32::try_from(leader).expect("Linux's process ids fit")))
    }

    pub fn leader(self) -> u32 {
        self.0.as_raw().unsigned_abs()
    }

    /// Signals every process in the group. Does nothing if the group has ended. The signal never reaches another group:
    /// the id stays taken while the group has members, and until the leader was waited for.
    pub fn signal(self, signal: Signal) {
        let signal = match signal {
            Signal::Terminate => signal::Signal::SIGTERM,
            Signal::Kill => signal::Signal::SIGKILL,
        };
        let _ = killpg(self.0, signal);
    }
}

/// The exit status of a process, from the result of waiting for it.
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
