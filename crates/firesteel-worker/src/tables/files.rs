//! The files of applications, and the executors that wait for them.

use std::collections::BTreeMap;

use firesteel_protocol::ids::{AppId, ExecutorId, ExecutorKey, FetchId};
use firesteel_protocol::machine::{Violation, ensure};
use firesteel_protocol::messages::ApplicationFiles;

use super::executors::Executors;
use crate::ExecutorPlan;

#[derive(Debug, Default)]
pub(crate) struct Files {
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
    /// The daemon is fetching the files, and these executors wait.
    Fetching { fetch: FetchId, waiting: BTreeMap<ExecutorId, ExecutorPlan> },
    /// The files were fetched, so executors can start.
    There,
}

/// How long an application's files are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// Until the Master reports that the application has ended.
    Finished,
    /// Until no executor of the application is left on this Worker, or another one is launched. A Master has registered
    /// the Worker since the fetch, so the application may have ended without a message.
    Unused,
}

/// Whether an executor can use its application's files now.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// The files are there: the executor can start, with the files' names in its plan.
    There(ExecutorPlan),
    /// The files are being fetched, and the executor waits.
    Awaited,
    /// The files must be fetched, and the executor waits.
    ToFetch(FetchId),
}

impl Files {
    /// Requests these files for an executor that is to be started.
    pub(crate) fn want(&mut self, files: &ApplicationFiles, mut plan: ExecutorPlan) -> Wanted {
        let ExecutorKey { app, executor } = plan.executor.clone();
        if let Some(kept) = self.apps.get_mut(&app) {
            kept.until = Until::Finished;
            plan.files = kept.names.clone();
            return match &mut kept.stage {
                Stage::There => Wanted::There(plan),
                Stage::Fetching { waiting, .. } => {
                    waiting.insert(executor, plan);
                    Wanted::Awaited
                }
            };
        }
        self.last = FetchId(self.last.0 + 1);
        let (fetch, names) = (self.last, files.names());
        plan.files = names.clone();
        let stage = Stage::Fetching { fetch, waiting: BTreeMap::from([(executor, plan)]) };
        self.apps.insert(app, AppFiles { names, stage, until: Until::Finished });
        Wanted::ToFetch(fetch)
    }

    /// Removes the files of an application. Returns whether there were any.
    pub(crate) fn remove(&mut self, app: &AppId) -> bool {
        self.apps.remove(app).is_some()
    }

    pub(crate) fn remove_all(&mut self) -> impl Iterator<Item = AppId> + use<> {
        std::mem::take(&mut self.apps).into_keys()
    }

    /// Whether an application's files are kept only until its last executor on this Worker has ended.
    pub(crate) fn are_doubtful(&self, app: &AppId) -> bool {
        self.apps.get(app).is_some_and(|kept| kept.until == Until::Unused)
    }

    /// Marks all files as doubtful, because a Master has registered the Worker. The Master will not report which
    /// applications ended before.
    pub(crate) fn recheck_all(&mut self) {
        for kept in self.apps.values_mut() {
            kept.until = Until::Unused;
        }
    }

    /// The applications with files on this Worker, complete or being fetched.
    pub(crate) fn apps(&self) -> impl Iterator<Item = &AppId> {
        self.apps.keys()
    }

    /// Records that an executor no longer waits for files.
    pub(crate) fn forgo(&mut self, executor: &ExecutorKey) {
        let waiting = match self.apps.get_mut(&executor.app).map(|kept| &mut kept.stage) {
            Some(Stage::Fetching { waiting, .. }) => waiting,
            Some(Stage::There) | None => unreachable!("files that an executor waits for are being fetched"),
        };
        waiting.remove(&executor.executor);
    }

    /// The executors that waited for this fetch, or `None` if the fetch was given up.
    pub(crate) fn end_fetch(&mut self, app: &AppId, fetch: FetchId) -> Option<Vec<ExecutorPlan>> {
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

    /// Drops an application's files that somebody removed. The next launch fetches them again.
    pub(crate) fn forget(&mut self, app: &AppId) {
        if self.apps.get(app).is_some_and(|kept| matches!(kept.stage, Stage::There)) {
            self.apps.remove(app);
        }
    }

    /// Checks that the executors that wait for files here are exactly those that the table of executors marks as
    /// waiting for files.
    pub(crate) fn check(&self, executors: &Executors) -> Result<(), Violation> {
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
