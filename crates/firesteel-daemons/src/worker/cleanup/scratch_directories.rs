//! The scratch directories of applications, in which Spark's executors keep blocks and shuffle files.
//!
//! ```text
//! <directory of the settings>/firesteel-<Worker>/<application>
//! ```
//!
//! A scratch directory outlives an executor, since other executors read its files. It is removed with the application.
//! After a Worker was killed, the next Worker in its work directory removes its scratch directories.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use firesteel_host::account::Account;
use firesteel_protocol::ids::{AppId, WorkerId};
use firesteel_protocol::process::{StartFailure, StartStep};
use nix::unistd::geteuid;

use crate::files::private;

/// The mode of a directory that only its owner uses.
const PRIVATE: u32 = 0o700;

/// The mode of a directory in which only its owner lists names, and everybody reaches what he knows.
const THROUGH: u32 = 0o711;

/// The directories that contain the scratch directories of this machine's Workers.
#[derive(Clone, Debug)]
pub struct ScratchRoots(Vec<PathBuf>);

/// The scratch directories of one Worker.
#[derive(Clone, Debug)]
pub struct ScratchDirectories {
    directories: Vec<PathBuf>,
}

impl ScratchRoots {
    /// The directories in the settings. If there are none, the system's directory for temporary files.
    #[must_use]
    pub fn of(settings: &[PathBuf]) -> Self {
        match settings {
            [] => Self(vec![std::env::temp_dir()]),
            named => Self(named.to_vec()),
        }
    }

    /// The scratch directories of a Worker. They need not exist yet.
    #[must_use]
    pub fn of_worker(&self, worker: &WorkerId) -> ScratchDirectories {
        ScratchDirectories {
            directories: self.0.iter().map(|root| root.join(format!("firesteel-{worker}"))).collect(),
        }
    }
}

impl ScratchDirectories {
    /// Makes the directories of an application whose executors run under this account. Only it can use them. `None`:
    /// the Worker's own account. Blocks the thread.
    ///
    /// # Errors
    /// None of the directories could be made.
    pub fn make(&self, app: &AppId, account: Option<&Account>) -> Result<Vec<PathBuf>, StartFailure> {
        let mut made = Vec::new();
        let mut errors = Vec::new();
        for directory in &self.directories {
            let path = directory.join(app.as_str());
            match make_in(directory, &path, account) {
                Ok(()) => made.push(path),
                Err(error) => errors.push(format!("{}: {error}", path.display())),
            }
        }
        if made.is_empty() {
            return Err(StartFailure { step: StartStep::Directory, error: errors.join("; ") });
        }
        for error in errors {
            tracing::warn!("cannot use a scratch directory: {error}");
        }
        Ok(made)
    }

    /// The directories of an application. They need not exist.
    #[must_use]
    pub fn of_app(&self, app: &AppId) -> Vec<PathBuf> {
        self.directories.iter().map(|directory| directory.join(app.as_str())).collect()
    }

    /// Removes the directories of an application. Blocks the thread.
    pub fn remove(&self, app: &AppId) {
        self.of_app(app).iter().for_each(|directory| remove(directory));
    }

    /// Removes the directories of all applications. Blocks the thread.
    pub fn remove_all(&self) {
        self.directories.iter().for_each(|directory| remove(directory));
    }
}

/// Makes the directory of the Worker, and in it that of an application, which is given to this account.
fn make_in(directory: &Path, path: &Path, account: Option<&Account>) -> io::Result<()> {
    let Some(account) = account else {
        return own(directory, None, PRIVATE).and_then(|()| own(path, None, PRIVATE));
    };
    own(directory, None, THROUGH)?;
    fs::set_permissions(directory, Permissions::from_mode(THROUGH))?;
    own(path, Some(account.user()), PRIVATE)?;
    lchown(path, Some(account.user()), None)
}

/// Makes a directory with its parents, unless it exists, belongs to this user or else to that one, and gives others no
/// more than this mode. In a place where all users may write, another user may have made the directory.
fn own(path: &Path, or: Option<u32>, mode: u32) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match private::create_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = fs::symlink_metadata(path)?;
            let is_own = found.uid() == geteuid().as_raw() || Some(found.uid()) == or;
            let is_own = found.is_dir() && is_own;
            let is_private = found.permissions().mode() & 0o077 & !mode == 0;
            if is_own && is_private { Ok(()) } else { Err(error) }
        }
        made => made,
    }
}

fn remove(path: &Path) {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!("cannot remove the scratch directory {}: {error}", path.display());
        }
        Ok(()) | Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_directories_are_private_and_go_with_their_application() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().expect("there is room"));
        let roots = ScratchRoots::of(&[one.path().to_owned(), other.path().join("deep")]);
        let scratch = roots.of_worker(&WorkerId::new("worker-1"));
        let [app, neighbour] = ["app-1", "app-2"].map(AppId::new);
        let made = scratch.make(&app, None).expect("they are made");
        assert_eq!(
            made,
            [one.path().join("firesteel-worker-1/app-1"), other.path().join("deep/firesteel-worker-1/app-1")]
        );
        for path in &made {
            let mode = fs::metadata(path).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", path.display());
        }
        assert_eq!(scratch.make(&app, None), Ok(made.clone()), "all executors of an application share them");
        scratch.make(&neighbour, None).expect("they are made");
        scratch.remove(&app);
        assert!(made.iter().all(|path| !path.exists()));
        assert!(one.path().join("firesteel-worker-1/app-2").exists());
        scratch.remove_all();
        assert!(!one.path().join("firesteel-worker-1").exists());
    }

    #[test]
    fn what_others_may_use_is_not_used() {
        let root = tempfile::tempdir().expect("there is room");
        let scratch = ScratchRoots::of(&[root.path().to_owned()]).of_worker(&WorkerId::new("w"));
        fs::create_dir(root.path().join("firesteel-w")).expect("it is made");
        fs::set_permissions(root.path().join("firesteel-w"), fs::Permissions::from_mode(0o777))
            .expect("mine");
        let refused = scratch.make(&AppId::new("app-1"), None).expect_err("others may write there");
        assert!(refused.error.contains("firesteel-w/app-1"), "{refused}");
        let file = root.path().join("file");
        fs::write(&file, "").expect("it is written");
        let roots = ScratchRoots::of(&[file, root.path().join("two")]);
        let made =
            roots.of_worker(&WorkerId::new("w")).make(&AppId::new("app-1"), None).expect("one is left");
        assert_eq!(made, [root.path().join("two/firesteel-w/app-1")]);
    }
}
