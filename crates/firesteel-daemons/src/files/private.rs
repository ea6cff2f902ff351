//! Files and directories on a Worker that other users of the machine cannot read.
//!
//! A file of an application may be readable only by its owner, such as a key. The Worker's copy is therefore never
//! readable by more users than the original: only the Worker's user reads it. The mode is given when a file is made, so
//! there is no moment at which others could open it.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use firesteel_host::account::Account;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};

/// The mode of a directory that only its owner can use.
const PRIVATE_DIRECTORY: u32 = 0o700;

/// The mode of a directory of executors. The directory's group may read logs in it.
const SHARED_DIRECTORY: u32 = 0o750;

/// The right of everybody to reach what is in a directory.
const THROUGH: u32 = 0o001;

/// How often to try to make a directory whose parent is being removed at the same time.
const ATTEMPTS: u32 = 5;

/// The mode of an executor's log.
const LOG: u32 = 0o640;

/// Makes a directory that only its owner can use.
///
/// # Errors
/// The directory exists, or cannot be made.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(PRIVATE_DIRECTORY).create(path)
}

/// Makes a directory that only its owner can use, with its parents, unless it exists.
///
/// # Errors
/// The directory cannot be made.
pub(crate) fn create_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(path)
}

/// Makes a directory that its group may read, with its parents, unless it exists. Other users cannot use it.
///
/// # Errors
/// The directory cannot be made.
pub(crate) fn create_group_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(SHARED_DIRECTORY).create(path)
}

/// An open directory. What is made in it is made there, even if somebody puts a link in the place of the directory.
#[derive(Debug)]
pub(crate) struct OwnDirectory {
    directory: File,
    /// The path for errors.
    path: PathBuf,
    /// The owner of the directory in which the first one was made.
    owner: u32,
}

impl OwnDirectory {
    /// Opens a directory that exists. The path may lead through links that its author has made.
    ///
    /// # Errors
    /// The directory cannot be opened.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let directory = File::open(path)?;
        let owner = directory.metadata()?.uid();
        Ok(Self { directory, path: path.to_owned(), owner })
    }

    fn find(&self, name: &str) -> io::Result<Self> {
        let path = self.path.join(name);
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let directory = match openat(&self.directory, name, flags, Mode::empty()) {
            Ok(directory) => File::from(directory),
            Err(Errno::ELOOP | Errno::ENOTDIR) => return Err(io::Error::other(STRANGE)),
            Err(error) => return Err(error.into()),
        };
        Ok(Self { directory, path, owner: self.owner })
    }

    /// This directory, unless it belongs to another user than this process.
    fn if_own(self) -> io::Result<Self> {
        let owner = self.directory.metadata()?.uid();
        // A file system may give files to another owner than the user who makes them.
        if owner != geteuid().as_raw() && owner != self.owner {
            return Err(io::Error::other(STRANGE));
        }
        Ok(self)
    }

    /// Makes a directory in this one unless it exists, and opens it. Its group may read it; other users cannot use it.
    ///
    /// # Errors
    /// The directory cannot be made, or somebody has put a link or another user's directory in its place.
    pub(crate) fn make(&self, name: &str) -> io::Result<Self> {
        self.make_for(name, None)
    }

    /// Makes a directory that belongs to this account unless it exists, and opens it. Without an account, as
    /// [`make`](Self::make).
    ///
    /// # Errors
    /// As [`make`](Self::make), or the directory cannot be given away.
    pub(crate) fn make_for(&self, name: &str, account: Option<&Account>) -> io::Result<Self> {
        match mkdirat(&self.directory, name, Mode::from_bits_truncate(SHARED_DIRECTORY)) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let made = self.find(name)?;
        let Some(account) = account else { return made.if_own() };
        if made.directory.metadata()?.uid() == account.user() {
            return Ok(made);
        }
        let made = made.if_own()?;
        account.give(&made.directory)?;
        Ok(made)
    }

    /// Lets everybody reach what is in this directory by its name, and nobody list it.
    ///
    /// # Errors
    /// The mode cannot be changed.
    pub(crate) fn let_through(&self) -> io::Result<()> {
        let mode = self.directory.metadata()?.permissions().mode();
        if mode & THROUGH == THROUGH {
            return Ok(());
        }
        self.directory.set_permissions(Permissions::from_mode(mode | THROUGH))
    }

    /// Makes a new file that its owner and its group can read, in the place of a file or a link of this name.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(crate) fn create_log(&self, name: &str) -> io::Result<File> {
        match unlinkat(&self.directory, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => self.open_file(name, OFlag::O_CREAT | OFlag::O_EXCL),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a file to append to it. A new file can be read by its owner and its group. It takes the place of a link,
    /// and of a file that has another name elsewhere.
    ///
    /// # Errors
    /// The file cannot be made or opened.
    pub(crate) fn append_log(&self, name: &str) -> io::Result<File> {
        // A pipe has no reader that this waits for.
        if let Ok(file) = self.open_file(name, OFlag::O_CREAT | OFlag::O_APPEND | OFlag::O_NONBLOCK) {
            let found = file.metadata()?;
            if found.is_file() && found.nlink() == 1 {
                return Ok(file);
            }
        }
        self.create_log(name)
    }

    fn open_file(&self, name: &str, flags: OFlag) -> io::Result<File> {
        let flags = flags | OFlag::O_WRONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        Ok(openat(&self.directory, name, flags, Mode::from_bits_truncate(LOG))?.into())
    }
}

/// Why a directory or a file is not used.
const STRANGE: &str = "it is a link, or not what this Worker has made there: remove it";

/// Repeats an attempt that failed because the empty parent directory was removed at the same moment.
///
/// # Errors
///
/// The error of the last attempt.
pub(crate) fn despite_removal<T>(make: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let mut made = make();
    for _ in 1..ATTEMPTS {
        match made {
            Err(error) if error.kind() == io::ErrorKind::NotFound => made = make(),
            other => return other,
        }
    }
    made
}

/// Makes a file that only its owner can read, and opens it for writing.
///
/// # Errors
/// The file exists, or cannot be made.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Makes a complete file read-only. Only the owner can still read it.
///
/// # Errors
///
/// The mode cannot be changed.
pub(crate) fn seal(file: &File, executable: bool) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(if executable { 0o500 } else { 0o400 }))
}

/// Opens an executor's log with these options. A new file can be read by its owner and its group.
///
/// # Errors
/// The file cannot be opened.
pub(crate) fn open_log(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.mode(LOG).open(path)
}
