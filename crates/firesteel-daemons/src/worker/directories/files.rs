//! The files of applications on a Worker: how they are fetched, stored and removed. The jobs of one application run one
//! after the other.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use firesteel_protocol::byte_text;
use firesteel_protocol::executor_trouble::SET_DRIVER_HOST;
use firesteel_protocol::ids::{AppId, FetchId};
use firesteel_protocol::messages::{ApplicationFiles, FileKind};
use firesteel_worker::Event;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::files::fetch::{FetchError, Fetcher};
use crate::files::private;
use crate::files::unpack::{UnpackError, unpack};
use crate::worker::directories::work_directory::WorkDirectory;
use crate::worker::runner::RunnerContext;
use firesteel_host::inbox::Inbox;
use firesteel_host::net::Introduction;

const END_TIMEOUT: Duration = Duration::from_secs(10);

/// The store of applications' files on this Worker.
#[derive(Debug)]
pub struct FileStore {
    context: Arc<RunnerContext>,
    /// The current or last job of each application.
    jobs: BTreeMap<AppId, Job>,
    tasks: TaskTracker,
}

#[derive(Debug)]
struct Job {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

#[derive(Debug, thiserror::Error)]
enum StoreError {
    #[error("{name:?} from {}: {error}{}", files.source, remedy(error))]
    Fetch { name: String, files: Arc<ApplicationFiles>, error: FetchError },
    #[error("{name:?}: {error}")]
    Unpack { name: String, error: UnpackError },
    #[error("cannot use {path:?}: {error}")]
    Directory { path: PathBuf, error: io::Error },
}

/// Advice for the user, if a file cannot be fetched because the driver cannot be reached.
fn remedy(error: &FetchError) -> String {
    match error {
        FetchError::Dial(_) => format!(": {SET_DRIVER_HOST}"),
        FetchError::Conversation(_)
        | FetchError::HungUp { .. }
        | FetchError::Refused { .. }
        | FetchError::Changed
        | FetchError::Write { .. }
        | FetchError::Stopped => String::new(),
    }
}

impl FileStore {
    #[must_use]
    pub fn new(context: Arc<RunnerContext>) -> Self {
        Self { context, jobs: BTreeMap::new(), tasks: TaskTracker::new() }
    }

    /// Fetches an application's files. The inbox receives [`Event::FilesFetched`] or [`Event::FilesFailed`], unless the
    /// files are removed before the fetch is complete.
    pub fn fetch(&mut self, fetch: FetchId, app: AppId, files: ApplicationFiles, inbox: Inbox<Event>) {
        let context = Arc::clone(&self.context);
        self.begin(app.clone(), move |stop| async move {
            let paths = FilePaths::of(&context, &app);
            let event = match fill(&paths, Arc::new(files), &context.introduction, &stop).await {
                Ok(()) => Event::FilesFetched { app, fetch },
                Err(error) => {
                    paths.clear().await;
                    Event::FilesFailed { app, fetch, error: error.to_string() }
                }
            };
            if !stop.is_cancelled() {
                let _ = inbox.send(event).await;
            }
        });
    }

    /// Removes an application's files, even if the fetch is not complete.
    pub fn remove(&mut self, app: AppId) {
        let paths = FilePaths::of(&self.context, &app);
        self.begin(app, |_| async move { paths.clear().await });
    }

    /// The tasks of the store. [`finish`] waits for them after the store is dropped.
    #[must_use]
    pub fn tasks(&self) -> TaskTracker {
        self.tasks.clone()
    }

    /// Stops the application's previous job, waits for its end, and runs a new job.
    fn begin<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        app: AppId,
        work: impl FnOnce(CancellationToken) -> F + Send + 'static,
    ) {
        self.jobs.retain(|_, job| !job.task.is_finished());
        let stop = CancellationToken::new();
        let before = self.jobs.remove(&app);
        if let Some(job) = &before {
            job.stop.cancel();
        }
        let working = stop.clone();
        let task = self.tasks.spawn(async move {
            if let Some(job) = before {
                let _ = job.task.await;
            }
            work(working).await;
        });
        self.jobs.insert(app, Job { stop, task });
    }
}

/// Waits until all pending removals are done.
pub async fn finish(tasks: TaskTracker) {
    tasks.close();
    if timeout(END_TIMEOUT, tasks.wait()).await.is_err() {
        tracing::warn!("cannot remove all files of applications from the work directory");
    }
}

#[derive(Clone, Debug)]
struct FilePaths {
    work: WorkDirectory,
    id: AppId,
    /// The directory with the files, as executors see it.
    files: PathBuf,
    partial: PathBuf,
    /// An archive that has not been unpacked yet.
    archive: PathBuf,
}

impl FilePaths {
    fn of(context: &RunnerContext, app: &AppId) -> Self {
        let files = context.work.files_of_app(app, &context.worker);
        let with_suffix = |suffix| {
            let mut path = files.clone().into_os_string();
            path.push(suffix);
            PathBuf::from(path)
        };
        let (partial, archive) = (with_suffix(".partial"), with_suffix(".archive"));
        Self { work: context.work.clone(), id: app.clone(), files, partial, archive }
    }

    /// Removes all files. Then removes the application's directory if it is empty.
    async fn clear(&self) {
        let paths = self.clone();
        let clearing = spawn_blocking(move || {
            paths.clear_files();
            let _ = fs::remove_dir(paths.work.of_app(&paths.id));
        });
        clearing.await.expect("removing files does not panic");
    }

    fn clear_files(&self) {
        if self.work.leads_out(&self.work.of_app(&self.id)) {
            return;
        }
        let removed = [
            (&self.files, fs::remove_dir_all(&self.files)),
            (&self.partial, fs::remove_dir_all(&self.partial)),
            (&self.archive, fs::remove_file(&self.archive)),
        ];
        for (path, result) in removed {
            match result {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!("cannot remove {}: {error}", path.display());
                }
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// Fetches and unpacks all files. Executors see the directory only when it is complete.
async fn fill(
    paths: &FilePaths,
    files: Arc<ApplicationFiles>,
    introduction: &Introduction,
    stop: &CancellationToken,
) -> Result<(), StoreError> {
    let at = paths.clone();
    on_disk(&paths.partial, move || {
        // Remove what an earlier fetch for this application could not remove.
        at.clear_files();
        private::despite_removal(|| {
            at.work.make_app(&at.id)?;
            private::create_directory(&at.partial)
        })
    })
    .await?;
    let introduction = introduction.clone().with_application(files.secret.as_ref());
    let mut fetcher = Fetcher::new(files.source.clone(), introduction, stop.clone());
    for file in &files.files {
        let name = file.name.clone();
        let path = match file.kind {
            FileKind::Plain | FileKind::Executable => paths.partial.join(byte_text::os(&name)),
            FileKind::Archive(_) => paths.archive.clone(),
        };
        let fetched = fetcher.fetch(file, &path).await;
        fetched.map_err(|error| StoreError::Fetch {
            name: name.clone(),
            files: Arc::clone(&files),
            error,
        })?;
        if let FileKind::Archive(format) = file.kind {
            fetcher.hang_up();
            let (directory, stop) = (paths.partial.join(byte_text::os(&name)), stop.clone());
            let unpacking = spawn_blocking(move || {
                unpack(&path, format, &directory, &stop)?;
                fs::remove_file(&path).map_err(|error| UnpackError::Write { path, error })
            });
            let unpacked = unpacking.await.expect("unpacking does not panic");
            unpacked.map_err(|error| StoreError::Unpack { name, error })?;
        }
    }
    let (from, to) = (paths.partial.clone(), paths.files.clone());
    on_disk(&paths.files, move || fs::rename(from, to)).await
}

async fn on_disk(
    path: &Path,
    work: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> Result<(), StoreError> {
    let done = spawn_blocking(work).await.expect("working on a directory does not panic");
    done.map_err(|error| StoreError::Directory { path: path.to_owned(), error })
}
