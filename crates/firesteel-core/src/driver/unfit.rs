//! Tasks that no executor could ever run, or none of those that are there.

use std::fmt;

use firesteel_placement::{TaskAmount, TaskResources};

use super::{Driver, Note};
use crate::ids::ProfileId;
use crate::messages::TaskSpec;
use crate::wire::MAX_FRAME;

/// The most that an executor's addresses take on the wire. Those of a task travel with it.
pub(super) const MAX_ADDRESSES: usize = 1 << 20;
/// The longest task on the wire: its frame holds little else but its addresses.
pub(super) const MAX_TASK: usize = MAX_FRAME - MAX_ADDRESSES - 1024;

/// Why no executor could ever run a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is too long to be sent to any.
    TooLong {
        /// Its bytes on the wire.
        length: usize,
        /// How many there may be.
        limit: usize,
    },
    /// It asks for executors of a resource profile that was never added.
    NoSuchProfile {
        /// Which.
        profile: ProfileId,
    },
    /// It takes more of a custom resource than an executor of its profile has.
    TooFewAddresses {
        /// Which resource.
        name: String,
        /// What it takes.
        asked: TaskAmount,
        /// How many addresses each executor has.
        each: u64,
    },
}

/// `it takes 2 of gpu, and an executor of its profile has 1`.
impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { length, limit } => {
                write!(f, "it is too long: {length} bytes on the wire, and {limit} at most")
            }
            Self::NoSuchProfile { profile } => write!(f, "there is no resource profile {profile}"),
            Self::TooFewAddresses { name, asked, each } => {
                write!(f, "it takes {asked} of {name}, and an executor of its profile has {each}")
            }
        }
    }
}

impl Driver {
    /// Why no executor could ever run a task, if none could.
    pub(super) fn unfit(
        &self,
        spec: &TaskSpec,
        profile: ProfileId,
        resources: &TaskResources,
    ) -> Option<Unfit> {
        let (length, limit) = (spec.wire_length(), MAX_TASK);
        if length > limit {
            return Some(Unfit::TooLong { length, limit });
        }
        let Some(amounts) = self.targets.resources(profile) else {
            return Some(Unfit::NoSuchProfile { profile });
        };
        let each = |name| amounts.get(name).copied().unwrap_or(0);
        let too_few = resources.iter().find(|(name, asked)| each(*name) < asked.addresses());
        let (name, &asked) = too_few?;
        Some(Unfit::TooFewAddresses { name: name.clone(), asked, each: each(name) })
    }

    /// Says once for each size of task that no executor of its profile is large enough.
    pub(super) fn note_too_large(&mut self) {
        let too_large = self.tasks.waiting().needs().filter_map(|(needs, task)| {
            let openings = self.executors.openings(needs.profile);
            let largest = openings.most_cores().or(self.targets.cores(needs.profile))?;
            (needs.cores > largest).then_some((needs.profile, needs.cores, largest, task))
        });
        for (profile, cores, largest, task) in too_large.collect::<Vec<_>>() {
            if self.said_too_large.insert((profile, cores)) {
                self.note(Note::TaskTooLarge { task, cores, largest });
            }
        }
    }
}
