//! Tasks that no executor can ever run.

use firesteel_placement::advanced::resources::TaskAmount;
use firesteel_placement::advanced::words::counted;
use firesteel_placement::{Amount, Cores};
use firesteel_protocol::ids::{ExecutorId, ProfileId, TaskId};
use firesteel_protocol::wire::MAX_FRAME;

use crate::driver::{Driver, Effect, Note, TaskOutcome, TaskRequest};

/// The maximum number of bytes that an executor's addresses take on the wire. A task is sent together with its
/// addresses.
pub(in crate::driver) const MAX_ADDRESSES: usize = 1 << 20;
/// The maximum number of bytes that a task takes on the wire, without its addresses.
pub(in crate::driver) const MAX_TASK: usize = MAX_FRAME - MAX_ADDRESSES - 1024;

/// Why no executor can run a task.
#[derive(Clone, Debug, PartialEq, Eq, firesteel_protocol::Kind, firesteel_protocol::Display)]
#[kind("unfit")]
pub enum Unfit {
    /// The task is too long for a message.
    #[display("it is too long: {length} bytes on the wire, and {limit} at most")]
    TooLong {
        /// The number of bytes that the task takes on the wire.
        length: usize,
        limit: usize,
    },
    /// The task's resource profile was never added.
    #[display("there is no resource profile {profile}")]
    NoSuchProfile { profile: ProfileId },
    /// The task takes more of a custom resource than an executor of its profile has.
    #[display("it takes {asked} of {name}, and an executor of its profile has {each}")]
    TooFewAddresses { name: String, asked: TaskAmount, each: Amount },
    /// The executor that the task is bound to does not exist, or has another profile.
    #[display("its profile has no executor {executor}, or this executor has ended")]
    NoSuchExecutor { executor: ExecutorId },
    /// The task takes more cores than the executor that it is bound to has.
    #[display("it takes {}, and executor {executor} has {has}", counted(asked.0, "core"))]
    TooFewCores { executor: ExecutorId, asked: Cores, has: Cores },
}

impl Driver {
    /// Why no executor can ever run a task. `None` if an executor can.
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

    /// Why the executor to which a task is bound can never run it. `None` if this executor can.
    fn unfit_for(&self, executor: ExecutorId, request: &TaskRequest) -> Option<Unfit> {
        let row = self.executors.get(executor).filter(|row| row.profile == request.profile);
        let Some(row) = row else { return Some(Unfit::NoSuchExecutor { executor }) };
        let (asked, has) = (request.spec.cores_taken(), row.cores);
        (asked > has).then_some(Unfit::TooFewCores { executor, asked, has })
    }

    /// Ends the tasks that are bound to an ended executor.
    pub(in crate::driver) fn end_bound_to(&mut self, executor: ExecutorId) {
        let bound: Vec<TaskId> = self.tasks.waiting().bound_to(executor).collect();
        for task in bound {
            self.tasks.give_up(task);
            let outcome = TaskOutcome::Unfit(Unfit::NoSuchExecutor { executor });
            self.effects.push(Effect::TaskEnded { task, outcome });
        }
    }

    /// Notes that tasks are too large for every executor of their profile. Each size is noted once.
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
