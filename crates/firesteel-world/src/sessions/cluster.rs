//! The fake driver of a session, with its executors and tasks.

use std::collections::{BTreeMap, BTreeSet};

use firesteel_engine::driver::{
    ExecutorLoss, ExecutorView, ExecutorViewState, FailureCause, Note, RefusedProfile, Replacement,
    TaskOutcome, View,
};
use firesteel_engine::session::Shortfalls;
use firesteel_placement::explain::shortfall::{Amounts, Missing, Reason};
use firesteel_placement::{Cores, ExecutorLimit, Resources, Shortfall};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, AttemptId, ExecutorId, ProfileId, TaskId, WorkerId};
use firesteel_protocol::messages::{ExecutorState, TaskEnd};
use firesteel_protocol::process::ExitStatus;
use firesteel_sim::dice::Dice;

/// The tables of a fake driver.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) state: DriverState,
    /// Whether a Master has the application.
    pub(super) has_master: bool,
    targets: BTreeMap<ProfileId, u64>,
    executors: BTreeMap<ExecutorId, ExecutorView>,
    next_executor: u32,
    /// Tasks that have not ended.
    pub(super) tasks: BTreeSet<TaskId>,
}

/// The state of the fake driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DriverState {
    /// The driver runs.
    Open,
    /// The driver does not end when it is told to.
    Hanging,
    /// The application is over.
    Over,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            state: DriverState::Open,
            has_master: true,
            targets: BTreeMap::from([(ProfileId::DEFAULT, 2)]),
            executors: BTreeMap::new(),
            next_executor: 0,
            tasks: BTreeSet::new(),
        }
    }
}

impl Cluster {
    pub(super) fn is_up(&self) -> bool {
        self.state != DriverState::Over
    }

    pub(super) fn registered() -> Note {
        Note::Registered { app: AppId::new("app-1"), master: Address::new("master", 7077) }
    }

    pub(super) fn view(&self) -> View {
        let limit = |(profile, total): (&ProfileId, &u64)| (*profile, ExecutorLimit::AtMost(*total));
        View {
            app: Some(AppId::new("app-1")),
            master: None,
            submitted: 0,
            waiting: 0,
            running: self.tasks.len(),
            succeeded: 0,
            failed: 0,
            cancelled: 0,
            failed_attempts: 0,
            targets: self.targets.iter().map(limit).collect(),
            executors: self.executors.values().cloned().collect(),
        }
    }

    /// The Master assigns a missing executor, if there is one.
    pub(super) fn assign(&mut self) -> Option<ExecutorId> {
        let held = |profile| self.executors.values().filter(|executor| executor.profile == profile).count();
        let missing = self.targets.iter().find(|(profile, total)| (held(**profile) as u64) < **total);
        let profile = *missing?.0;
        let id = ExecutorId(self.next_executor);
        self.next_executor += 1;
        let executor = ExecutorView {
            id,
            profile,
            worker: WorkerId::new("worker-1"),
            host: "host1".to_owned(),
            cores: Cores(2),
            resources: Resources::default(),
            state: ExecutorViewState::Announced,
            running: Vec::new(),
        };
        self.executors.insert(id, executor);
        Some(id)
    }

    /// An assigned executor registers.
    pub(super) fn register(&mut self, id: ExecutorId) -> Option<Note> {
        let executor = self.executors.get_mut(&id)?;
        executor.state = ExecutorViewState::Offering;
        let (profile, host, cores) = (executor.profile, executor.host.clone(), executor.cores);
        Some(Note::ExecutorRegistered { executor: id, profile, host, cores })
    }

    /// An executor ends. A replacement may be assigned later.
    pub(super) fn lose(&mut self, id: ExecutorId, state: ExecutorState) -> Option<Note> {
        let host = self.executors.remove(&id)?.host;
        Some(Note::ExecutorLost { executor: id, host, loss: ExecutorLoss::Ended(state), tasks: 0 })
    }

    pub(super) fn any(&self) -> Option<ExecutorId> {
        self.executors.keys().next().copied()
    }

    /// The user changes the number of executors of a profile, or the change is refused.
    pub(super) fn request(&mut self, dice: &mut Dice, profile: ProfileId, total: u64) -> Note {
        if dice.one_in(5) {
            return Note::TargetIsDynamic { total };
        }
        self.targets.insert(profile, total);
        Note::TargetSet { profile, total }
    }

    /// The user adds a profile, or the profile is refused.
    pub(super) fn add(&mut self, dice: &mut Dice, profile: ProfileId, total: u64) -> Option<Note> {
        if dice.one_in(5) {
            return Some(Note::ProfileRefused { profile, reason: RefusedProfile::TooMany });
        }
        self.targets.insert(profile, total);
        None
    }

    /// The user ends executors.
    pub(super) fn kill(&mut self, executors: &[ExecutorId], replacement: Replacement) {
        for id in executors {
            let Some(executor) = self.executors.get_mut(id) else { continue };
            executor.state = ExecutorViewState::Leaving;
            if let (Replacement::Unwanted, Some(total)) =
                (replacement, self.targets.get_mut(&executor.profile))
            {
                *total = total.saturating_sub(1);
            }
        }
    }

    /// The shortfalls that the Master reports. `None` if no Master has the application.
    pub(super) fn explain(&self) -> Option<Shortfalls> {
        let shortfall = Shortfall {
            missing: Missing::Executors { missing: 1, of: 2 },
            asked: Amounts::default(),
            reason: Reason::NoWorkers,
        };
        self.has_master.then(|| vec![(ProfileId::DEFAULT, shortfall)])
    }
}

/// A random outcome of a task that ends by itself.
pub(super) fn outcome(dice: &mut Dice, task: TaskId, failing: u64) -> TaskOutcome {
    let (attempt, executor) = (AttemptId { task, attempt: 0 }, ExecutorId(0));
    if !dice.one_in(failing) {
        return TaskOutcome::Succeeded { attempt, executor, locality: None };
    }
    let code = *dice.pick(&[1, 3, 130]);
    let cause = FailureCause::Ended(TaskEnd::Exited(ExitStatus::Code(code)));
    TaskOutcome::Failed { attempt, executor, locality: None, failures: 1, cause }
}
