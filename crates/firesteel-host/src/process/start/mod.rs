//! Starting a process, and why one was not started.
//!
//! A program is found and run in the same way as by `execvp`, `xargs`, `env` and `nohup`. So `/bin/sh` runs an
//! executable text without `#!`. The operating system reports the same error for a missing directory, a missing program
//! and a missing interpreter. The error texts here distinguish these.

mod interpreter;

use std::env;
use std::error::Error;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use firesteel_protocol::byte_text;
use firesteel_protocol::process::{Fault, NotStarted, StartFailure, StartStep};
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use tokio::process::Child;

use super::process_group::ProcessGroup;

/// The program that runs an executable text without `#!`.
const SHELL: &str = "/bin/sh";

/// The directories in which programs are looked up if `PATH` is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Checks that a process can be started in this directory.
///
/// # Errors
/// The directory does not exist or cannot be entered.
pub fn enter(path: &str) -> Result<(), NotStarted> {
    let failure = |error: String| StartFailure { step: StartStep::Directory, error };
    let directory = byte_text::path(path);
    match directory.metadata() {
        Ok(found) if found.is_dir() => {
            within(&directory).map_err(|error| failed(StartStep::Directory, path, &error))
        }
        Ok(_) => Err(failure(format!("{path}: not a directory")).into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(failure(format!("{path}: not found")).into())
        }
        Err(error) => Err(failed(StartStep::Directory, path, &error)),
    }
}

/// Whether a process may enter this directory.
fn within(directory: &Path) -> io::Result<()> {
    directory.join(".").metadata().map(drop)
}

/// Starts a command as the leader of its own process group. `connect` sets the command's standard streams; `connect`
/// may be called twice. Errors name the program `name`.
///
/// Call this on a thread of the runtime.
///
/// # Errors
/// The program is not found, or cannot be run, or the machine is short of processes, open files or memory.
pub fn spawn(
    command: Command,
    name: &str,
    connect: impl Fn(&mut Command) -> io::Result<()>,
) -> Result<(Child, ProcessGroup), NotStarted> {
    let child = start(command, name, connect, |command| {
        let mut waited_by_runtime =
            tokio::process::Command::from(std::mem::replace(command, Command::new("")));
        let child = waited_by_runtime.spawn();
        *command = waited_by_runtime.into_std();
        child
    })?;
    let group = ProcessGroup::of(&child);
    Ok((child, group))
}

/// Like [`spawn`], for a process without a runtime. The command inherits standard output and standard error; its
/// standard input is empty.
///
/// # Errors
/// See [`spawn`].
pub fn spawn_without_runtime(
    command: Command,
    name: &str,
) -> Result<(std::process::Child, ProcessGroup), NotStarted> {
    let connect = |command: &mut Command| {
        command.stdin(Stdio::null());
        Ok(())
    };
    let child = start(command, name, connect, Command::spawn)?;
    let group = ProcessGroup::led_by(child.id());
    Ok((child, group))
}

fn start<C>(
    mut command: Command,
    name: &str,
    connect: impl Fn(&mut Command) -> io::Result<()>,
    spawn: impl Fn(&mut Command) -> io::Result<C>,
) -> Result<C, NotStarted> {
    let spawn_once = |command: &mut Command| {
        connect(command.process_group(0))?;
        spawn(command)
    };
    let error = match spawn_once(&mut command) {
        Ok(started) => return Ok(started),
        Err(error) => error,
    };
    if error.raw_os_error() == Some(Errno::ENOEXEC as i32)
        && let Some(script) = file_of(&command).filter(|file| interpreter::is_text(file))
    {
        let mut shell = run_by_shell(&command, &script);
        return spawn_once(&mut shell).map_err(|error| not_started(&shell, name, &error));
    }
    Err(not_started(&command, name, &error))
}

/// The same command, run by `/bin/sh` instead of the kernel.
fn run_by_shell(command: &Command, script: &Path) -> Command {
    let mut shell = Command::new(SHELL);
    shell.arg(script).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        shell.current_dir(directory);
    }
    shell
}

#[must_use]
pub fn not_started(command: &Command, name: &str, error: &io::Error) -> NotStarted {
    if is_shortage(error) {
        return failed(StartStep::Program, name, error);
    }
    // The system's error is the same one.
    if error.kind() == io::ErrorKind::PermissionDenied
        && let Some(directory) = command.get_current_dir()
        && let Err(error) = within(directory)
    {
        return failed(StartStep::Directory, directory.display(), &error);
    }
    let words = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            file_of(command).and_then(|file| interpreter::fault(&file, command.get_current_dir()))
        }
        _ => None,
    };
    let (step, error) = match words {
        Some(words) => (StartStep::Lookup, format!("{name}: {words}")),
        None if error.kind() == io::ErrorKind::NotFound => (StartStep::Lookup, format!("{name}: not found")),
        None if is_of_the_program(error) => (StartStep::Lookup, format!("{name}: {error}")),
        None => (StartStep::Program, format!("{name}: {error}")),
    };
    StartFailure { step, error }.into()
}

/// The error for a step that failed at this path with this error of the operating system.
#[must_use]
pub fn failed(step: StartStep, path: impl std::fmt::Display, error: &io::Error) -> NotStarted {
    let fault = if is_shortage(error) { Fault::Shortage } else { Fault::Command };
    NotStarted { failure: StartFailure { step, error: format!("{path}: {error}") }, fault }
}

/// The operating system's errors that can go away when other processes end.
const SHORTAGES: [Errno; 5] = [Errno::EAGAIN, Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::ETXTBSY];

/// Whether an error means that the machine is short of processes, open files or memory, or that the program's file is
/// being written. The error goes away when another process has ended.
#[must_use]
pub fn is_shortage(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| SHORTAGES.contains(&Errno::from_raw(code)))
}

/// Whether an error is one of these shortages, or was caused by one.
#[must_use]
pub fn is_of_shortage(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref().is_some_and(is_shortage) || error.source().is_some_and(is_of_shortage)
}

/// Whether an error means that the program can never run on this machine.
fn is_of_the_program(error: &io::Error) -> bool {
    let errors = [
        Errno::EACCES,
        Errno::EPERM,
        Errno::ENOEXEC,
        Errno::ENOTDIR,
        Errno::EISDIR,
        Errno::ELOOP,
        Errno::ENAMETOOLONG,
        Errno::E2BIG,
        Errno::EINVAL,
        Errno::ELIBBAD,
    ];
    error.kind() == io::ErrorKind::InvalidInput
        || error.raw_os_error().is_some_and(|code| errors.contains(&Errno::from_raw(code)))
}

/// The file that a command runs, as `execvp` finds it.
fn file_of(command: &Command) -> Option<PathBuf> {
    let program = command.get_program();
    let at = |path: &Path| command.get_current_dir().map_or_else(|| path.to_owned(), |at| at.join(path));
    let can_be_run = |file: &PathBuf| file.is_file() && access(file, AccessFlags::X_OK).is_ok();
    if program.as_bytes().contains(&b'/') {
        return Some(at(Path::new(program))).filter(can_be_run);
    }
    let given = command.get_envs().find(|(name, _)| *name == "PATH");
    let path = match given {
        Some((_, value)) => value.map(OsStr::to_owned),
        None => env::var_os("PATH"),
    };
    let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
    env::split_paths(&path).map(|directory| at(&directory.join(program))).find(can_be_run)
}

#[cfg(test)]
mod tests;
