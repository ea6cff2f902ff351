//! The files of applications. They are fetched once for all executors of an application on this Worker.

use firesteel_protocol::ids::{AppId, FetchId};
use firesteel_protocol::messages::ApplicationFiles;
use firesteel_protocol::process::{StartFailure, StartStep};
use firesteel_protocol::time::Timestamp;

use super::tables::{Process, Wanted};
use super::{Effect, ExecutorPlan, Note, Worker};

impl Worker {
    /// If the plan's files have been fetched, returns the plan with their names. Otherwise keeps the plan until they
    /// are fetched, and starts the fetch unless it is running.
    pub(super) fn want_files(&mut self, files: ApplicationFiles, plan: ExecutorPlan) -> Option<ExecutorPlan> {
        let app = plan.executor.app.clone();
        match self.files.want(&files, plan) {
            Wanted::There(plan) => Some(plan),
            Wanted::Awaited => None,
            Wanted::ToFetch(fetch) => {
                let (count, bytes, source) = (files.files.len(), files.bytes(), files.source.clone());
                self.effects.note(Note::FetchingFiles { app: app.clone(), files: count, bytes, source });
                self.effects.push(Effect::FetchFiles { fetch, app, files });
                None
            }
        }
    }

    pub(super) fn remove_files(&mut self, app: &AppId) {
        if self.files.remove(app) {
            self.effects.push(Effect::RemoveFiles { app: app.clone() });
        }
    }

    /// Removes an application's files if its last executor on this Worker has ended, and the application may have
    /// ended, too.
    pub(super) fn remove_doubtful_files(&mut self, app: &AppId) {
        if self.files.are_doubtful(app) {
            self.remove_files(app);
        }
    }

    pub(super) fn remove_all_files(&mut self) {
        self.effects.extend(self.files.remove_all().map(|app| Effect::RemoveFiles { app }));
    }

    pub(super) fn on_files_fetched(&mut self, app: AppId, fetch: FetchId) {
        let Some(plans) = self.files.end_fetch(&app, fetch) else {
            self.effects.note(Note::StrayFetch { app });
            return;
        };
        self.effects.note(Note::FilesFetched { app });
        for plan in plans {
            self.executors.no_longer_waits(&plan.executor);
            self.effects.push(Effect::StartExecutor(plan));
        }
    }

    /// Handles a failed fetch: the waiting executors fail. The next launch fetches the files again.
    pub(super) fn on_files_failed(&mut self, now: Timestamp, app: AppId, fetch: FetchId, error: String) {
        let Some(plans) = self.files.end_fetch(&app, fetch) else {
            self.effects.note(Note::StrayFetch { app });
            return;
        };
        self.files.remove(&app);
        self.effects.note(Note::FilesFailed { app, error: error.clone() });
        for plan in plans {
            let failure = StartFailure { step: StartStep::Files, error: error.clone() };
            self.on_not_started(now, Process::Executor(plan.executor), failure.into());
        }
    }

    /// Marks all files as doubtful, because a Master has registered the Worker. The Master will not report which
    /// applications ended before.
    pub(super) fn recheck_files(&mut self) {
        self.files.recheck_all();
        let unused: Vec<AppId> =
            self.files.apps().filter(|app| !self.executors.has_live(app)).cloned().collect();
        for app in unused {
            self.remove_files(&app);
        }
    }
}
