//! One detached run, in its directory.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use firesteel_daemons::life_lock::LifeLock;
use firesteel_protocol::byte_text;
use firesteel_protocol::ids::AppId;

/// How long a process may take from its start until it locks its lock file.
const START: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetachedRun {
    directory: PathBuf,
}

/// Whether the driver of a detached run is alive, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// The run's driver is alive, or is being started.
    Running,
    /// The run's driver ended with this exit code.
    Ended(u8),
    /// The run's driver was killed, so it left no exit code.
    Killed,
}

impl RunState {
    /// Whether the driver has ended.
    #[must_use]
    pub fn is_ended(self) -> bool {
        match self {
            Self::Running => false,
            Self::Ended(_) | Self::Killed => true,
        }
    }
}

impl DetachedRun {
    #[must_use]
    pub fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// The file with the driver's standard output.
    #[must_use]
    pub fn stdout(&self) -> PathBuf {
        self.directory.join("stdout")
    }

    /// The file with the driver's standard error.
    #[must_use]
    pub fn stderr(&self) -> PathBuf {
        self.directory.join("stderr")
    }

    /// The command line as text. It can represent any bytes, see `byte_text`.
    #[must_use]
    pub fn command(&self) -> String {
        let bytes = fs::read(self.directory.join("command")).unwrap_or_default();
        byte_text::of(bytes)
    }

    #[must_use]
    pub fn started(&self) -> SystemTime {
        let data = fs::metadata(self.directory.join("command"));
        data.and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// The ids under which Masters accepted the application, the latest last. Empty until a Master has accepted it.
    #[must_use]
    pub fn apps(&self) -> Vec<String> {
        let text = fs::read_to_string(self.directory.join("apps")).unwrap_or_default();
        // A line without an end is still being written.
        text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(str::to_owned).collect()
    }

    /// The name of the application. Empty until the driver has set it.
    #[must_use]
    pub fn name(&self) -> String {
        fs::read_to_string(self.directory.join("name")).unwrap_or_default()
    }

    /// Whether the driver is alive. If not, how it ended.
    #[must_use]
    pub fn state(&self) -> RunState {
        let lives = match LifeLock::take_over(&self.lock()) {
            Ok(taken) => taken.is_none(),
            Err(_) => self.started().elapsed().unwrap_or_default() < START,
        };
        let code =
            fs::read_to_string(self.directory.join("exit")).ok().and_then(|text| text.trim().parse().ok());
        match (lives, code) {
            (true, _) => RunState::Running,
            (false, Some(code)) => RunState::Ended(code),
            (false, None) => RunState::Killed,
        }
    }

    /// Makes this process the run's driver: the process leaves its terminal, and holds the lock until the process ends.
    ///
    /// # Errors
    /// The process leads a group already, or the lock cannot be made.
    pub fn become_driver(&self) -> io::Result<()> {
        nix::unistd::setsid()?;
        // The system unlocks it when the process ends, after its last output.
        std::mem::forget(LifeLock::create(&self.lock())?);
        Ok(())
    }

    /// The files through which the driver announces its application's name and id.
    #[must_use]
    pub fn announcement(&self) -> Announcement {
        Announcement { directory: self.directory.clone() }
    }

    /// Records the driver's exit code, just before the driver ends.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_exit(&self, code: u8) -> io::Result<()> {
        fs::write(self.directory.join("exit"), format!("{code}\n"))
    }

    /// Removes the run's directory, with its output.
    pub fn remove(&self) {
        // If this fails, the next run tries again.
        let _ = fs::remove_dir_all(&self.directory);
    }

    fn lock(&self) -> PathBuf {
        self.directory.join("lock")
    }
}

/// Announces an application's name and id to the command that started the detached run.
#[derive(Clone, Debug)]
pub struct Announcement {
    directory: PathBuf,
}

impl Announcement {
    /// Announces the application's name, before its id.
    pub fn named(&self, name: &str) {
        let file = self.directory.join("name");
        if let Err(error) = fs::write(&file, name) {
            tracing::warn!(
                "cannot write {name:?} to {}: {error}; firesteel attach will not know it",
                file.display()
            );
        }
    }

    /// Announces the application's id.
    pub fn registered(&self, app: &AppId) {
        let file = self.directory.join("apps");
        let added = OpenOptions::new().create(true).append(true).open(&file);
        if let Err(error) = added.and_then(|mut file| file.write_all(format!("{app}\n").as_bytes())) {
            tracing::warn!(
                "cannot write {app} to {}: {error}; firesteel attach will not know it",
                file.display()
            );
        }
    }
}
