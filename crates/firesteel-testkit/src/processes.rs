//! Information about processes from /proc.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Sends a signal to a process.
///
/// # Errors
/// The process has ended.
pub fn signal(pid: u32, signal: Signal) -> nix::Result<()> {
    kill(Pid::from_raw(i32::try_from(pid).expect("a process id is a positive i32")), signal)
}

pub fn catches(pid: u32, signal: Signal) -> bool {
    has_in_its_mask(pid, "SigCgt:", signal)
}

pub fn ignores(pid: u32, signal: Signal) -> bool {
    has_in_its_mask(pid, "SigIgn:", signal)
}

fn has_in_its_mask(pid: u32, mask: &str, signal: Signal) -> bool {
    let mask = field(pid, mask).and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}

pub fn children_of(pid: u32) -> Vec<u32> {
    all().filter(|other| parent_of(*other) == Some(pid)).collect()
}

/// The children of a process, their children, and so on.
pub fn descendants_of(pid: u32) -> Vec<u32> {
    let mut found = children_of(pid);
    let mut next = 0;
    while let Some(child) = found.get(next).copied() {
        found.extend(children_of(child));
        next += 1;
    }
    found
}

/// The parent of a process. `None` if the process has ended.
pub fn parent_of(pid: u32) -> Option<u32> {
    field(pid, "PPid:")?.parse().ok()
}

/// Whether a process runs. A zombie does not run.
pub fn is_alive(pid: u32) -> bool {
    field(pid, "State:").is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// Whether all threads of a process are stopped. After SIGSTOP, some may run on for a moment.
pub fn is_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut states = threads.filter_map(|thread| field_of(&thread.path(), "State:")).peekable();
    states.peek().is_some() && states.all(|state| state.starts_with('T'))
}

/// The arguments of a process. Empty if the process has ended.
pub fn command_line(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The working directory of a process. `None` if the process has ended.
pub fn directory_of(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// The processes whose working directory is this directory or is below it.
pub fn within(directory: &Path) -> Vec<u32> {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    all().filter(|pid| directory_of(*pid).is_some_and(|cwd| cwd.starts_with(&directory))).collect()
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("there is a /proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn field(pid: u32, name: &str) -> Option<String> {
    field_of(Path::new(&format!("/proc/{pid}")), name)
}

/// A field of the status of a process or of a thread, by its directory in /proc.
fn field_of(directory: &Path, name: &str) -> Option<String> {
    let status = fs::read_to_string(directory.join("status")).ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}
