//! Workers that were killed together with their reapers: finds and ends their processes.
//!
//! Each Worker has a [lock file](LifeLock) in its work directory, and keeps this file locked while it lives:
//!
//! ```text
//! <work directory>/.firesteel-workers/<Worker>
//! ```
//!
//! The file has the path of the Worker's [control groups](ControlGroups), if it has any.
//!
//! A file without a lock belongs to a dead Worker. The Worker that finds such a file kills the processes in the dead
//! Worker's control groups, and those that carry its [marker](Marker::of_worker), and removes the file. No other Worker
//! has the same id. A Worker looks for these files at its start and when an application ends. The processes of living
//! Workers are left alone, even if these Workers share the directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use firesteel_protocol::ids::{WorkerId, is_sound};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::processes::{Marker, kill_matching};
use super::scratch_directories::ScratchRoots;
use crate::files::private;
use crate::life_lock::LifeLock;
use crate::worker::reaper::control_group::{self, ControlGroups};

/// The directory of the Workers' lock files, within the work directory.
const RECORDS: &str = ".firesteel-workers";

const QUIET_SCANS: u32 = 3;

const LIMIT: Duration = Duration::from_secs(10);

/// The lock file of this Worker, and the task that looks for lock files of dead Workers.
#[derive(Debug)]
pub struct DeadWorkers {
    /// Returns the lock file, or `None` if it cannot be made in the directory.
    task: JoinHandle<Option<LifeLock>>,
    looks: mpsc::Sender<()>,
}

/// The handle that requests another search for dead Workers.
#[derive(Clone, Debug)]
pub struct DeadWorkerSearch(mpsc::Sender<()>);

impl DeadWorkers {
    /// Ends the processes of dead Workers in this directory, and then makes the lock file of this Worker.
    pub async fn start(
        work: &Path,
        worker: &WorkerId,
        groups: Option<&ControlGroups>,
        scratch: &ScratchRoots,
    ) -> Self {
        let groups = groups.map(|groups| groups.path().to_owned());
        let own = Own { work: work.to_owned(), worker: worker.clone(), groups };
        let (starter, roots) = (own.clone(), scratch.clone());
        let starting = spawn_blocking(move || {
            end_leftovers(&starter.work, &roots);
            starter.record()
        });
        let record = starting.await.expect("looking for records does not panic");
        if let Err(error) = &record {
            tracing::warn!(
                "cannot record this Worker in {}: {error}; processes that it leaves if it is killed together \
                 with its reaper will not be found",
                work.display()
            );
        }
        // One queued request is enough: it covers everything that happened before.
        let (looks, due) = mpsc::channel(1);
        let task = tokio::spawn(look_when_due(own, scratch.clone(), record.ok(), due));
        Self { task, looks }
    }

    #[must_use]
    pub fn search(&self) -> DeadWorkerSearch {
        DeadWorkerSearch(self.looks.clone())
    }

    /// Removes the lock file of this Worker, after all of its processes have ended. All [`DeadWorkerSearch`]s must have
    /// been dropped.
    pub async fn depart(self) {
        drop(self.looks);
        let record = self.task.await.expect("looking for records does not panic");
        if let Some(Err(error)) = record.map(LifeLock::remove) {
            tracing::warn!("cannot remove the record of this Worker: {error}");
        }
    }
}

impl DeadWorkerSearch {
    /// Requests a search for dead Workers in the directory. The search happens soon, on another thread.
    pub fn look(&self) {
        // If the queue is full, a look is about to begin.
        let _ = self.0.try_send(());
    }
}

/// Looks for dead Workers on request. Makes the lock file of this Worker again if somebody removed it. Returns the lock
/// file.
async fn look_when_due(
    own: Own,
    scratch: ScratchRoots,
    mut kept: Option<LifeLock>,
    mut due: mpsc::Receiver<()>,
) -> Option<LifeLock> {
    while due.recv().await.is_some() {
        let (own, scratch) = (own.clone(), scratch.clone());
        let look = spawn_blocking(move || {
            end_leftovers(&own.work, &scratch);
            match kept {
                Some(kept) if kept.is_in_place() => Some(kept),
                Some(_) | None => own.record().ok(),
            }
        });
        kept = look.await.expect("looking for records does not panic");
    }
    kept
}

/// Kills the processes of all dead Workers of this work directory, and removes their scratch directories. Blocks the
/// thread.
pub fn end_leftovers(work: &Path, scratch: &ScratchRoots) {
    // Without records there is nothing to do.
    let Ok(entries) = fs::read_dir(work.join(RECORDS)) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        // A name that begins with a dot belongs to a record that is being made.
        if name.starts_with('.') || !is_sound(&name) {
            continue;
        }
        match LifeLock::take_over(&entry.path()) {
            Ok(Some(record)) => end_leftovers_of(&WorkerId::new(name), record, scratch),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!("cannot use the record {}: {error}", entry.path().display()),
        }
    }
}

/// Whether any living Worker uses this work directory.
#[must_use]
pub fn is_in_use(work: &Path) -> bool {
    is_in_use_by(work, |_| true)
}

/// Whether another living Worker uses this work directory.
#[must_use]
pub fn is_shared(work: &Path, worker: &WorkerId) -> bool {
    is_in_use_by(work, |name| name != worker.as_str())
}

fn is_in_use_by(work: &Path, counts: impl Fn(&str) -> bool) -> bool {
    let Ok(entries) = fs::read_dir(work.join(RECORDS)) else { return false };
    let mut records = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(&counts));
    records.any(|entry| matches!(LifeLock::take_over(&entry.path()), Ok(None)))
}

fn end_leftovers_of(worker: &WorkerId, record: LifeLock, scratch: &ScratchRoots) {
    let marker = Marker::of_worker(worker);
    let groups = record.text().unwrap_or_default();
    let in_groups = control_group::members(worker, Path::new(&groups));
    let left = in_groups.union(&marker.matching().into_iter().collect()).count();
    if left > 0 {
        let processes = if left == 1 { "process" } else { "processes" };
        tracing::warn!("{worker} was killed together with its reapers: killing its {left} {processes}");
    }
    control_group::end(worker, Path::new(&groups), LIMIT);
    match kill_matching(&marker, QUIET_SCANS, LIMIT) {
        Ok(()) => {
            scratch.of_worker(worker).remove_all();
            if let Err(error) = record.remove() {
                tracing::warn!("cannot remove the record of {worker}: {error}");
            }
        }
        // The record stays for the next look.
        Err(survivors) => tracing::error!("{worker} is dead and {survivors}"),
    }
}

/// What the lock file of this Worker says.
#[derive(Clone, Debug)]
struct Own {
    work: PathBuf,
    worker: WorkerId,
    /// The path of its control groups.
    groups: Option<PathBuf>,
}

impl Own {
    fn record(&self) -> io::Result<LifeLock> {
        let directory = self.work.join(RECORDS);
        private::create_directories(&directory)?;
        let text = self.groups.as_deref().and_then(Path::to_str).unwrap_or_default();
        LifeLock::create_with(&directory.join(self.worker.as_str()), text)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command};

    use super::*;
    use crate::worker::environment::WORKER_ID;

    /// A process in its own group that carries the marker of this Worker.
    fn process_of(worker: &WorkerId) -> Child {
        let mut sleeper = Command::new("sleep");
        sleeper.arg("1000").env(WORKER_ID, worker.as_str()).process_group(0).spawn().expect("there is sleep")
    }

    #[test]
    fn processes_of_a_dead_worker_are_ended_and_those_of_a_living_one_are_not() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let work = scratch.path();
        let name = |name| WorkerId::new(format!("worker-test-{name}-{}", std::process::id()));
        let (dead, alive, unknown) = (name("dead"), name("alive"), name("unknown"));
        let record = |worker: &WorkerId| {
            let own = Own { work: work.to_owned(), worker: worker.clone(), groups: None };
            own.record().expect("it can be made")
        };
        drop(record(&dead));
        let kept = record(&alive);
        let mut ended = process_of(&dead);
        let mut others = [process_of(&alive), process_of(&unknown)];

        assert!(is_in_use(work) && is_shared(work, &dead) && !is_shared(work, &alive));
        end_leftovers(work, &ScratchRoots::of(&[work.join("scratch")]));
        assert_eq!(ended.wait().expect("it is ours").signal(), Some(9));
        for other in &mut others {
            assert!(other.try_wait().expect("it is ours").is_none(), "it runs");
            other.kill().expect("it is ours");
            other.wait().expect("it is ours");
        }
        let left = fs::read_dir(work.join(RECORDS)).expect("it is there").flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        assert_eq!(left, [alive.as_str()]);
        kept.remove().expect("it is ours");
        assert!(!is_in_use(work));
        end_leftovers(work, &ScratchRoots::of(&[work.join("scratch")]));
    }
}
