//! Read-only copies of a Master's tables.

use firesteel_placement::Cores;

use super::Master;
use super::application::{Application, DEFAULT_MEMORY};
use crate::ids::{ExecutorKey, ProfileId};
use crate::messages::{ApplicationView, ExecutorView, MasterView};

impl Master {
    /// A copy of the tables, for status pages and the command line.
    #[must_use]
    pub fn view(&self) -> MasterView {
        MasterView {
            url: self.config.url.clone(),
            workers: self.workers.views(),
            applications: self.applications.queue().map(|app| self.view_of(app)).collect(),
            completed: self.applications.completed().cloned().collect(),
        }
    }

    /// A copy of a live application.
    pub(super) fn view_of(&self, app: &Application) -> ApplicationView {
        let mut executors: Vec<ExecutorView> = app.ended.iter().cloned().collect();
        executors.extend(self.live_executors(app));
        executors.sort_by_key(|executor| executor.id);
        ApplicationView {
            id: app.id.clone(),
            name: app.description.name.clone(),
            user: app.description.user.clone(),
            state: app.state,
            end: None,
            submitted: app.submitted,
            ended: None,
            max_cores: (app.max_cores < Cores::UNLIMITED).then_some(app.max_cores),
            cores_granted: app.cores_granted,
            memory_per_executor: app.profiles.get(&ProfileId::DEFAULT).map_or(DEFAULT_MEMORY, |p| p.memory),
            executors,
        }
    }

    /// Copies of an application's executors that have not ended, by number.
    fn live_executors(&self, app: &Application) -> impl Iterator<Item = ExecutorView> {
        app.executors.iter().map(|(id, executor)| {
            let key = ExecutorKey { app: app.id.clone(), executor: *id };
            let worker = self.workers.get(&executor.worker).expect("a live executor's Worker is alive");
            executor.view(&key, &worker.description)
        })
    }
}
