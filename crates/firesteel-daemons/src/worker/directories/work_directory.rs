//! The work directory, which contains the executors' directories.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use firesteel_host::start::failed;
use firesteel_protocol::byte_text;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey, WorkerId};
use firesteel_protocol::messages::DiskSpace;
use firesteel_protocol::process::{Fault, NotStarted, StartFailure, StartStep};
use nix::sys::statvfs::statvfs;

use crate::files::private;

/// The Worker's work directory. It exists, and the Worker can write in it.
///
/// ```text
/// <work directory>/<cluster driver>/stdout
///                                   stderr
/// <work directory>/<application>/<executor>/stdout
///                                           stderr
///                                           NAME -> ../files-<Worker>/NAME
///                               files-<Worker>/NAME
/// ```
///
/// The files of an executor stay when its application ends, so that users can read them, until the
/// [cleanup](crate::worker::cleanup::application_directories) removes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkDirectory(PathBuf);

#[derive(Debug, thiserror::Error)]
#[error("cannot use {path:?} as the work directory: {step}: {error}: choose another one with --work-dir")]
pub struct UnusableDirectory {
    pub path: PathBuf,
    pub step: &'static str,
    #[source]
    pub error: io::Error,
}

/// Whether the work directory had to be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remade {
    /// The directory was missing because somebody had removed it.
    Yes,
    /// The directory existed.
    No,
}

/// The files that an executor writes to.
#[derive(Debug)]
pub struct Outputs {
    pub stdout: File,
    /// The file for standard error, positioned after the header.
    pub stderr: File,
}

impl WorkDirectory {
    /// Makes the directory if it does not exist, and checks that it can be written.
    ///
    /// # Errors
    /// The directory cannot be made or written.
    pub fn open(path: &Path) -> Result<Self, UnusableDirectory> {
        let fail = |step| move |error| UnusableDirectory { path: path.to_owned(), step, error };
        fs::create_dir_all(path).map_err(fail("it cannot be made"))?;
        let absolute = path.canonicalize().map_err(fail("cannot find it"))?;
        let directory = Self(absolute);
        directory.write().map_err(fail("cannot write to it"))?;
        Ok(directory)
    }

    /// Writes a small file and removes it. Makes the directory again if it is missing, as [`open`](Self::open) does.
    /// Returns whether the directory was made again.
    ///
    /// # Errors
    /// The directory cannot be made or written, or the disk is full. The error is a text.
    pub fn try_to_write(&self) -> Result<Remade, String> {
        let at = self.0.display();
        let (remade, written) = match self.write() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(&self.0).map_err(|error| format!("cannot make {at}: {error}"))?;
                (Remade::Yes, self.write())
            }
            written => (Remade::No, written),
        };
        written.map(|()| remade).map_err(|error| format!("cannot write in {at}: {error}"))
    }

    fn write(&self) -> io::Result<()> {
        let mut probe = tempfile::Builder::new().prefix(".firesteel-probe-").tempfile_in(&self.0)?;
        probe.write_all(&[b'.'; 4096])
    }

    /// The space on the directory's disk. `None` if the system does not report it.
    #[must_use]
    pub fn space(&self) -> Option<DiskSpace> {
        let found = statvfs(&self.0).ok()?;
        let (unit, bytes) = (found.fragment_size(), |blocks: u64, unit: u64| blocks.saturating_mul(unit));
        // Space that is reserved for the system is not available to the Worker.
        let reserved = found.blocks_free().saturating_sub(found.blocks_available());
        let total = bytes(found.blocks().saturating_sub(reserved), unit);
        Some(DiskSpace { total, available: bytes(found.blocks_available(), unit) })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    #[must_use]
    pub fn of_app(&self, app: &AppId) -> PathBuf {
        self.0.join(app.as_str())
    }

    /// The directory of an executor. The Worker's state machine has already checked the ids with
    /// [`firesteel_protocol::ids::is_sound`].
    #[must_use]
    pub fn of_executor(&self, executor: &ExecutorKey) -> PathBuf {
        self.of_app(&executor.app).join(executor.executor.to_string())
    }

    /// The directory of a cluster driver. The Worker's state machine has already checked the id.
    #[must_use]
    pub fn of_driver(&self, driver: &DriverId) -> PathBuf {
        self.0.join(driver.as_str())
    }

    /// The directory of an application's files. Several Workers may share one work directory; each Worker fetches its
    /// own files.
    #[must_use]
    pub fn files_of_app(&self, app: &AppId, worker: &WorkerId) -> PathBuf {
        self.of_app(app).join(files_of(worker))
    }

    /// Links files of the application into an executor's directory.
    ///
    /// # Errors
    /// One of the names is taken, a link cannot be made, or somebody has removed a file.
    pub fn link_files(
        &self,
        executor: &ExecutorKey,
        worker: &WorkerId,
        names: &[String],
    ) -> Result<(), NotStarted> {
        let directory = self.of_executor(executor);
        let files = Path::new("..").join(files_of(worker));
        for name in names {
            let name = byte_text::os(name);
            let (path, target) = (directory.join(&name), files.join(&name));
            if !directory.join(&target).exists() {
                let error = format!("{name:?} was removed from the work directory");
                let failure = StartFailure { step: StartStep::Files, error };
                return Err(NotStarted { failure, fault: Fault::LostFiles });
            }
            // A link from an earlier start is fine.
            if fs::read_link(&path).is_ok_and(|found| found == target) {
                continue;
            }
            symlink(&target, &path).map_err(|error| failed(StartStep::Files, path.display(), &error))?;
        }
        Ok(())
    }

    /// Removes the links, because their targets will soon be removed.
    pub fn unlink_files(&self, executor: &ExecutorKey, names: &[String]) {
        let directory = self.of_executor(executor);
        for path in names.iter().map(|name| directory.join(byte_text::os(name))) {
            if path.is_symlink() {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Makes an executor's directory and opens its files, truncated. The directory may already exist. New files can be
    /// read only by the Worker's user and group. Source: Spark Worker, 4.2.1; in 4.0.1 an existing directory is an
    /// error.
    ///
    /// # Errors
    /// A path could not be made or written. The error names the path and the cause.
    pub fn prepare(&self, executor: &ExecutorKey, header: &str) -> Result<Outputs, NotStarted> {
        open_outputs(&self.of_executor(executor), OpenOptions::new().write(true).truncate(true), header)
    }

    /// Makes a cluster driver's directory and opens its files, to append to them.
    ///
    /// # Errors
    /// A path could not be made or written. The error names the path and the cause.
    pub fn prepare_driver(&self, driver: &DriverId, header: &str) -> Result<Outputs, NotStarted> {
        open_outputs(&self.of_driver(driver), OpenOptions::new().append(true), header)
    }
}

/// Makes a directory and opens the files for output in it.
fn open_outputs(directory: &Path, options: &mut OpenOptions, header: &str) -> Result<Outputs, NotStarted> {
    private::despite_removal(|| private::create_group_directories(directory))
        .map_err(|error| failed(StartStep::Directory, directory.display(), &error))?;
    options.create(true);
    let mut open = |name| {
        let path = directory.join(name);
        private::open_log(options, &path).map_err(|error| failed(StartStep::Output, path.display(), &error))
    };
    let stdout = open("stdout")?;
    let mut stderr = open("stderr")?;
    stderr
        .write_all(header.as_bytes())
        .map_err(|error| failed(StartStep::Output, directory.join("stderr").display(), &error))?;
    Ok(Outputs { stdout, stderr })
}

#[must_use]
pub fn files_of(worker: &WorkerId) -> String {
    format!("files-{worker}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use firesteel_protocol::ids::ExecutorId;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_work_directory_is_made_with_its_parents() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let path = scratch.path().join("a/b");
        let work = WorkDirectory::open(&path).expect("it can be made");
        assert!(work.path().is_absolute());
        assert_eq!(fs::read_dir(&path).expect("it is there").count(), 0, "the probe is gone");
    }

    #[test]
    fn a_work_directory_that_cannot_be_used_is_named() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let file = scratch.path().join("file");
        fs::write(&file, "").expect("a file");
        let below_file = file.join("work");
        for (path, words) in [
            (file.as_path(), "it cannot be made"),
            (below_file.as_path(), "it cannot be made"),
            // Not even root can write there.
            (Path::new("/proc/self"), "cannot write to it"),
        ] {
            let error = WorkDirectory::open(path).expect_err("it cannot be used").to_string();
            assert!(error.contains(words) && error.contains(&format!("{path:?}")), "{error}");
        }
    }

    #[test]
    fn other_users_can_neither_enter_an_executors_directory_nor_read_its_logs() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let work = WorkDirectory::open(scratch.path()).expect("it can be used");
        let executor = ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(3) };
        work.prepare(&executor, "header").expect("it can be made");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o7777;
        for (below, expected) in
            [("app-1", 0o750), ("app-1/3", 0o750), ("app-1/3/stdout", 0o640), ("app-1/3/stderr", 0o640)]
        {
            assert_eq!(mode(&work.path().join(below)), expected, "{below}");
        }
    }
}
