//! Starting this program again.
//!
//! This starts the same file that is running now, even if the file was removed, or another file has taken its path. So
//! an installation that is replaced under a daemon does not change what the daemon starts.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs};

use nix::sys::prctl;

use super::children;

/// A path that leads, in each process that opens it, to the file that this process runs.
const EXE: &str = "/proc/self/exe";

/// The suffix that Linux appends to the path of a file that was removed.
const DELETED: &str = " (deleted)";

#[derive(Clone, Debug)]
pub struct OwnProgram {
    /// The program's path when it was found. Another file may have this path now.
    path: PathBuf,
}

impl OwnProgram {
    /// Finds the running program.
    ///
    /// # Errors
    /// The system does not provide the program's path.
    pub fn find() -> io::Result<Self> {
        let path = env::current_exe()?;
        let whole = path.to_str().and_then(|path| path.strip_suffix(DELETED));
        Ok(Self { path: whole.filter(|_| !path.exists()).map_or(path.clone(), PathBuf::from) })
    }

    /// The program's path when it was found. Another file may have this path now.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(EXE);
        command.arg0(&self.path);
        command
    }

    /// Starts the program, which prints its version, and waits for its end.
    ///
    /// # Errors
    /// The program cannot be started, or fails. The error is a text for people.
    pub fn try_to_start(&self) -> Result<(), String> {
        let mut command = self.command();
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let path = self.path.display();
        let started = children::start(|| command.spawn(), Child::id);
        match started.and_then(|(mut child, _started)| child.wait()) {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("cannot start the program: {path} --version: {status}")),
            Err(error) => Err(format!("cannot start the program: {path}: {error}")),
        }
    }

    /// A path by which other programs can start this program, as long as this process lives.
    #[must_use]
    pub fn path_for_others(&self) -> PathBuf {
        let is_there = is_same_file(&self.path, Path::new(EXE)).unwrap_or(false);
        if is_there { self.path.clone() } else { format!("/proc/{}/exe", std::process::id()).into() }
    }
}

fn is_same_file(one: &Path, other: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (one, other) = (fs::metadata(one)?, fs::metadata(other)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// Restores this process's name, as shown by `ps` and `pkill`. The kernel changes the name of a process that
/// [`OwnProgram::command`] started. Call this at the very start, on the main thread.
pub fn restore_name() {
    let is_lost = fs::read("/proc/self/comm").is_ok_and(|name| name == b"exe\n");
    let name = env::args_os().next().filter(|_| is_lost);
    let name = name.as_deref().map(Path::new).and_then(Path::file_name);
    if let Some(name) = name.and_then(|name| std::ffi::CString::new(name.as_encoded_bytes()).ok()) {
        // Without the name it works as well.
        let _ = prctl::set_name(&name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_started_is_the_file_that_runs() {
        let own = OwnProgram::find().expect("/proc is there");
        assert_eq!(own.path_for_others(), own.path());
        assert_eq!(own.command().get_program(), EXE);
        let gone = OwnProgram { path: "/nowhere/firesteel".into() };
        assert_eq!(gone.path_for_others(), Path::new(&format!("/proc/{}/exe", std::process::id())));
        let output = gone.command().arg("--list").output().expect("it can be started");
        assert!(String::from_utf8_lossy(&output.stdout).contains("what_is_started_is_the_file_that_runs"));
    }
}
