//! The directories of ended executors: which of them to remove, so that they do not fill the disk.
//!
//! Directories of old applications are removed by age (see `application_directories.rs`). Many small executors can fill
//! a disk long before that. So the number and the total size of executors' directories are limited, too.

use firesteel_protocol::ids::{AppId, ExecutorKey};

use super::{EarlierDirectory, Effect, Note, Worker};

impl Worker {
    pub(super) fn on_directory_left(&mut self, executor: ExecutorKey, bytes: u64) {
        if self.config.cleanup.is_some() && !self.executors.lives(&executor) {
            self.executor_directories.add(executor, bytes);
            self.remove_surplus();
        }
    }

    pub(super) fn on_earlier_found(&mut self, mut directories: Vec<EarlierDirectory>) {
        if self.config.cleanup.is_some() {
            directories.retain(|directory| !self.executors.lives(&directory.executor));
            self.executor_directories.add_earlier(directories);
            self.remove_surplus();
        }
    }

    /// Marks the directory of a starting executor as in use. The directory may exist from an earlier start.
    pub(super) fn use_directory(&mut self, executor: &ExecutorKey) {
        self.executor_directories.forget(executor);
    }

    /// Drops all directories of an application, because its whole directory is removed.
    pub(super) fn forget_directories(&mut self, app: &AppId) {
        self.executor_directories.forget_application(app);
    }

    fn remove_surplus(&mut self) {
        let Some(cleanup) = &self.config.cleanup else { return };
        let executors = self.executor_directories.take_surplus(cleanup);
        if !executors.is_empty() {
            self.effects.note(Note::SurplusRemoved { executors: executors.len() });
            self.effects.push(Effect::RemoveExecutorDirectories { executors });
        }
    }
}
