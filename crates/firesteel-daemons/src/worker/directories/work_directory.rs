//! The work directory, which contains the executors' directories.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use firesteel_host::account::Account;
use firesteel_host::start::failed;
use firesteel_protocol::byte_text;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey, WorkerId};
use firesteel_protocol::messages::DiskSpace;
use firesteel_protocol::process::{Fault, NotStarted, StartFailure, StartStep};
use nix::sys::statvfs::statvfs;
use nix::unistd::geteuid;

use crate::files::private::{self, OwnDirectory};
use crate::worker::accounts::Accounts;

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
#[derive(Clone, Debug)]
pub struct WorkDirectory {
    path: PathBuf,
    /// The device and inode of the directory that had the path when the Worker last looked.
    identity: Arc<Mutex<Option<(u64, u64)>>>,
    /// The account of an executor or a cluster driver. `None`: the Worker's own.
    account: Option<Account>,
    /// Held while files are given to an account.
    giving: Arc<Mutex<()>>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot use {path:?} as the work directory: {step}: {error}: choose another one with --work-dir")]
pub struct UnusableDirectory {
    pub path: PathBuf,
    pub step: &'static str,
    #[source]
    pub error: io::Error,
}

/// What has become of the work directory since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is in its place.
    InPlace,
    /// It was missing because somebody had removed or renamed it. It was made again.
    Remade,
    /// Another directory has its path.
    Replaced,
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
        private::create_group_directories(path).map_err(fail("it cannot be made"))?;
        let path = path.canonicalize().map_err(fail("cannot find it"))?;
        let directory = Self { path, identity: Arc::default(), account: None, giving: Arc::default() };
        directory.is_replaced();
        directory.write().map_err(fail("cannot write to it"))?;
        Ok(directory)
    }

    /// Lets these accounts reach what is theirs in the directory.
    ///
    /// # Errors
    /// An account cannot enter the directory, or one above it.
    pub fn let_through(&self, accounts: &Accounts) -> Result<(), UnusableDirectory> {
        let path = self.path.as_path();
        let fail = |step| move |error| UnusableDirectory { path: path.to_owned(), step, error };
        if *accounts != Accounts::Own {
            let done = OwnDirectory::open(path).and_then(|directory| directory.let_through());
            done.map_err(fail("executors cannot enter it"))?;
        }
        let Accounts::One(account) = accounts else { return Ok(()) };
        account
            .act(|| fs::metadata(path.join(".")))
            .map(drop)
            .map_err(fail("the account of the executors cannot enter it, or a directory above it"))
    }

    /// The same directory, for an executor or a cluster driver under this account.
    #[must_use]
    pub fn of_account(&self, account: Option<Account>) -> Self {
        Self { account, ..self.clone() }
    }

    /// The account of the executor or cluster driver. `None`: the Worker's own.
    #[must_use]
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Does this on files with the rights of the executor or cluster driver.
    pub(crate) fn act<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.account {
            Some(account) => account.act(work),
            None => work(),
        }
    }

    /// Writes a small file and removes it. Makes the directory again if it is missing, as [`open`](Self::open) does.
    /// Returns what has become of the directory.
    ///
    /// # Errors
    /// The directory cannot be made or written, or the disk is full. The error is a text.
    pub fn try_to_write(&self) -> Result<Found, String> {
        let at = self.path.display();
        let (is_remade, written) = match self.write() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = private::create_group_directories(&self.path);
                made.map_err(|error| format!("cannot make {at}: {error}"))?;
                (true, self.write())
            }
            written => (false, written),
        };
        written.map_err(|error| format!("cannot write in {at}: {error}"))?;
        Ok(match (is_remade, self.is_replaced()) {
            (true, _) => Found::Remade,
            (false, true) => Found::Replaced,
            (false, false) => Found::InPlace,
        })
    }

    /// Whether another directory has the path than at the last look.
    fn is_replaced(&self) -> bool {
        let Ok(found) = fs::metadata(&self.path) else { return false };
        let found = (found.dev(), found.ino());
        let mut identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        identity.replace(found).is_some_and(|known| known != found)
    }

    /// Whether users other than its owner can put files into the directory. In a directory with the sticky bit they
    /// cannot replace what others have made.
    #[must_use]
    pub fn is_open_to_others(&self) -> bool {
        let mode = fs::metadata(&self.path).map_or(0, |found| found.permissions().mode());
        mode & 0o022 != 0 && mode & 0o1000 == 0
    }

    fn write(&self) -> io::Result<()> {
        let mut probe = tempfile::Builder::new().prefix(".firesteel-probe-").tempfile_in(&self.path)?;
        probe.write_all(&[b'.'; 4096])
    }

    /// The space on the directory's disk. `None` if the system does not report it.
    #[must_use]
    pub fn space(&self) -> Option<DiskSpace> {
        let found = statvfs(&self.path).ok()?;
        let (unit, bytes) = (found.fragment_size(), |blocks: u64, unit: u64| blocks.saturating_mul(unit));
        // Space that is reserved for the system is not available to the Worker.
        let reserved = found.blocks_free().saturating_sub(found.blocks_available());
        let total = bytes(found.blocks().saturating_sub(reserved), unit);
        Some(DiskSpace { total, available: bytes(found.blocks_available(), unit) })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub fn of_app(&self, app: &AppId) -> PathBuf {
        self.path.join(app.as_str())
    }

    /// Whether a path of this directory leads through a link that somebody has put there. Nothing is removed through
    /// such a link.
    #[must_use]
    pub fn leads_out(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|real| real != path)
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
        self.path.join(driver.as_str())
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
        if let Some(account) = &self.account
            && !names.is_empty()
        {
            let files = self.files_of_app(&executor.app, worker);
            let given = self.give(&files, account);
            given.map_err(|error| failed(StartStep::Files, files.display(), &error))?;
        }
        self.act(|| self.link(executor, worker, names))
    }

    /// Gives the files of an application to the account of its executors, unless they have them already.
    fn give(&self, files: &Path, account: &Account) -> io::Result<()> {
        // Whoever has the directory can change it, so it is given as the last one, and only once.
        let _held = self.giving.lock().unwrap_or_else(PoisonError::into_inner);
        match fs::symlink_metadata(files) {
            Ok(found) if found.uid() == geteuid().as_raw() => give_tree(files, account),
            Ok(found) if found.uid() == account.user() => Ok(()),
            Ok(_) => Err(io::Error::other("it belongs to another account")),
            // It is told of when a link to it is made.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn link(&self, executor: &ExecutorKey, worker: &WorkerId, names: &[String]) -> Result<(), NotStarted> {
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

    /// Opens the directory of an application, and makes it if it does not exist.
    ///
    /// # Errors
    /// The directory cannot be made, or somebody has put something else in its place.
    pub(crate) fn make_app(&self, app: &AppId) -> io::Result<OwnDirectory> {
        private::despite_removal(|| OwnDirectory::open(&self.path)?.make(app.as_str()))
    }

    /// Opens the directory of an executor, and makes it if it does not exist.
    ///
    /// # Errors
    /// A directory cannot be made, or somebody has put something else in its place.
    pub(crate) fn make_executor(&self, executor: &ExecutorKey) -> io::Result<OwnDirectory> {
        let name = executor.executor.to_string();
        private::despite_removal(|| {
            let directory = self.make_app(&executor.app)?;
            if self.account.is_some() {
                directory.let_through()?;
            }
            directory.make_for(&name, self.account())
        })
    }

    /// Opens the directory of a cluster driver, and makes it if it does not exist.
    ///
    /// # Errors
    /// The directory cannot be made, or somebody has put something else in its place.
    pub(crate) fn make_driver(&self, driver: &DriverId) -> io::Result<OwnDirectory> {
        private::despite_removal(|| OwnDirectory::open(&self.path)?.make_for(driver.as_str(), self.account()))
    }

    /// Makes an executor's directory and new files in it. The directory may already exist. Only the Worker's user and
    /// group can read the files. Source: Spark Worker, 4.2.1; in 4.0.1 an existing directory is an error.
    ///
    /// # Errors
    /// A path could not be made or written. The error names the path and the cause.
    pub fn prepare(&self, executor: &ExecutorKey, header: &str) -> Result<Outputs, NotStarted> {
        let path = self.of_executor(executor);
        let directory = (self.make_executor(executor), path.as_path());
        self.act(|| open_outputs(directory, OwnDirectory::create_log, header))
    }

    /// Makes a cluster driver's directory and opens its files, to append to them.
    ///
    /// # Errors
    /// A path could not be made or written. The error names the path and the cause.
    pub fn prepare_driver(&self, driver: &DriverId, header: &str) -> Result<Outputs, NotStarted> {
        let path = self.of_driver(driver);
        let directory = (self.make_driver(driver), path.as_path());
        self.act(|| open_outputs(directory, OwnDirectory::append_log, header))
    }
}

/// Gives a directory and everything in it to an account that could not change it until now.
fn give_tree(path: &Path, account: &Account) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give_tree(&entry?.path(), account)?;
        }
    }
    lchown(path, Some(account.user()), None)
}

/// Opens the files for output in a directory.
fn open_outputs(
    (directory, path): (io::Result<OwnDirectory>, &Path),
    open: fn(&OwnDirectory, &str) -> io::Result<File>,
    header: &str,
) -> Result<Outputs, NotStarted> {
    let directory = directory.map_err(|error| failed(StartStep::Directory, path.display(), &error))?;
    let opened = |name| {
        open(&directory, name).map_err(|error| failed(StartStep::Output, path.join(name).display(), &error))
    };
    let stdout = opened("stdout")?;
    let mut stderr = opened("stderr")?;
    stderr
        .write_all(header.as_bytes())
        .map_err(|error| failed(StartStep::Output, path.join("stderr").display(), &error))?;
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
    fn a_work_directory_that_is_removed_or_replaced_is_noticed_once() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let path = scratch.path().join("work");
        let work = WorkDirectory::open(&path).expect("it can be made");
        assert_eq!(work.try_to_write(), Ok(Found::InPlace));
        fs::remove_dir(&path).expect("it is empty");
        assert_eq!(work.try_to_write(), Ok(Found::Remade));
        assert_eq!(work.try_to_write(), Ok(Found::InPlace));
        fs::rename(&path, scratch.path().join("away")).expect("it is there");
        fs::create_dir(&path).expect("its place is free");
        assert_eq!(work.try_to_write(), Ok(Found::Replaced));
        assert_eq!(work.try_to_write(), Ok(Found::InPlace));
    }

    #[test]
    fn a_work_directory_that_others_can_write_is_open_to_them_unless_it_is_sticky() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let work = WorkDirectory::open(&scratch.path().join("work")).expect("it can be made");
        assert!(!work.is_open_to_others(), "whatever the umask");
        for (mode, expected) in
            [(0o755, false), (0o770, true), (0o757, true), (0o1777, false), (0o700, false)]
        {
            fs::set_permissions(work.path(), fs::Permissions::from_mode(mode)).expect("it is ours");
            assert_eq!(work.is_open_to_others(), expected, "{mode:o}");
        }
    }

    #[test]
    fn nothing_is_written_through_a_link_that_takes_the_place_of_a_directory() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let elsewhere = scratch.path().join("elsewhere");
        fs::create_dir_all(elsewhere.join("3")).expect("it can be made");
        let executor = ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(3) };
        for (name, is_of_the_app) in [("work-1", true), ("work-2", false)] {
            let work = WorkDirectory::open(&scratch.path().join(name)).expect("it can be made");
            match is_of_the_app {
                true => symlink(&elsewhere, work.of_app(&executor.app)),
                false => fs::create_dir(work.of_app(&executor.app))
                    .and_then(|()| symlink(&elsewhere, work.of_executor(&executor))),
            }
            .expect("the name is free");
            let error = work.prepare(&executor, "header").expect_err("it is a link");
            let error = format!("{error:?}");
            assert!(error.contains("it is a link"), "{error}");
            assert!(work.leads_out(&work.of_executor(&executor)));
        }
        let work = WorkDirectory::open(&scratch.path().join("work-3")).expect("it can be made");
        let driver = DriverId::new("driver-1");
        symlink(&elsewhere, work.of_driver(&driver)).expect("the name is free");
        work.prepare_driver(&driver, "header").expect_err("it is a link");
        assert_eq!(fs::read_dir(&elsewhere).expect("it is there").count(), 1);
        assert_eq!(fs::read_dir(elsewhere.join("3")).expect("it is there").count(), 0);
    }

    #[test]
    fn a_link_that_takes_the_place_of_a_log_is_replaced_and_what_it_leads_to_stays() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let work = WorkDirectory::open(&scratch.path().join("work")).expect("it can be made");
        let executor = ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(3) };
        let driver = DriverId::new("driver-1");
        let [one, other] = ["soft", "hard"].map(|name| scratch.path().join(name));
        for directory in [work.of_executor(&executor), work.of_driver(&driver)] {
            fs::create_dir_all(&directory).expect("it can be made");
            for file in [&one, &other] {
                fs::write(file, "precious").expect("there is room");
            }
            symlink(&one, directory.join("stdout")).expect("the name is free");
            fs::hard_link(&other, directory.join("stderr")).expect("the name is free");
        }
        work.prepare(&executor, "header").expect("its files are made anew");
        work.prepare_driver(&driver, "header").expect("its files are made anew");
        assert_eq!([one, other].map(|file| fs::read_to_string(file).expect("it stays")), ["precious"; 2]);
        assert_eq!(fs::read_to_string(work.of_driver(&driver).join("stderr")).expect("it is"), "header");
        work.prepare_driver(&driver, "again").expect("they are its own");
        assert_eq!(fs::read_to_string(work.of_driver(&driver).join("stderr")).expect("it is"), "headeragain");
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
