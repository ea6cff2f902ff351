//! The children of this process: those that it started, and those that it adopted.
//!
//! When a process ends, the kernel gives its children to the nearest ancestor that is a *subreaper*. No program can
//! leave the tree below a subreaper: not by a session of its own, nor by a double fork or another environment. A
//! subreaper without children has no descendants. It has to wait for the end of the processes that it adopted.
//!
//! A child keeps its process id until this process has waited for it. So a signal to a child never reaches another
//! process.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io};

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::table;

/// The children that this process started, and waits for elsewhere.
static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The pause between two rounds of killing.
const PAUSE: Duration = Duration::from_millis(2);

/// The number of lists of children that are read in one round. A process that forks and ends at once has another id in
/// each list.
const LISTS: usize = 100;

/// Makes this process a subreaper: it adopts its descendants when their parents end.
///
/// # Errors
/// The kernel does not know subreapers.
pub fn adopt() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// The record that this process started a child, and did not adopt it. Drop it after the child was waited for.
#[derive(Debug)]
pub struct StartedChild(u32);

impl Drop for StartedChild {
    fn drop(&mut self) {
        started().remove(&self.0);
    }
}

/// Starts a child and records that it was started. `id` returns the child's process id.
///
/// # Errors
/// The error of `start`.
pub fn start<C, E>(
    start: impl FnOnce() -> Result<C, E>,
    id: impl FnOnce(&C) -> u32,
) -> Result<(C, StartedChild), E> {
    // Locked, so that the child is not taken for an adopted one in between.
    let mut started = started();
    let child = start()?;
    let id = id(&child);
    started.insert(id);
    Ok((child, StartedChild(id)))
}

fn started() -> MutexGuard<'static, BTreeSet<u32>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All children of this process, also those that have ended and were not waited for.
fn children() -> BTreeSet<u32> {
    // A kernel without this file has only the table.
    if !Path::new("/proc/thread-self/children").exists() {
        let own = std::process::id();
        return table::processes()
            .into_iter()
            .filter(|(_, stat)| stat.parent == own)
            .map(|(pid, _)| pid)
            .collect();
    }
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Waits for the children that have ended, except this one.
pub fn reap_except(child: u32) {
    children().into_iter().filter(|pid| *pid != child).for_each(reap);
}

fn reap(pid: u32) {
    // There is nothing to do if the child has not ended.
    let _ = waitpid(Pid::from_raw(pid.cast_signed()), Some(WaitPidFlag::WNOHANG));
}

/// Kills all children of this process, then the children that it adopts in their place, until none is left. `at_round`
/// is called before each round. Returns the processes that are left after the time limit. Blocks the thread.
///
/// No thread of this process may start a child meanwhile, or wait for one.
#[must_use]
pub fn end_all(limit: Duration, at_round: impl FnMut()) -> Vec<u32> {
    end(limit, at_round, || kill_and_reap(&BTreeSet::new()))
}

/// Kills the processes that this process adopted, and their descendants. Leaves the children that it
/// [started](start) alone. Does nothing if this process is no subreaper. Returns the processes that are left after the
/// time limit. Blocks the thread.
#[must_use]
pub fn end_adopted(limit: Duration) -> Vec<u32> {
    if prctl::get_child_subreaper() != Ok(true) {
        return Vec::new();
    }
    end(limit, || (), || kill_and_reap(&started()))
}

fn end(limit: Duration, mut at_round: impl FnMut(), mut round: impl FnMut() -> BTreeSet<u32>) -> Vec<u32> {
    let give_up = Instant::now() + limit;
    loop {
        at_round();
        let left = round();
        if left.is_empty() || Instant::now() >= give_up {
            return left.into_iter().collect();
        }
        std::thread::sleep(PAUSE);
    }
}

/// Kills all children except these, and waits for those that have ended. Returns the children that it found.
fn kill_and_reap(except: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut killed = BTreeSet::new();
    for _ in 0..LISTS {
        let fresh: Vec<u32> =
            children().into_iter().filter(|pid| !except.contains(pid) && !killed.contains(pid)).collect();
        if fresh.is_empty() {
            break;
        }
        for pid in &fresh {
            let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
        }
        killed.extend(fresh);
    }
    killed.iter().copied().for_each(reap);
    killed
}
