//! Tasks that no executor could ever run, or none of those that are there.

use std::fmt;

use firesteel_placement::words::counted;
use firesteel_placement::{Cores, TaskAmount};

use super::{Driver, Effect, Note, TaskOutcome, TaskRequest};
use crate::ids::{ExecutorId, ProfileId, TaskId};
use crate::wire::MAX_FRAME;

/// The most that an executor's addresses take on the wire. Those of a task travel with it.
pub(super) const MAX_ADDRESSES: usize = 1 << 20;
/// The longest task on the wire: its frame holds little else but its addresses.
pub(super) const MAX_TASK: usize = MAX_FRAME - MAX_ADDRESSES - 1024;

/// Why no executor can run a task.
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
        /// The number of its resource profile.
        profile: ProfileId,
    },
    /// It takes more of a custom resource than an executor of its profile has.
    TooFewAddresses {
        /// The name, as given.
        name: String,
        /// The amount that it asks for.
        asked: TaskAmount,
        /// How many addresses each executor has.
        each: u64,
    },
    /// The only executor that it may run on is not there, or is of another profile.
    NoSuchExecutor {
        /// The executor's number.
        executor: ExecutorId,
    },
    /// It takes more cores than the only executor that it may run on has.
    TooFewCores {
        /// The executor's number.
        executor: ExecutorId,
        /// The cores that it asks for.
        asked: Cores,
        /// What the executor has.
        has: Cores,
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
            Self::NoSuchExecutor { executor } => {
                write!(f, "there is no executor {executor} of its profile, or not any more")
            }
            Self::TooFewCores { executor, asked, has } => {
                write!(f, "it takes {}, and executor {executor} has {has}", counted(asked.0, "core"))
            }
        }
    }
}

impl Driver {
    /// Why no executor could ever run a task, if none could.
    pub(super) fn unfit(&self, request: &TaskRequest) -> Option<Unfit> {
        let TaskRequest { spec, profile, resources, on, .. } = request;
        let (length, limit) = (spec.wire_length(), MAX_TASK);
        if length > limit {
            return Some(Unfit::TooLong { length, limit });
        }
        let Some(amounts) = self.targets.resources(*profile) else {
            return Some(Unfit::NoSuchProfile { profile: *profile });
        };
        if let Some(unfit) = on.and_then(|executor| self.unfit_for(executor, request)) {
            return Some(unfit);
        }
        let each = |name| amounts.get(name).copied().unwrap_or(0);
        let too_few = resources.iter().find(|(name, asked)| each(*name) < asked.addresses());
        let (name, &asked) = too_few?;
        Some(Unfit::TooFewAddresses { name: name.clone(), asked, each: each(name) })
    }

    /// Why a task cannot run on the only executor that it may run on, if it never can.
    fn unfit_for(&self, executor: ExecutorId, request: &TaskRequest) -> Option<Unfit> {
        let row = self.executors.get(executor).filter(|row| row.profile == request.profile);
        let Some(row) = row else { return Some(Unfit::NoSuchExecutor { executor }) };
        let (asked, has) = (request.spec.cores_taken(), row.cores);
        (asked > has).then_some(Unfit::TooFewCores { executor, asked, has })
    }

    /// The tasks that may run on that executor alone, which has gone, go with it.
    pub(super) fn end_bound_to(&mut self, executor: ExecutorId) {
        let bound: Vec<TaskId> = self.tasks.waiting().bound_to(executor).collect();
        for task in bound {
            self.tasks.give_up(task);
            let outcome = TaskOutcome::Unfit(Unfit::NoSuchExecutor { executor });
            self.effects.push(Effect::TaskEnded { task, outcome });
        }
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
                self.effects.note(Note::TaskTooLarge { task, cores, largest });
            }
        }
    }
}
