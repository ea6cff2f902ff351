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
//! container with its own groups. If executors have [limits](Limits), it switches the controllers for them on, and
//! moves itself into a group beside theirs: a group that limits those below it may have no processes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

use firesteel_placement::{Cores, MiB};
use firesteel_protocol::ids::WorkerId;
use firesteel_worker::{Limits, bytes};
use nix::unistd::{AccessFlags, Pid, access};
use serde::{Deserialize, Serialize};

/// The file through which a process joins a group: `0` is the process that writes.
const PROCESSES: &str = "cgroup.procs";
/// The file through which a group is killed, since Linux 5.14.
const KILL: &str = "cgroup.kill";

/// The controllers that a group has, and those that it gives to the groups below it.
const CONTROLLERS: &str = "cgroup.controllers";
const GIVEN: &str = "cgroup.subtree_control";

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
    /// What is given to the executors' groups: `+memory +pids`. Empty: they have no limits.
    given: String,
    /// The group of the Worker beside those of the executors, if it had to leave its own one.
    beside: Option<PathBuf>,
}

impl ControlGroups {
    /// The control groups of a Worker. There is none before the first executor is started, and after the last one. If
    /// they cannot have the limits, the log says so, and they have none.
    ///
    /// # Errors
    /// The Worker cannot have control groups. The error is a text for people.
    pub fn of_worker(worker: &WorkerId, limits: Limits) -> Result<Self, String> {
        let own = own_group()?;
        let failed = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let all = own.join(name(worker));
        match fs::create_dir(&all) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(&all, &error)),
            Ok(()) | Err(_) => {}
        }
        let mut groups = Self { own, all, given: String::new(), beside: None };
        let files = [groups.own.join(PROCESSES), groups.all.join(PROCESSES), groups.all.join(KILL)];
        let mut tried =
            files.iter().map(|file| access(file, AccessFlags::W_OK).map_err(|error| failed(file, &error)));
        let tried = tried.find(Result::is_err);
        remove(&groups.all);
        tried.unwrap_or(Ok(()))?;
        let wanted = wanted(limits);
        match groups.give(&wanted) {
            _ if wanted.is_empty() => {}
            Ok(()) => tracing::info!("the kernel holds executors to their limits of {}", wanted.join(", ")),
            Err(why) => tracing::info!("executors are held to their limits by measurements alone: {why}"),
        }
        Ok(groups)
    }

    /// Gives these controllers to the executors' groups.
    fn give(&mut self, wanted: &[&str]) -> Result<(), String> {
        let has = fs::read_to_string(self.own.join(CONTROLLERS)).unwrap_or_default();
        if let Some(missing) = wanted.iter().find(|wanted| !has.split_whitespace().any(|has| has == **wanted))
        {
            return Err(format!("{} has no controller {missing}", self.own.display()));
        }
        let given = wanted.iter().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
        if fs::write(self.own.join(GIVEN), &given).is_err() {
            let beside = beside(&self.all);
            let moved = fs::create_dir_all(&beside).and_then(|()| join(&beside));
            self.beside = Some(beside);
            if let Err(error) = moved.and_then(|()| fs::write(self.own.join(GIVEN), &given)) {
                self.come_back();
                return Err(format!("{}: {error}", self.own.join(GIVEN).display()));
            }
        }
        // Without it, executors share the processors equally.
        let _ = fs::write(self.own.join(GIVEN), "+cpu");
        self.given = given;
        Ok(())
    }

    /// Returns to the Worker's own group.
    fn come_back(&mut self) {
        if let Some(beside) = self.beside.take() {
            let taken = self.given.replace('+', "-");
            let _ = fs::write(self.own.join(GIVEN), taken);
            let _ = fs::write(self.own.join(GIVEN), "-cpu");
            let _ = join(&self.own);
            remove(&beside);
        }
    }

    /// Whether the kernel holds executors to their cores.
    #[must_use]
    pub fn holds_processors(&self) -> bool {
        self.given.split(['+', ' ']).any(|name| name == PROCESSORS)
    }

    /// The directory by which another Worker finds the groups.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.all
    }

    /// The group of an executor, which need not exist yet, with its limits. `None` if a path is not UTF-8.
    #[must_use]
    pub fn of(&self, executor: &str, limits: &GroupLimits) -> Option<ControlGroup> {
        let path = self.all.join(executor.replace('/', "."));
        let outer = self.beside.as_ref().unwrap_or(&self.own);
        let limits = if self.given.is_empty() { GroupLimits::default() } else { limits.clone() };
        Some(ControlGroup {
            outer: outer.to_str()?.to_owned(),
            path: path.to_str()?.to_owned(),
            given: self.given.clone(),
            limits,
        })
    }

    /// Removes the groups, unless there are processes in them.
    pub fn remove(mut self) {
        remove(&self.all);
        self.come_back();
    }
}

/// The group of a Worker beside that of its executors.
fn beside(all: &Path) -> PathBuf {
    let mut path = all.as_os_str().to_owned();
    path.push(".worker");
    path.into()
}

/// The controllers that hold executors to these limits.
fn wanted(limits: Limits) -> Vec<&'static str> {
    let Limits { memory_overhead, threads, disk: _, is_held_to_cores } = limits;
    let memory = memory_overhead.map(|_| "memory");
    let all = memory.into_iter().chain(threads.map(|_| "pids"));
    all.chain(is_held_to_cores.then_some(PROCESSORS)).collect()
}

/// The limits of one executor's control group: the names of its files, and what is written to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupLimits(Vec<(String, String)>);

impl GroupLimits {
    /// The limits of an executor that was granted these cores and this memory.
    #[must_use]
    pub fn of(limits: Limits, (cores, memory): (Cores, MiB)) -> Self {
        let memory = limits.memory(memory);
        // The whole executor ends, and not only the process that asked for more.
        let text = |number: u64| number.to_string();
        let memory =
            memory.map(|memory| [("memory.max", text(bytes(memory))), ("memory.oom.group", text(1))]);
        let threads = limits.threads.map(|threads| ("pids.max", text(threads.into())));
        let cores = u64::try_from(cores.0).unwrap_or(0);
        let weight = cores.saturating_mul(100).clamp(1, 10_000);
        let time = || format!("{} {PERIOD}", cores.max(1).saturating_mul(PERIOD));
        let all = memory.into_iter().flatten().chain(threads);
        let all = all.chain(limits.is_held_to_cores.then(|| ("cpu.max", time())));
        let all = all.chain(limits.is_any().then(|| (WEIGHT, text(weight))));
        Self(all.map(|(file, value)| (file.to_owned(), value)).collect())
    }

    fn write(&self, group: &Path) -> io::Result<()> {
        for (file, value) in &self.0 {
            let written = fs::write(group.join(file), value);
            // The weight is no limit.
            if file != WEIGHT {
                written?;
            }
        }
        Ok(())
    }
}

/// The controller of the processors.
const PROCESSORS: &str = "cpu";

/// The time in which a group gets its processor time, in microseconds. It is the kernel's own default.
const PERIOD: u64 = 100_000;

/// The file with the part of the processors that a group gets when others want them, too.
const WEIGHT: &str = "cpu.weight";

/// The control group of one executor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ControlGroup {
    /// The directory of the group in which the reaper stays.
    outer: String,
    path: String,
    /// The controllers that the group gets from the one that contains it.
    given: String,
    limits: GroupLimits,
}

impl ControlGroup {
    /// Makes the group and moves this process into it, so that the next child begins there.
    pub(super) fn entered(self) -> io::Result<Self> {
        // The reaper of another executor may just remove the directory that contains both.
        let _ = (1..CREATIONS).any(|_| fs::create_dir_all(&self.path).is_ok());
        fs::create_dir_all(&self.path)?;
        match self.limit().and_then(|()| join(Path::new(&self.path))) {
            Ok(()) => Ok(self),
            Err(error) => {
                self.remove();
                Err(error)
            }
        }
    }

    /// Gives the group its limits.
    fn limit(&self) -> io::Result<()> {
        let path = Path::new(&self.path);
        if let (false, Some(all)) = (self.given.is_empty(), path.parent()) {
            fs::write(all.join(GIVEN), &self.given)?;
            let _ = fs::write(all.join(GIVEN), "+cpu");
        }
        self.limits.write(path)
    }

    /// Whether the kernel killed a process of the group because the group had no memory left. It also counts those that
    /// it killed because the whole machine had none.
    pub(super) fn is_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(Path::new(&self.path).join("memory.events")).unwrap_or_default();
        let happened = |name: &str| {
            let count = events.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
            count.is_some_and(|count: u64| count > 0)
        };
        happened("oom ") && happened("oom_kill ")
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
        remove(&beside(recorded));
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

    const LIMITS: Limits =
        Limits { memory_overhead: Some(0.1), threads: Some(50), disk: Some(MiB(9)), is_held_to_cores: true };

    /// A stand-in for the Worker's own group. Files of a real one exist before they are written.
    fn stand_in(controllers: &str) -> (tempfile::TempDir, ControlGroups) {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let own = scratch.path().to_owned();
        fs::write(own.join(CONTROLLERS), controllers).expect("it is written");
        let all = own.join("firesteel-worker-127.0.0.1-7");
        (scratch, ControlGroups { own, all, given: String::new(), beside: None })
    }

    #[test]
    fn executors_get_the_limits_of_their_controllers() {
        let (_scratch, mut groups) = stand_in("cpuset cpu io memory pids\n");
        assert_eq!(groups.give(&wanted(LIMITS)), Ok(()));
        assert_eq!(groups.given, "+memory +pids +cpu");
        assert!(groups.holds_processors());
        let group = groups.of("app-1/0", &GroupLimits::of(LIMITS, (Cores(2), MiB(1024)))).expect("UTF-8");
        let group = group.entered().expect("a directory");
        let read = |file: &str| fs::read_to_string(Path::new(&group.path).join(file)).unwrap_or_default();
        let files =
            ["memory.max", "memory.oom.group", "pids.max", "cpu.max", "cpu.weight", PROCESSES].map(read);
        assert_eq!(files, ["1476395008", "1", "50", "200000 100000", "200", "0"]);
        for (events, expected) in [
            ("", false),
            ("low 0\noom 3\noom_kill 0\n", false),
            ("low 0\noom 0\noom_kill 2\n", false),
            ("low 0\noom 1\noom_kill 2\n", true),
        ] {
            fs::write(Path::new(&group.path).join("memory.events"), events).expect("it is written");
            assert_eq!(group.is_out_of_memory(), expected, "{events}");
        }
    }

    #[test]
    fn without_a_controller_or_its_own_group_a_worker_gives_no_limits() {
        let (_scratch, mut groups) = stand_in("cpu pids\n");
        let why = groups.give(&wanted(LIMITS)).expect_err("there is no memory");
        assert!(why.ends_with("has no controller memory"), "{why}");
        assert!(!groups.holds_processors());
        let threads = Limits { memory_overhead: None, is_held_to_cores: false, ..LIMITS };
        assert_eq!((wanted(threads), wanted(Limits::default())), (vec!["pids"], vec![]));
        // A group with other processes gives nothing away, also after the Worker has moved out.
        let (scratch, mut groups) = stand_in("cpu memory pids\n");
        fs::create_dir(scratch.path().join(GIVEN)).expect("the name is free");
        groups.give(&wanted(LIMITS)).expect_err("it cannot be written");
        assert_eq!((groups.given.as_str(), &groups.beside), ("", &None));
        let moved = scratch.path().join("firesteel-worker-127.0.0.1-7.worker");
        assert_eq!(fs::read_to_string(moved.join(PROCESSES)).expect("it was there"), "0");
        assert_eq!(fs::read_to_string(scratch.path().join(PROCESSES)).expect("it came back"), "0");
        let group = groups.of("app-1/0", &GroupLimits::of(LIMITS, (Cores(2), MiB(1024)))).expect("UTF-8");
        let group = group.entered().expect("a directory");
        assert!(!Path::new(&group.path).join("memory.max").exists());
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
