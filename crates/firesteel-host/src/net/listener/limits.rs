//! The permits for connections: how many a daemon may have open, and which are reserved.
//!
//! Each connection is an open file, and the operating system limits those. If connections used all of them, the daemon
//! could open no file, and no client could connect to find out what is wrong. So there are three kinds of permits. A
//! stranger that never identifies itself, or a cluster that is too large for the limit, uses up only one kind, and no
//! machine uses all permits of a kind. Machines share the memory for messages that have not arrived completely, too.

use std::fmt;
use std::sync::Arc;

use firesteel_protocol::wire::Role;
use nix::sys::resource::{Resource, getrlimit};

use crate::places::{Entrance, Machine, Share, Shares, TooMuch};

/// Advice that says how to raise the limit of open files of a process.
pub(super) const HOW_TO_RAISE: &str = "(ulimit -n, or LimitNOFILE= of its service)";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    /// Connections that are still in their handshake.
    half_open: usize,
    /// Connections of clients, on which a person waits for an answer.
    clients: usize,
    others: usize,
}

impl Numbers {
    /// Leaves a quarter of the open files, but no more than 1,024, to the daemon itself.
    fn within(open_files: u64) -> Self {
        let open_files = usize::try_from(open_files).unwrap_or(usize::MAX);
        let own = (open_files / 4).min(1024);
        let (half_open, clients) = ((open_files / 8).min(512), (open_files / 8).min(1024));
        let others = (open_files - own - half_open - clients).min(1 << 16);
        Self { half_open, clients, others }
    }
}

#[derive(Clone, Debug)]
pub(in crate::net) struct ConnectionLimits {
    pub(super) entrance: Arc<Entrance>,
    clients: Arc<Shares>,
    others: Arc<Shares>,
    /// The bytes of messages that have not arrived completely.
    partial: Arc<Shares>,
}

/// The permit of a connection. Dropping it frees the permit.
#[derive(Debug)]
pub struct ConnectionPermit {
    _place: Share,
    machine: Machine,
    partial: Arc<Shares>,
}

impl ConnectionPermit {
    /// The account for the incomplete messages of this connection.
    #[must_use]
    pub fn partial(&self) -> PartialBytes {
        let shares = Arc::clone(&self.partial);
        PartialBytes { machine: self.machine, shares, held: None }
    }
}

/// The memory that the message of one connection takes while it arrives, from what all connections share.
#[derive(Debug)]
pub struct PartialBytes {
    machine: Machine,
    shares: Arc<Shares>,
    held: Option<(usize, Share)>,
}

/// A message that would take too much of the memory for incomplete messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "too many long messages are arriving at the same time: {} bytes from its machine and {} in all are incomplete, of {most} \
     bytes that this process keeps for them",
    taken.of_machine,
    taken.in_all
)]
pub struct TooMuchArrives {
    taken: TooMuch,
    most: usize,
}

impl PartialBytes {
    /// Messages up to this length are not counted: every connection may have one.
    pub const FREE: usize = 16 << 10;

    /// Counts a message of which this number of bytes has arrived. Less than [`FREE`](Self::FREE) gives everything
    /// back.
    ///
    /// # Errors
    /// The machine's incomplete messages would take too much.
    pub fn set(&mut self, bytes: usize) -> Result<(), TooMuchArrives> {
        if bytes <= Self::FREE {
            self.held = None;
            return Ok(());
        }
        let most = self.shares.total();
        let failed = |taken| TooMuchArrives { taken, most };
        match &mut self.held {
            Some((held, share)) if *held <= bytes => {
                share.grow(bytes - *held).map_err(failed)?;
                *held = bytes;
            }
            held => {
                *held = None;
                *held = Some((bytes, self.shares.take(self.machine, bytes).map_err(failed)?));
            }
        }
        Ok(())
    }
}

/// Why a connection gets no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LimitReached {
    taken: TooMuch,
    most: usize,
    machine: Machine,
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { taken: TooMuch { of_machine, in_all }, most, machine } = self;
        write!(f, "{in_all} connections of its kind are open, {of_machine} of them from ")?;
        match machine {
            Some(machine) => write!(f, "{machine}")?,
            None => f.write_str("this machine")?,
        }
        write!(
            f,
            ". This process may have {most}, and leaves some to other machines: raise its limit of open files \
             {HOW_TO_RAISE}"
        )
    }
}

impl ConnectionLimits {
    /// The permits that fit this process's limit of open files. `partial` is the number of bytes of messages that have
    /// not arrived completely.
    pub(super) fn of_this_process(partial: usize) -> Self {
        let open_files = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
        let Numbers { half_open, clients, others } = Numbers::within(open_files);
        Self {
            entrance: Entrance::new(half_open),
            clients: Shares::new(clients),
            others: Shares::new(others),
            partial: Shares::new(partial),
        }
    }

    pub(super) fn take(&self, role: Role, machine: Machine) -> Result<ConnectionPermit, LimitReached> {
        let shares = match role {
            Role::Client | Role::Joining => &self.clients,
            Role::Master | Role::Standby | Role::Worker | Role::Driver | Role::Executor => &self.others,
        };
        let failed = |taken| LimitReached { taken, most: shares.total(), machine };
        let place = shares.take(machine, 1).map_err(failed)?;
        Ok(ConnectionPermit { _place: place, machine, partial: Arc::clone(&self.partial) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_messages_of_a_machine_are_counted_while_they_grow() {
        let shares = Shares::new(800_000);
        let of = |machine: Machine| PartialBytes { machine, shares: Arc::clone(&shares), held: None };
        let (mut one, mut two) = (of(None), of(None));
        one.set(PartialBytes::FREE).expect("a short message is not counted");
        one.set(300_000).and_then(|()| one.set(400_000)).expect("there is room");
        two.set(300_000).expect("seven eighths");
        let error = two.set(300_001).expect_err("something is left to others").to_string();
        assert!(error.contains("700000 bytes from its machine and 700000 in all"), "{error}");
        of(Some([192, 0, 2, 1].into())).set(5000 + PartialBytes::FREE).expect("another machine");
        one.set(0).expect("its message has arrived");
        two.set(700_000).expect("there is room again");
        drop(two);
        one.set(700_000).expect("a connection that has ended takes nothing");
    }

    #[test]
    fn some_open_files_are_left_whatever_the_limit() {
        for open_files in [0, 8, 20, 256, 1024, 4096, 1 << 20, u64::MAX] {
            let Numbers { half_open, clients, others } = Numbers::within(open_files);
            let taken = (half_open + clients + others) as u64;
            assert!(taken <= open_files - open_files / 4 || taken <= 70_000, "{open_files}: {taken}");
        }
        assert_eq!(Numbers::within(1024), Numbers { half_open: 128, clients: 128, others: 512 });
        assert_eq!(Numbers::within(1 << 20), Numbers { half_open: 512, clients: 1024, others: 1 << 16 });
    }
}
