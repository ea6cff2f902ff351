//! A read-only copy of a Master's tables.

use super::Master;
use crate::messages::MasterView;

impl Master {
    /// A copy of the tables, for status pages and the command line.
    #[must_use]
    pub fn view(&self) -> MasterView {
        MasterView {
            url: self.config.url.clone(),
            workers: self.workers.views(),
            applications: self.applications.queue().map(super::application::Application::view).collect(),
            completed: self.applications.completed().cloned().collect(),
        }
    }
}
