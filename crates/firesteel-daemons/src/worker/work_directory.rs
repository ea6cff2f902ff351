//! Where executors have their directories.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use firesteel_core::ids::{AppId, ExecutorKey, WorkerId};
use firesteel_core::process::{StartFailure, StartStep};

/// The Worker's work directory, which exists and can be written.
///
/// ```text
/// <work directory>/<application>/<executor>/stdout
///                                           stderr
///                                           NAME -> ../files-<Worker>/NAME
///                               files-<Worker>/NAME
/// ```
///
/// What an executor left there stays when its application ends, so that it can be read, until the
/// [cleaner](super::cleaner) removes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkDirectory(PathBuf);

/// A work directory that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {path:?} as the work directory: {step}: {error}: choose another one with --work-dir")]
pub struct UnusableDirectory {
    /// Which, as it was given.
    pub path: PathBuf,
    /// What was tried, in words.
    pub step: &'static str,
    /// The operating system's words.
    pub error: io::Error,
}

/// The files that an executor writes to.
#[derive(Debug)]
pub struct Outputs {
    /// Standard output.
    pub stdout: File,
    /// Standard error, behind the header.
    pub stderr: File,
}

impl WorkDirectory {
    /// Makes the directory where there is none, and makes sure that it can be written.
    ///
    /// # Errors
    /// It cannot be made or written.
    pub fn open(path: &Path) -> Result<Self, UnusableDirectory> {
        let fail = |step| move |error| UnusableDirectory { path: path.to_owned(), step, error };
        fs::create_dir_all(path).map_err(fail("it cannot be made"))?;
        let absolute = path.canonicalize().map_err(fail("cannot find it"))?;
        tempfile::Builder::new()
            .prefix(".firesteel-probe-")
            .tempfile_in(&absolute)
            .and_then(|mut probe| probe.write_all(b"probe"))
            .map_err(fail("cannot write to it"))?;
        Ok(Self(absolute))
    }

    /// Its path, absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// An application's directory.
    #[must_use]
    pub fn of_app(&self, app: &AppId) -> PathBuf {
        self.0.join(app.as_str())
    }

    /// An executor's directory. Ids were held against [`firesteel_core::ids::is_sound`] by the Worker's machine.
    #[must_use]
    pub fn of_executor(&self, executor: &ExecutorKey) -> PathBuf {
        self.of_app(&executor.app).join(executor.executor.to_string())
    }

    /// Where the files are that an application brings. Several Workers may have one work directory; each fetches for
    /// itself.
    #[must_use]
    pub fn files_of_app(&self, app: &AppId, worker: &WorkerId) -> PathBuf {
        self.of_app(app).join(files_of(worker))
    }

    /// Links files of the application into an executor's directory.
    ///
    /// # Errors
    /// Something else has a name there, or a link cannot be made.
    pub fn link_files(
        &self,
        executor: &ExecutorKey,
        worker: &WorkerId,
        names: &[String],
    ) -> Result<(), StartFailure> {
        let directory = self.of_executor(executor);
        let files = Path::new("..").join(files_of(worker));
        for name in names {
            let (path, target) = (directory.join(name), files.join(name));
            // A link of an earlier start is fine.
            if fs::read_link(&path).is_ok_and(|found| found == target) {
                continue;
            }
            symlink(&target, &path).map_err(|error| failure(StartStep::Files, &path, &error))?;
        }
        Ok(())
    }

    /// Removes the links, which will soon lead nowhere.
    pub fn unlink_files(&self, executor: &ExecutorKey, names: &[String]) {
        let directory = self.of_executor(executor);
        for path in names.iter().map(|name| directory.join(name)) {
            if path.is_symlink() {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Makes an executor's directory and opens its files, emptied. An existing directory is fine. Source: Spark
    /// Worker, 4.2.1; for 4.0.1 it is an error.
    ///
    /// # Errors
    /// What could not be made or written, with its path.
    pub fn prepare(&self, executor: &ExecutorKey, header: &str) -> Result<Outputs, StartFailure> {
        let directory = self.of_executor(executor);
        fs::create_dir_all(&directory).map_err(|error| failure(StartStep::Directory, &directory, &error))?;
        let open = |name| {
            let path = directory.join(name);
            File::create(&path).map_err(|error| failure(StartStep::Output, &path, &error))
        };
        let stdout = open("stdout")?;
        let mut stderr = open("stderr")?;
        stderr
            .write_all(header.as_bytes())
            .map_err(|error| failure(StartStep::Output, &directory.join("stderr"), &error))?;
        Ok(Outputs { stdout, stderr })
    }
}

/// The name of a Worker's directory for an application's files.
#[must_use]
pub fn files_of(worker: &WorkerId) -> String {
    format!("files-{worker}")
}

/// A failure with the path in front of the operating system's words.
#[must_use]
pub fn failure(step: StartStep, path: &Path, error: &io::Error) -> StartFailure {
    StartFailure { step, error: format!("{}: {error}", path.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            // Not even root writes there.
            (Path::new("/proc/self"), "cannot write to it"),
        ] {
            let error = WorkDirectory::open(path).expect_err("it cannot be used").to_string();
            assert!(error.contains(words) && error.contains(&format!("{path:?}")), "{error}");
        }
    }
}
