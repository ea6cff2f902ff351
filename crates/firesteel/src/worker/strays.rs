//! Finding processes by the marker that executors carry in their environment, and killing them.

use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use firesteel_core::ids::{ExecutorKey, WorkerId};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::environment::{APP_ID, EXECUTOR_ID, WORKER_ID};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Variables, all of which a process must carry to be meant.
///
/// A process inherits them from the executor through any number of forks, and keeps them when it leaves the
/// process group or is adopted by another parent. Worker ids are unique for each process of a Worker, so a marker
/// never means a stranger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    entries: Vec<Vec<u8>>,
}

impl Marker {
    /// Everything that a Worker started but the reaper.
    #[must_use]
    pub fn of_worker(worker: &WorkerId) -> Self {
        Self { entries: vec![format!("{WORKER_ID}={worker}").into_bytes()] }
    }

    /// Everything that belongs to an executor.
    #[must_use]
    pub fn of_executor(worker: &WorkerId, executor: &ExecutorKey) -> Self {
        let mut marker = Self::of_worker(worker);
        marker.entries.push(format!("{APP_ID}={}", executor.app).into_bytes());
        marker.entries.push(format!("{EXECUTOR_ID}={}", executor.executor).into_bytes());
        marker
    }

    /// Only those that carry this variable too.
    #[must_use]
    pub fn and(mut self, variable: &str, value: impl fmt::Display) -> Self {
        self.entries.push(format!("{variable}={value}").into_bytes());
        self
    }

    /// Whether an environment, as `/proc/<pid>/environ` has it, carries the marker.
    fn is_in(&self, environment: &[u8]) -> bool {
        let carries = |entry: &Vec<u8>| environment.split(|&byte| byte == 0).any(|found| found == entry);
        self.entries.iter().all(carries)
    }

    /// The processes that carry the marker now, but this one. Those whose environment cannot be read, since they
    /// are another user's, are not among them.
    #[must_use]
    pub fn bearers(&self) -> Vec<Pid> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let own = nix::unistd::getpid();
        pids.map(Pid::from_raw)
            .filter(|&pid| pid != own)
            // A process that has just ended reads as an error, a zombie as nothing.
            .filter(|pid| {
                fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| self.is_in(&environment))
            })
            .collect()
    }
}

/// Kills every process that carries the marker, again and again until none was found for `quiet_looks` looks in
/// a row. Blocks the thread.
///
/// # Errors
/// Some are still there after `limit`.
pub fn kill_bearers(marker: &Marker, quiet_looks: u32, limit: Duration) -> Result<(), Survivors> {
    let give_up = Instant::now() + limit;
    let mut quiet = 0;
    loop {
        let bearers = marker.bearers();
        for &pid in &bearers {
            // It may have ended meanwhile.
            let _ = kill(pid, Signal::SIGKILL);
        }
        quiet = if bearers.is_empty() { quiet + 1 } else { 0 };
        if quiet >= quiet_looks {
            return Ok(());
        }
        if Instant::now() >= give_up {
            return Err(Survivors { pids: bearers.into_iter().map(Pid::as_raw).collect() });
        }
        std::thread::sleep(PAUSE);
    }
}

/// Processes that SIGKILL did not end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("killed processes are not gone: {pids:?}")]
pub struct Survivors {
    /// Which.
    pub pids: Vec<i32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use firesteel_core::ids::{AppId, ExecutorId};

    #[test]
    fn a_marker_matches_whole_variables_and_needs_all_of_them() {
        let key = ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(3) };
        let marker = Marker::of_executor(&WorkerId::new("w-1"), &key);
        let with = |text: &str| marker.is_in(text.replace(' ', "\0").as_bytes());
        assert!(with("PATH=/bin FIRESTEEL_APP_ID=app-1 FIRESTEEL_EXECUTOR_ID=3 FIRESTEEL_WORKER_ID=w-1"));
        assert!(!with("FIRESTEEL_APP_ID=app-1 FIRESTEEL_EXECUTOR_ID=31 FIRESTEEL_WORKER_ID=w-1"));
        assert!(!with("FIRESTEEL_APP_ID=app-1 FIRESTEEL_EXECUTOR_ID=3 FIRESTEEL_WORKER_ID=w-10"));
        assert!(!with("FIRESTEEL_APP_ID=app-1 FIRESTEEL_EXECUTOR_ID=3"));
        assert!(!with("X=FIRESTEEL_APP_ID=app-1 FIRESTEEL_EXECUTOR_ID=3 FIRESTEEL_WORKER_ID=w-1"));
        assert!(!with(""));
    }
}
