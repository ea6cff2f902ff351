//! What a reaper takes from the process that it starts, and from all of its descendants.

use std::fs;
use std::io;

use nix::sys::prctl;

/// The file with which a process tells the kernel how gladly it is killed when memory runs out, from -1000 to 1000.
const SCORE: &str = "/proc/self/oom_score_adj";

/// The score of executors, cluster drivers and services. The Worker keeps its own, so the kernel takes them first.
const OF_EXECUTORS: i32 = 500;

/// Takes away the right to gain rights, for example by sudo. This cannot be undone.
///
/// # Errors
/// The kernel is older than 3.5.
pub(super) fn gain_no_privileges() -> io::Result<()> {
    Ok(prctl::set_no_new_privs()?)
}

/// Starts a process that the kernel kills rather than this one when memory runs out. Where the score cannot be changed,
/// the process is started with that of this one.
pub(super) fn killed_first<T>(start: impl FnOnce() -> T) -> T {
    let own = fs::read_to_string(SCORE).ok().and_then(|score| score.trim().parse().ok());
    if own.is_some_and(|own: i32| own < OF_EXECUTORS) {
        let _ = fs::write(SCORE, OF_EXECUTORS.to_string());
    }
    let started = start();
    if let Some(own) = own {
        let _ = fs::write(SCORE, own.to_string());
    }
    started
}
