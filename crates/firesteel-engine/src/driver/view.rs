//! A read-only copy of the driver's tables, for the driver's owner and for tests.

use firesteel_placement::{Cores, ExecutorLimit, Resources};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, ExecutorId, ProfileId, TaskId, WorkerId};

use super::Driver;
use super::executors::executor::{Executor, Fate, State, Trust};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The application's latest id.
    pub app: Option<AppId>,
    /// The Master that has registered the application, while this Master is connected.
    pub master: Option<Address>,
    pub submitted: u64,
    /// The number of tasks that wait for a core.
    pub waiting: usize,
    /// The number of running tasks, including tasks that are being ended.
    pub running: usize,
    pub succeeded: u64,
    pub failed: u64,
    /// The number of tasks that were cancelled one by one.
    pub cancelled: u64,
    /// The number of failed attempts, including those of tasks that succeeded later.
    pub failed_attempts: u64,
    pub targets: Vec<(ProfileId, ExecutorLimit)>,
    /// The executors that have not ended, by number.
    pub executors: Vec<ExecutorView>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorView {
    pub id: ExecutorId,
    pub profile: ProfileId,
    pub worker: WorkerId,
    pub host: String,
    pub cores: Cores,
    /// The addresses of the executor's custom resources. Empty until it has registered.
    pub resources: Resources,
    pub state: ExecutorViewState,
    /// The tasks that run on the executor, in order.
    pub running: Vec<TaskId>,
}

/// The state of an executor, as its driver sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutorViewState {
    /// The Master assigned the executor, which has not registered yet.
    Announced,
    /// The executor is excluded: it gets no tasks for some time.
    Excluded,
    /// The executor takes tasks, or all its cores are in use.
    Offering,
    /// The executor takes no more tasks, because it is shutting down by itself or on request.
    Leaving,
    /// The executor's connection ended. The executor has not returned, and the Master has not reported how it ended.
    Away,
}

impl Driver {
    #[must_use]
    pub fn view(&self) -> View {
        let tally = self.tasks.tally();
        View {
            app: self.registration.app().cloned(),
            master: self.registration.master().map(|(_, master)| master.clone()),
            submitted: tally.submitted,
            waiting: tally.waiting,
            running: tally.running,
            succeeded: tally.succeeded,
            failed: tally.failed,
            cancelled: tally.cancelled,
            failed_attempts: tally.failed_attempts,
            targets: self.targets.iter().collect(),
            executors: self.executors.iter().map(|(id, executor)| view_of(id, executor)).collect(),
        }
    }
}

fn view_of(id: ExecutorId, executor: &Executor) -> ExecutorView {
    let state = match (executor.state, executor.fate, executor.trust) {
        (State::Away { .. }, _, _) => ExecutorViewState::Away,
        (State::Leaving(_), _, _) | (_, Fate::Killed, _) => ExecutorViewState::Leaving,
        (State::Announced | State::Expected(_) | State::Offering(_), Fate::Wanted, Trust::Excluded) => {
            ExecutorViewState::Excluded
        }
        (State::Announced | State::Expected(_), Fate::Wanted, Trust::Trusted) => ExecutorViewState::Announced,
        (State::Offering(_), Fate::Wanted, Trust::Trusted) => ExecutorViewState::Offering,
    };
    ExecutorView {
        id,
        profile: executor.profile,
        worker: executor.worker.clone(),
        host: executor.host.clone(),
        cores: executor.cores,
        resources: executor.resources.clone(),
        state,
        running: executor.running().collect(),
    }
}
