//! The control groups (cgroups, version 2) of a Worker's executors.
//!
//! ```text
//! <the Worker's own control group>/firesteel-<Worker>/<executor>
//! ```
//!
//! A process that is started in a control group stays in it with all of its descendants. The kernel can kill the whole
//! group at once, also a process that forks meanwhile, that runs as another user, or that has no living ancestor. A
//! control group outlives the Worker and its reapers, so the next Worker can end it.
//!
//! A Worker has control groups if it may write in its own group: as root, in a service with `Delegate=yes`, or in a
//! container with its own groups. It switches no controller on, so there is no limit and no cost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use firesteel_protocol::ids::WorkerId;
use nix::unistd::{AccessFlags, Pid, access};
use serde::{Deserialize, Serialize};

/// The file through which a process joins a group: `0` is the process that writes.
const PROCESSES: &str = "cgroup.procs";
/// The file through which a group is killed, since Linux 5.14.
const KILL: &str = "cgroup.kill";

const PAUSE: Duration = Duration::from_millis(10);

/// The number of attempts to remove a group. A group stays busy for a moment after the end of its last process.
const REMOVALS: usize = 10;

/// The number of attempts to make a group.
const CREATIONS: usize = 10;

/// The control groups of one Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGroups {
    /// The directory of the Worker's own group.
    own: PathBuf,
    /// The directory of the group that contains those of the executors.
    all: PathBuf,
}

impl ControlGroups {
    /// The control groups of a Worker. There is none before the first executor is started, and after the last one.
    ///
    /// # Errors
    /// The Worker cannot have control groups. The error is a text for people.
    pub fn of_worker(worker: &WorkerId) -> Result<Self, String> {
        let own = own_group()?;
        let failed = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let all = own.join(name(worker));
        match fs::create_dir(&all) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(&all, &error)),
            Ok(()) | Err(_) => {}
        }
        let groups = Self { own, all };
        let files = [groups.own.join(PROCESSES), groups.all.join(PROCESSES), groups.all.join(KILL)];
        let mut tried =
            files.iter().map(|file| access(file, AccessFlags::W_OK).map_err(|error| failed(file, &error)));
        let tried = tried.find(Result::is_err);
        groups.remove();
        tried.unwrap_or(Ok(())).map(|()| groups)
    }

    /// The directory by which another Worker finds the groups.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.all
    }

    /// The group of an executor, which need not exist yet. `None` if a path is not UTF-8.
    #[must_use]
    pub fn of(&self, executor: &str) -> Option<ControlGroup> {
        let path = self.all.join(executor.replace('/', "."));
        Some(ControlGroup { outer: self.own.to_str()?.to_owned(), path: path.to_str()?.to_owned() })
    }

    /// Removes the groups, unless there are processes in them.
    pub fn remove(&self) {
        remove(&self.all);
    }
}

/// The control group of one executor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ControlGroup {
    /// The directory of the group in which the reaper stays.
    outer: String,
    path: String,
}

impl ControlGroup {
    /// Makes the group and moves this process into it, so that the next child begins there.
    pub(super) fn entered(self) -> io::Result<Self> {
        // The reaper of another executor may just remove the directory that contains both.
        let _ = (1..CREATIONS).any(|_| fs::create_dir_all(&self.path).is_ok());
        fs::create_dir_all(&self.path)?;
        match join(Path::new(&self.path)) {
            Ok(()) => Ok(self),
            Err(error) => {
                self.remove();
                Err(error)
            }
        }
    }

    /// Moves this process out of the group again.
    pub(super) fn leave(&self) -> io::Result<()> {
        join(Path::new(&self.outer))
    }

    pub(super) fn kill(&self) {
        // Each process of the group is also killed by itself.
        let _ = fs::write(Path::new(&self.path).join(KILL), "1");
    }

    /// Removes the group, and the directory that contains it if this was the last one.
    pub(super) fn remove(&self) {
        let path = Path::new(&self.path);
        remove(path);
        if let Some(all) = path.parent() {
            let _ = fs::remove_dir(all);
        }
    }
}

/// The processes in the control groups of a dead Worker, which recorded this path. Empty if the path is not that of its
/// groups.
#[must_use]
pub fn members(worker: &WorkerId, recorded: &Path) -> BTreeSet<Pid> {
    if is_of(worker, recorded) { members_below(recorded) } else { BTreeSet::new() }
}

fn members_below(group: &Path) -> BTreeSet<Pid> {
    let list = fs::read_to_string(group.join(PROCESSES)).unwrap_or_default();
    let own = list.lines().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw);
    own.chain(groups_below(group).iter().flat_map(|group| members_below(group))).collect()
}

/// Kills all processes in the control groups of a dead Worker, which recorded this path, and removes the groups. Does
/// nothing if the path is not that of its groups. Blocks the thread, at most for `limit`.
pub fn end(worker: &WorkerId, recorded: &Path, limit: Duration) {
    let give_up = Instant::now() + limit;
    while !members(worker, recorded).is_empty() && Instant::now() < give_up {
        if let Err(error) = fs::write(recorded.join(KILL), "1") {
            tracing::warn!("cannot end the control group {}: {error}", recorded.display());
            return;
        }
        std::thread::sleep(PAUSE);
    }
    if is_of(worker, recorded) {
        remove(recorded);
    }
}

/// Whether a recorded path can be that of a Worker's control groups. Nothing else may be killed if the record is wrong.
fn is_of(worker: &WorkerId, recorded: &Path) -> bool {
    recorded.is_absolute() && recorded.file_name() == Some(name(worker).as_ref())
}

fn name(worker: &WorkerId) -> String {
    format!("firesteel-{worker}")
}

fn join(group: &Path) -> io::Result<()> {
    fs::write(group.join(PROCESSES), "0")
}

fn groups_below(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// Removes a control group and those below it. Groups with processes stay.
fn remove(group: &Path) {
    groups_below(group).iter().for_each(|group| remove(group));
    for _ in 0..REMOVALS {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(PAUSE),
            Ok(()) | Err(_) => return,
        }
    }
}

/// The directory of this process's control group.
fn own_group() -> Result<PathBuf, String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    directory(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?)
        .ok_or_else(|| "there is no control group of version 2".to_owned())
}

/// The directory of the control group that `/proc/self/cgroup` names, by the file systems in `/proc/self/mountinfo`.
fn directory(groups: &str, mounts: &str) -> Option<PathBuf> {
    let group = Path::new(groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let fields: Vec<&str> = mount.split(' ').collect();
        let below = group.strip_prefix(fields.get(3)?).ok()?;
        (file_system.split(' ').next() == Some("cgroup2")).then(|| Path::new(fields[4]).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found_where_its_file_system_is_mounted() {
        let unified = "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let hybrid = "25 1 0:22 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n26 25 0:23 / /sys/fs/cgroup/memory rw - cgroup cgroup rw\n\
                      27 25 0:24 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let part = "25 1 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        for (groups, mounts, expected) in [
            ("0::/system.slice/a.service\n", unified, Some("/sys/fs/cgroup/system.slice/a.service")),
            ("4:memory:/x\n0::/\n", hybrid, Some("/sys/fs/cgroup/unified/")),
            ("0::/docker/abc/x\n", part, Some("/sys/fs/cgroup/x")),
            ("0::/elsewhere\n", part, None),
            ("4:memory:/x\n", hybrid, None),
            ("0::/\n", "25 1 0:22 / /sys/fs/cgroup/memory rw - cgroup cgroup rw\n", None),
            ("", "", None),
        ] {
            assert_eq!(directory(groups, mounts).as_deref(), expected.map(Path::new), "{groups}{mounts}");
        }
    }

    #[test]
    fn a_record_that_names_something_else_ends_nothing() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let [group, other] = ["firesteel-worker-1", "another"].map(|name| scratch.path().join(name));
        for group in [&group, &other] {
            fs::create_dir_all(group.join("app-1.0")).expect("it is made");
            fs::write(group.join(PROCESSES), "").expect("it is written");
            fs::write(group.join("app-1.0").join(PROCESSES), "17\n18\n").expect("it is written");
        }
        let worker = WorkerId::new("worker-1");
        assert_eq!(members(&worker, &group), [17, 18].map(Pid::from_raw).into());
        assert_eq!(members(&worker, &other), BTreeSet::new());
        assert_eq!(members(&worker, Path::new("")), BTreeSet::new());
        end(&worker, &group, Duration::ZERO);
        end(&worker, &other, Duration::from_secs(1));
        assert!(!other.join(KILL).exists());
    }
}
