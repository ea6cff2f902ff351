//! How a machine without a secret becomes a Worker, and how an administrator admits it.
//!
//! The machine and the Master have encrypted their connection, without knowing of each other. From its keys both make
//! the same number, which nobody in between can bring about. A person who sees it at the machine gives it to the
//! Master.

use serde::{Deserialize, Serialize};

use super::{Requester, Rights};
use crate::secret::Secret;
use crate::time::Timestamp;
use crate::version::Version;
use crate::wire::Message;

/// The most characters of a host's name that a Master remembers.
pub const LONGEST_HOST: usize = 255;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum JoiningToMaster {
    /// Asks for the credentials of a Worker. A machine that is told to wait asks again on the same connection.
    RequestJoin { host: String },
    /// Admits the machine that shows this number.
    ApproveJoin { number: String, by: Requester },
    /// Asks which machines wait.
    RequestWaiting { by: Requester },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, crate::Kind)]
pub enum MasterToJoining {
    /// No administrator has admitted the machine yet.
    JoinPending,
    /// The credentials of a Worker, as they are in a file.
    JoinApproved {
        credentials: Secret,
    },
    JoinRefused {
        why: String,
    },
    /// This machine is admitted.
    ApproveResponse(WaitingMachine),
    ApproveRefused {
        why: String,
    },
    WaitingResponse(Vec<WaitingMachine>),
}

/// A machine that waits for an administrator. Its number is not among what Masters tell: it is read at the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingMachine {
    /// The name that the machine gives itself.
    pub host: String,
    /// The address from which it has connected.
    pub from: String,
    pub since: Timestamp,
}

impl JoiningToMaster {
    /// Gives the requester the name of the user whom the connection's secret proves.
    pub fn prove(&mut self, user: Option<&str>, rights: Rights) {
        match self {
            Self::RequestJoin { .. } => {}
            Self::ApproveJoin { by, .. } | Self::RequestWaiting { by } => by.prove(user, rights),
        }
    }
}

/// The number of a connection in the form in which people read it: `0123-4567-8901-2345`.
#[must_use]
pub fn number(channel: u64) -> String {
    let number = channel % 10_000_000_000_000_000;
    let part = |unit: u64| number / unit % 10_000;
    format!("{:04}-{:04}-{:04}-{:04}", part(1_000_000_000_000), part(100_000_000), part(10_000), part(1))
}

impl Message for JoiningToMaster {
    fn since(&self) -> Version {
        Version(9)
    }
}

impl Message for MasterToJoining {
    fn since(&self) -> Version {
        Version(9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_sixteen_digits() {
        assert_eq!(number(0), "0000-0000-0000-0000");
        assert_eq!(number(123_456_789_012_345), "0123-4567-8901-2345");
        assert_eq!(number(u64::MAX), "6744-0737-0955-1615");
    }
}
