//! Finds and kills processes by the marker that executors carry in their environment.
//!
//! This is the last resort. A program can drop the marker (`env -i`) or overwrite it. Which processes belong to a
//! running executor is known to its [reaper](crate::worker::reaper).

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use firesteel_protocol::ids::{ExecutorKey, WorkerId};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::worker::environment::{APP_ID, EXECUTOR_ID, WORKER_ID};

const PAUSE: Duration = Duration::from_millis(10);

/// The longest wait for a process that is replacing its program: see [`environment_of`].
const EXEC_LIMIT: Duration = Duration::from_secs(1);

/// A set of environment variables. A process matches if its environment has all of these variables.
///
/// A process inherits the variables from the executor through any number of forks. It keeps them when it leaves the
/// process group or is adopted by another parent. Worker ids are unique for each process of a Worker, so a marker with
/// a Worker id never matches an unrelated process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    entries: Vec<Vec<u8>>,
}

impl Marker {
    /// The marker of all processes that a Worker's executors started.
    #[must_use]
    pub fn of_worker(worker: &WorkerId) -> Self {
        Self { entries: vec![format!("{WORKER_ID}={worker}").into_bytes()] }
    }

    /// The marker of all processes of an executor.
    #[must_use]
    pub fn of_executor(worker: &WorkerId, executor: &ExecutorKey) -> Self {
        let mut marker = Self::of_worker(worker);
        marker.entries.push(format!("{APP_ID}={}", executor.app).into_bytes());
        marker.entries.push(format!("{EXECUTOR_ID}={}", executor.executor).into_bytes());
        marker
    }

    /// Narrows the marker to processes that also carry this variable.
    #[must_use]
    pub fn and(mut self, variable: &str, value: impl fmt::Display) -> Self {
        self.entries.push(format!("{variable}={value}").into_bytes());
        self
    }

    /// Whether these variables, each written `NAME=value`, include the marker.
    fn is_in(&self, environment: &BTreeSet<&[u8]>) -> bool {
        self.entries.iter().all(|entry| environment.contains(entry.as_slice()))
    }

    /// The processes that carry the marker now, except the calling process. Processes of other users are left out,
    /// because their environment cannot be read.
    #[must_use]
    pub fn matching(&self) -> Vec<Pid> {
        let own = nix::unistd::getpid();
        let others = processes().filter(|&(pid, _)| pid != own);
        others.filter(|(_, environment)| self.is_in(&variables(environment))).map(|(pid, _)| pid).collect()
    }
}

/// The processes of this machine, each with its environment. The environment is empty if it cannot be read. This
/// concerns processes of other users, zombies, and processes that have just ended.
fn processes() -> impl Iterator<Item = (Pid, Vec<u8>)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).map(Pid::from_raw);
    pids.map(|pid| (pid, environment_of(pid)))
}

/// Reads the environment of a process.
///
/// While a process replaces its program (execve), Linux shows an empty environment for it. On a busy machine this state
/// lasts many milliseconds. If the scan did not wait for its end, it would miss an executor that has just been started.
/// The state may also end just after an empty reading. So a process has no environment only if it was read after the
/// process was seen with one in place.
fn environment_of(pid: Pid) -> Vec<u8> {
    let give_up = Instant::now() + EXEC_LIMIT;
    let mut in_place = false;
    loop {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if !environment.is_empty() || in_place || Instant::now() >= give_up {
            return environment;
        }
        in_place = !is_between_programs(pid);
        if !in_place {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Whether a process has a program, but no environment yet. The kernel's own threads have neither program nor
/// environment.
fn is_between_programs(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    environment_is_missing(&stat) && fs::read_link(format!("/proc/{pid}/exe")).is_ok()
}

/// Whether `env_end` is 0 in `/proc/<pid>/stat`. `env_end` is field 51. The name of the program, field 2, is in
/// parentheses and may contain spaces and parentheses.
fn environment_is_missing(stat: &str) -> bool {
    stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(48)) == Some("0")
}

/// The variables in the format of `/proc/<pid>/environ`.
fn variables(environment: &[u8]) -> BTreeSet<&[u8]> {
    environment.split(|&byte| byte == 0).collect()
}

fn kill_all(pids: &[Pid]) {
    for &pid in pids {
        // The process may have ended already.
        let _ = kill(pid, Signal::SIGKILL);
    }
}

/// Kills every process that carries the marker, until `quiet_scans` consecutive scans find none. Blocks the
/// thread.
///
/// # Errors
/// Some processes still exist after `limit`.
pub fn kill_matching(marker: &Marker, quiet_scans: u32, limit: Duration) -> Result<(), Survivors> {
    let give_up = Instant::now() + limit;
    let mut quiet = 0;
    loop {
        let matching = marker.matching();
        kill_all(&matching);
        quiet = if matching.is_empty() { quiet + 1 } else { 0 };
        if quiet >= quiet_scans {
            return Ok(());
        }
        if Instant::now() >= give_up {
            return Err(Survivors::new(&matching));
        }
        std::thread::sleep(PAUSE);
    }
}

/// The processes that still exist after SIGKILL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("killed processes are not gone: {pids:?}")]
pub struct Survivors {
    pub pids: Vec<i32>,
}

impl Survivors {
    fn new(pids: &[Pid]) -> Self {
        Self { pids: pids.iter().map(|pid| pid.as_raw()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use firesteel_protocol::ids::{AppId, ExecutorId};

    use super::*;

    #[test]
    fn a_marker_matches_whole_variables_and_needs_all_of_them() {
        let key = ExecutorKey { app: AppId::new("app-1"), executor: ExecutorId(3) };
        let marker = Marker::of_executor(&WorkerId::new("w-1"), &key);
        let with = |text: &str| marker.is_in(&variables(text.replace(' ', "\0").as_bytes()));
        assert!(with("PATH=/bin FIRESTEEL_APP_ID=app-1 FIRESTEEL_EXECUTOR_ID=3 FIRESTEEL_WORKER_ID=w-1"));
        assert!(!with("FIRESTEEL_APP_ID=app-1 FIRESTEEL_EXECUTOR_ID=31 FIRESTEEL_WORKER_ID=w-1"));
        assert!(!with("FIRESTEEL_APP_ID=app-1 FIRESTEEL_EXECUTOR_ID=3 FIRESTEEL_WORKER_ID=w-10"));
        assert!(!with("FIRESTEEL_APP_ID=app-1 FIRESTEEL_EXECUTOR_ID=3"));
        assert!(!with("X=FIRESTEEL_APP_ID=app-1 FIRESTEEL_EXECUTOR_ID=3 FIRESTEEL_WORKER_ID=w-1"));
        assert!(!with(""));
    }

    #[test]
    fn a_process_is_found_as_soon_as_it_is_started() {
        let worker = WorkerId::new(format!("worker-just-started-{}", std::process::id()));
        for _ in 0..100 {
            let mut sleeper = std::process::Command::new("sleep");
            let mut sleeper =
                sleeper.arg("1000").env(WORKER_ID, worker.as_str()).spawn().expect("it can be started");
            let found = Marker::of_worker(&worker).matching();
            sleeper.kill().expect("it is ours");
            sleeper.wait().expect("it is ours");
            assert_eq!(found, [Pid::from_raw(sleeper.id().cast_signed())]);
        }
    }

    #[test]
    fn an_environment_is_missing_when_it_ends_nowhere() {
        let stat = |name: &str, end: &str| {
            let mut fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
            fields[51 - 3] = end.to_owned();
            format!("1 ({name}) {}", fields.join(" "))
        };
        for (stat, missing) in [
            (stat("cat", "0"), true),
            (stat("cat", "140731848380395"), false),
            (stat("a) b (c", "0"), true),
            (stat("a) b (c", "7"), false),
            (String::new(), false),
            ("1 (cat) R 1".to_owned(), false),
        ] {
            assert_eq!(environment_is_missing(&stat), missing, "{stat}");
        }
    }
}
