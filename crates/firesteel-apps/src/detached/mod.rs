//! Applications that keep running after the command that started them has returned: `--detach`.
//!
//! ```text
//! <state>/firesteel/detached/run-XXXXXX/command     the command line, arguments separated by spaces
//!                                       lock        held locked while the driver lives
//!                                       name        the application's name
//!                                       apps        the ids under which Masters accepted the application, one per line
//!                                       stdout      the driver's output
//!                                       stderr
//!                                       exit        its exit code, once it has ended by itself
//! ```
//!
//! The command creates such a directory and starts its own program again with the directory's path. This second process
//! is the driver. It leaves the session of its terminal and writes its output to files, which [`follow`] reads.
//! `<state>` is `$XDG_STATE_HOME`, or `.local/state` in the home directory.

pub mod follow;
mod run;

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub use run::{Announcement, DetachedRun, RunState};

/// How long the output of an ended run is kept. It is removed earlier if there are more than [`KEPT_RUNS`] runs.
const KEPT_FOR: Duration = Duration::from_secs(7 * 86_400);

/// How many ended runs keep their output.
const KEPT_RUNS: usize = 100;

/// Why detached runs cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DetachError {
    /// No environment variable names a directory for the runs.
    #[error("no directory for detached runs: set HOME or XDG_STATE_HOME to an absolute path")]
    NoHome,
    #[error("cannot keep detached runs in {directory}: {error}", directory = directory.display())]
    Directory {
        directory: PathBuf,
        #[source]
        error: io::Error,
    },
}

#[derive(Clone, Debug)]
pub struct DetachedRuns {
    directory: PathBuf,
}

impl DetachedRuns {
    /// The detached runs of the user, in the directory that the environment variables name.
    ///
    /// # Errors
    /// The variables name no directory.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, DetachError> {
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
        let state = state.ok_or(DetachError::NoHome)?;
        Ok(Self { directory: state.join("firesteel/detached") })
    }

    /// Makes the directory of a new run with this command line, readable by this user alone. Removes old runs that
    /// ended.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn begin(&self, command: &[OsString]) -> Result<DetachedRun, DetachError> {
        self.remove_old();
        self.make(command).map_err(|error| self.failed(error))
    }

    fn make(&self, command: &[OsString]) -> io::Result<DetachedRun> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let directory = tempfile::Builder::new().prefix("run-").tempdir_in(&self.directory)?;
        fs::write(directory.path().join("command"), line(command).as_bytes())?;
        let run = DetachedRun::at(directory.keep());
        File::create(run.stdout())?;
        File::create(run.stderr())?;
        Ok(run)
    }

    /// All detached runs, the newest first.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn all(&self) -> Result<Vec<DetachedRun>, DetachError> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            found => found.map_err(|error| self.failed(error))?,
        };
        let is_run = |path: &Path| path.join("command").is_file();
        let paths = entries.flatten().map(|entry| entry.path()).filter(|path| is_run(path));
        let mut runs: Vec<_> = paths.map(DetachedRun::at).map(|run| (run.started(), run)).collect();
        runs.sort_by(|(one, first), (other, second)| (other, first.path()).cmp(&(one, second.path())));
        Ok(runs.into_iter().map(|(_, run)| run).collect())
    }

    /// Finds runs by the application's id or name. Returns the newest run that had this id. If there is none, returns
    /// the live runs of this name. If there are none, returns the newest ended run of this name.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn find(&self, app: &str) -> Result<Vec<DetachedRun>, DetachError> {
        let all = self.all()?;
        if let Some(run) = all.iter().find(|run| run.apps().iter().any(|known| known == app)) {
            return Ok(vec![run.clone()]);
        }
        let namesakes = all.into_iter().filter(|run| !app.is_empty() && run.name() == app);
        let (ended, live): (Vec<_>, Vec<_>) = namesakes.partition(|run| run.state().is_ended());
        Ok(if live.is_empty() { ended.into_iter().take(1).collect() } else { live })
    }

    /// Removes runs that ended long ago, and the oldest ended runs beyond [`KEPT_RUNS`].
    fn remove_old(&self) {
        // If the directory cannot be read, creating the next run reports that.
        let Ok(runs) = self.all() else { return };
        let ended = runs.into_iter().filter(|run| run.state().is_ended());
        for (number, run) in ended.enumerate() {
            let age = SystemTime::now().duration_since(run.started()).unwrap_or_default();
            if number >= KEPT_RUNS || age > KEPT_FOR {
                run.remove();
            }
        }
    }

    fn failed(&self, error: io::Error) -> DetachError {
        DetachError::Directory { directory: self.directory.clone(), error }
    }
}

/// The command line as text for a human reader.
fn line(command: &[OsString]) -> OsString {
    let words: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
    OsString::from_vec(words.join(&b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(home: &Path) -> DetachedRuns {
        DetachedRuns::of(|name| (name == "HOME").then(|| home.into())).expect("a home")
    }

    /// Creates a run that was started `age` ago.
    fn begin(runs: &DetachedRuns, age: Duration) -> DetachedRun {
        let run = runs.begin(&["firesteel".into(), "map".into()]).expect("it can be made");
        let command = File::options().write(true).open(run.path().join("command")).expect("it is there");
        command.set_modified(SystemTime::now() - age).expect("it is ours");
        run
    }

    #[test]
    fn runs_are_found_by_each_id_and_listed_from_the_newest() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let runs = runs(home.path());
        assert_eq!(runs.all().expect("none is no error"), []);
        let old = begin(&runs, Duration::from_secs(20));
        let new = begin(&runs, Duration::from_secs(10));
        assert_eq!(runs.all().expect("they are there"), [new, old.clone()]);
        assert_eq!(old.command(), "firesteel map");
        fs::write(old.path().join("apps"), "app-1\napp-2\napp-").expect("it can be written");
        assert_eq!(old.apps(), ["app-1", "app-2"], "the last line is being written");
        for (app, found) in [
            ("app-1", vec![old.clone()]),
            ("app-2", vec![old]),
            ("app-", vec![]),
            ("app-3", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(runs.find(app).expect("they are there"), found, "{app}");
        }
    }

    #[test]
    fn of_namesakes_those_that_go_on_are_found_and_else_the_newest() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let runs = runs(home.path());
        let named = |age| {
            let run = begin(&runs, Duration::from_secs(age));
            run.announcement().named("sums");
            run
        };
        let (older, newer) = (named(20), named(10));
        let found = |name: &str| runs.find(name).expect("they are there");
        assert_eq!(found("sums"), [newer.clone(), older.clone()], "both go on");
        older.announcement().registered(&firesteel_protocol::ids::AppId::new("app-1"));
        assert_eq!(found("app-1"), std::slice::from_ref(&older));
        let end = |run: &DetachedRun| {
            drop(firesteel_daemons::life_lock::LifeLock::create(&run.path().join("lock")));
            run.record_exit(0).expect("it can be written");
        };
        end(&newer);
        assert_eq!(found("sums"), std::slice::from_ref(&older), "one goes on");
        end(&older);
        assert_eq!(found("sums"), [newer], "none goes on");
    }

    #[test]
    fn only_ended_runs_are_forgotten() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let runs = runs(home.path());
        let living = begin(&runs, 2 * KEPT_FOR);
        let _lock = firesteel_daemons::life_lock::LifeLock::create(&living.path().join("lock"));
        let killed = begin(&runs, KEPT_FOR * 2);
        let recent = begin(&runs, KEPT_FOR / 2);
        recent.record_exit(3).expect("it can be written");
        let states = [&living, &killed, &recent].map(DetachedRun::state);
        assert_eq!(states, [RunState::Running, RunState::Killed, RunState::Ended(3)]);
        let starting = begin(&runs, Duration::ZERO);
        assert_eq!(starting.state(), RunState::Running, "it has no lock yet");
        assert_eq!(runs.all().expect("they are there"), [starting, recent, living]);
    }

    #[test]
    fn a_home_has_to_be_absolute() {
        let of = |state: &'static str, home: &'static str| {
            DetachedRuns::of(|name| Some(OsString::from(if name == "HOME" { home } else { state })))
                .map(|runs| runs.directory)
        };
        assert_eq!(of("/s", "/h").expect("a place"), Path::new("/s/firesteel/detached"));
        assert_eq!(of("s", "/h").expect("a place"), Path::new("/h/.local/state/firesteel/detached"));
        assert!(matches!(of("s", ""), Err(DetachError::NoHome)));
    }
}
