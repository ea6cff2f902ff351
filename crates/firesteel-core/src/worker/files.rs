//! The files that applications bring, fetched once for all executors of an application here.

use std::collections::BTreeMap;

use super::executors::Executors;
use super::machine::Worker;
use super::obstacles::Process;
use super::{Effect, ExecutorPlan, Note};
use crate::ids::{AppId, ExecutorId, ExecutorKey, FetchId};
use crate::machine::{Violation, ensure};
use crate::messages::ApplicationFiles;
use crate::process::{StartFailure, StartStep};
use crate::time::Timestamp;

/// The table of files, by application.
#[derive(Debug, Default)]
pub(super) struct Files {
    apps: BTreeMap<AppId, AppFiles>,
    last: FetchId,
}

#[derive(Debug)]
struct AppFiles {
    names: Vec<String>,
    stage: Stage,
    until: Until,
}

/// The stages of an application's files.
///
/// ```text
///           launch              fetched
///  (none) ---------> FETCHING -----------> THERE
///     ^                 | failed             |
///     +-----------------+--------------------+  the application or the Worker ends
/// ```
#[derive(Debug)]
enum Stage {
    /// The shell is fetching them, and these executors wait.
    Fetching { fetch: FetchId, waiting: BTreeMap<ExecutorId, ExecutorPlan> },
    /// They were fetched: executors can start.
    There,
}

/// How long the files of an application are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// Until the Master says that the application has ended.
    Finished,
    /// Until no executor of the application is left here, or another one is launched. A Master has registered
    /// the Worker since, so the application may have ended without a message.
    Unused,
}

impl Files {
    /// The applications whose files are kept here or being fetched.
    pub(super) fn apps(&self) -> impl Iterator<Item = &AppId> {
        self.apps.keys()
    }

    /// An executor that waited for files does not wait any more.
    pub(super) fn forgo(&mut self, executor: &ExecutorKey) {
        let waiting = match self.apps.get_mut(&executor.app).map(|kept| &mut kept.stage) {
            Some(Stage::Fetching { waiting, .. }) => waiting,
            Some(Stage::There) | None => unreachable!("files that an executor waits for are being fetched"),
        };
        waiting.remove(&executor.executor);
    }

    /// The executors that waited for this fetch, or `None` if it is not awaited any more.
    fn end_fetch(&mut self, app: &AppId, fetch: FetchId) -> Option<Vec<ExecutorPlan>> {
        let AppFiles { stage, .. } = self.apps.get_mut(app)?;
        match stage {
            Stage::Fetching { fetch: awaited, .. } if *awaited != fetch => None,
            Stage::There => None,
            Stage::Fetching { waiting, .. } => {
                let plans = std::mem::take(waiting).into_values().collect();
                *stage = Stage::There;
                Some(plans)
            }
        }
    }

    /// Somebody removed the files of an application: the next launch fetches them again.
    pub(super) fn forget(&mut self, app: &AppId) {
        if self.apps.get(app).is_some_and(|kept| matches!(kept.stage, Stage::There)) {
            self.apps.remove(app);
        }
    }

    /// Checks that the waiting executors are those that the table of executors says.
    pub(super) fn check(&self, executors: &Executors) -> Result<(), Violation> {
        let mut all = 0;
        for (app, kept) in &self.apps {
            ensure!(
                "worker",
                kept.until == Until::Finished || executors.has_live(app),
                "files of {app} are kept, which may have ended and has no executor here"
            );
            let Stage::Fetching { waiting, .. } = &kept.stage else { continue };
            for (executor, plan) in waiting {
                let key = ExecutorKey { app: app.clone(), executor: *executor };
                ensure!("worker", plan.executor == key, "{} waits in the place of {key}", plan.executor);
                ensure!("worker", executors.awaits_files(&key), "{key} waits for files and does not know it");
            }
            all += waiting.len();
        }
        let expected = executors.awaiting_files();
        ensure!("worker", all == expected, "{expected} executors wait for files, {all} will be started");
        Ok(())
    }
}

impl Worker {
    /// Returns the plan with the names of its files if they were fetched. Otherwise keeps the plan until they
    /// are, and starts the fetch unless it is running.
    pub(super) fn want_files(
        &mut self,
        files: ApplicationFiles,
        mut plan: ExecutorPlan,
    ) -> Option<ExecutorPlan> {
        let ExecutorKey { app, executor } = plan.executor.clone();
        if let Some(kept) = self.files.apps.get_mut(&app) {
            kept.until = Until::Finished;
            plan.files = kept.names.clone();
            return match &mut kept.stage {
                Stage::There => Some(plan),
                Stage::Fetching { waiting, .. } => {
                    waiting.insert(executor, plan);
                    None
                }
            };
        }
        self.files.last = FetchId(self.files.last.0 + 1);
        let (fetch, names) = (self.files.last, files.names());
        plan.files = names.clone();
        let stage = Stage::Fetching { fetch, waiting: BTreeMap::from([(executor, plan)]) };
        self.files.apps.insert(app.clone(), AppFiles { names, stage, until: Until::Finished });
        let (count, bytes, source) = (files.files.len(), files.bytes(), files.source.clone());
        self.effects.note(Note::FetchingFiles { app: app.clone(), files: count, bytes, source });
        self.effects.push(Effect::FetchFiles { fetch, app, files });
        None
    }

    /// Removes the files of an application that has ended.
    pub(super) fn remove_files(&mut self, app: &AppId) {
        if self.files.apps.remove(app).is_some() {
            self.effects.push(Effect::RemoveFiles { app: app.clone() });
        }
    }

    /// Removes an application's files, if its last executor here has ended and it may have ended, too.
    pub(super) fn remove_doubtful_files(&mut self, app: &AppId) {
        if self.files.apps.get(app).is_some_and(|kept| kept.until == Until::Unused) {
            self.remove_files(app);
        }
    }

    /// Removes the files of all applications.
    pub(super) fn remove_all_files(&mut self) {
        let apps = std::mem::take(&mut self.files.apps);
        self.effects.extend(apps.into_keys().map(|app| Effect::RemoveFiles { app }));
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

    /// The files could not be fetched: the waiting executors fail. The next launch fetches them again.
    pub(super) fn on_files_failed(&mut self, now: Timestamp, app: AppId, fetch: FetchId, error: String) {
        let Some(plans) = self.files.end_fetch(&app, fetch) else {
            self.effects.note(Note::StrayFetch { app });
            return;
        };
        self.files.apps.remove(&app);
        self.effects.note(Note::FilesFailed { app, error: error.clone() });
        for plan in plans {
            let failure = StartFailure { step: StartStep::Files, error: error.clone() };
            self.on_not_started(now, Process::Executor(plan.executor), failure.into());
        }
    }

    /// A Master has registered the Worker. It will not tell which applications ended before.
    pub(super) fn doubt_files(&mut self) {
        for kept in self.files.apps.values_mut() {
            kept.until = Until::Unused;
        }
        let apps = self.files.apps.keys();
        let unused: Vec<AppId> = apps.filter(|app| !self.executors.has_live(app)).cloned().collect();
        for app in unused {
            self.remove_files(&app);
        }
    }
}
