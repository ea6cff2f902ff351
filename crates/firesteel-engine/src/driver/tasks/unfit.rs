//! Tasks that no executor can ever run.

use std::fmt;

use firesteel_placement::advanced::resources::TaskAmount;
use firesteel_placement::advanced::words::counted;
use firesteel_placement::{Amount, Cores};
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::wire::MAX_FRAME;

use crate::driver::{Driver, Effect, Note, TaskOutcome, TaskRequest};

/// The maximum number of bytes that an executor's addresses take on the wire. A task's addresses are sent
/// with it.
pub(in crate::driver) const MAX_ADDRESSES: usize = 1 << 20;
/// The maximum number of bytes that a task takes on the wire, without its addresses.
pub(in crate::driver) const MAX_TASK: usize = MAX_FRAME - MAX_ADDRESSES - 1024;

/// Why no executor can run a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The task is too long for a message.
    TooLong {
        /// The number of bytes that it takes on the wire.
        length: usize,
        /// The maximum number of bytes.
        limit: usize,
    },
    /// Its resource profile was never added.
    NoSuchProfile {
        /// The number of the resource profile.
        profile: ProfileId,
    },
    /// It takes more of a custom resource than an executor of its profile has.
    TooFewAddresses {
        /// The name of the resource.
        name: String,
        /// The amount that it asks for.
        asked: TaskAmount,
        /// What each executor has.
        each: Amount,
    },
    /// The executor that it is bound to does not exist, or has another profile.
    NoSuchExecutor {
        /// The executor's number.
        executor: ExecutorId,
    },
    /// It takes more cores than the executor that it is bound to has.
    TooFewCores {
        /// The executor's number.
        executor: ExecutorId,
        /// The cores that it asks for.
        asked: Cores,
        /// The number of cores that the executor has.
        has: Cores,
    },
}

/// Written as `it takes 2 of gpu, and an executor of its profile has 1`.
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
                write!(f, "its profile has no executor {executor}, or this executor has ended")
            }
            Self::TooFewCores { executor, asked, has } => {
                write!(f, "it takes {}, and executor {executor} has {has}", counted(asked.0, "core"))
            }
        }
    }
}

impl Driver {
    /// Why no executor can ever run a task, if so.
    pub(in crate::driver) fn unfit(&self, request: &TaskRequest) -> Option<Unfit> {
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
        let each = |name: &str| TaskAmount::of_amounts(amounts, name);
        let too_few = resources.iter().find(|(name, asked)| asked.tasks_on(each(name)) == Some(0));
        let (name, &asked) = too_few?;
        Some(Unfit::TooFewAddresses { name: name.clone(), asked, each: each(name) })
    }

    /// Why the executor that a task is bound to can never run it, if so.
    fn unfit_for(&self, executor: ExecutorId, request: &TaskRequest) -> Option<Unfit> {
        let row = self.executors.get(executor).filter(|row| row.profile == request.profile);
        let Some(row) = row else { return Some(Unfit::NoSuchExecutor { executor }) };
        let (asked, has) = (request.spec.cores_taken(), row.cores);
        (asked > has).then_some(Unfit::TooFewCores { executor, asked, has })
    }

    /// Ends the tasks that are bound to an executor that is gone.
    pub(in crate::driver) fn end_bound_to(&mut self, executor: ExecutorId) {
        let bound: Vec<TaskId> = self.tasks.waiting().bound_to(executor).collect();
        for task in bound {
            self.tasks.give_up(task);
            let outcome = TaskOutcome::Unfit(Unfit::NoSuchExecutor { executor });
            self.effects.push(Effect::TaskEnded { task, outcome });
        }
    }

    /// Writes a note, once for each size, about tasks that are too large for every executor of their profile.
    pub(in crate::driver) fn note_too_large(&mut self) {
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

firesteel_protocol::kinds!("unfit", Unfit: TooLong NoSuchProfile TooFewAddresses NoSuchExecutor TooFewCores);
