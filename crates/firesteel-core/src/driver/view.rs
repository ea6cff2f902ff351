//! A read-only copy of the driver's tables, for the progress bar and for tests.

use firesteel_placement::Cores;

use super::Driver;
use super::executors::{Executor, State};
use crate::address::Address;
use crate::ids::{AppId, ExecutorId, TaskId, WorkerId};

/// A driver's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The application's latest id.
    pub app: Option<AppId>,
    /// The Master that has it, while it is connected.
    pub master: Option<Address>,
    /// Tasks that were submitted.
    pub submitted: u64,
    /// Tasks that wait for a core.
    pub waiting: usize,
    /// Tasks that run.
    pub running: usize,
    /// Tasks that succeeded.
    pub succeeded: u64,
    /// Tasks that were given up.
    pub failed: u64,
    /// Attempts that failed, those of tasks that succeeded later too.
    pub failed_attempts: u64,
    /// Executors that have not ended, by number.
    pub executors: Vec<ExecutorView>,
}

/// An executor, as its driver sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorView {
    /// Its number.
    pub id: ExecutorId,
    /// Its Worker.
    pub worker: WorkerId,
    /// Its host.
    pub host: String,
    /// Its cores.
    pub cores: Cores,
    /// Where it stands.
    pub state: ExecutorViewState,
    /// The tasks that run on it, in order.
    pub running: Vec<TaskId>,
}

/// Where an executor stands at its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutorViewState {
    /// Assigned by the Master and not yet heard from.
    Announced,
    /// It takes tasks.
    Offering,
    /// It ends by itself and takes no more tasks.
    Leaving,
    /// Its connection ended, and the Master has not said how it ended.
    Silent,
}

impl Driver {
    /// A copy of the tables as they are.
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
            failed_attempts: tally.failed_attempts,
            executors: self.executors.iter().map(|(id, executor)| view_of(id, executor)).collect(),
        }
    }
}

fn view_of(id: ExecutorId, executor: &Executor) -> ExecutorView {
    let state = match executor.state {
        State::Announced => ExecutorViewState::Announced,
        State::Offering(_) => ExecutorViewState::Offering,
        State::Leaving(_) => ExecutorViewState::Leaving,
        State::Silent(_) => ExecutorViewState::Silent,
    };
    ExecutorView {
        id,
        worker: executor.worker.clone(),
        host: executor.host.clone(),
        cores: executor.cores,
        state,
        running: executor.running().iter().copied().collect(),
    }
}
