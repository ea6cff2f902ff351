//! The default cores and memory of a Worker, computed from those of the machine.

use std::fs;
use std::path::Path;

use firesteel_placement::{Cores, MiB};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

/// The memory in MiB that is reserved for the system and the daemon.
const LEFT_TO_THE_SYSTEM: i64 = 1024;
/// The minimum memory in MiB that a Worker offers by default.
const LEAST: i64 = 1024;

/// The cores that this process may use: the machine's cores, reduced by the process's affinity and by the quota of its
/// control group.
#[must_use]
pub fn cores() -> Cores {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Cores(i64::try_from(cores).unwrap_or(i64::MAX))
}

/// The memory of this process in bytes: the least of the machine's and of the limits of its control group and of
/// `ulimit -v` and `ulimit -d`. `None` if none is known.
pub(crate) fn of_this_process() -> Option<u64> {
    let (total_kib, limit) = found();
    let limits = [Resource::RLIMIT_AS, Resource::RLIMIT_DATA].into_iter().filter_map(|of| getrlimit(of).ok());
    let limits = limits.map(|(soft, _)| soft).filter(|soft| *soft != RLIM_INFINITY);
    total_kib.map(|kib| kib << 10).into_iter().chain(limit).chain(limits).min()
}

/// The machine's memory, or the limit of this process's control group if that is less, minus 1 GiB for the
/// system; at least 1 GiB. Source: Spark Worker, 4.0.1, which does not look at control groups.
#[must_use]
pub fn memory() -> MiB {
    let (total_kib, limit) = found();
    offer(total_kib.unwrap_or(0), limit)
}

/// The machine's memory in KiB, and the limit of this process's control group in bytes, where they are known.
fn found() -> (Option<u64>, Option<u64>) {
    let total = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_kib(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    (total, group_limit(&groups, Path::new("/sys/fs/cgroup")))
}

fn offer(total_kib: u64, limit_bytes: Option<u64>) -> MiB {
    let total = total_kib >> 10;
    let total = limit_bytes.map_or(total, |limit| total.min(limit >> 20));
    let total = i64::try_from(total).unwrap_or(i64::MAX);
    MiB((total - LEFT_TO_THE_SYSTEM).max(LEAST))
}

/// Reads the total from `/proc/meminfo`: `MemTotal:        8152588 kB`
fn total_kib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// The lowest memory limit in bytes of the groups in `/proc/self/cgroup` and of their parents. If a group's
/// path does not exist, the root is read instead, because a container sees its own group there.
fn group_limit(groups: &str, root: &Path) -> Option<u64> {
    groups.lines().filter_map(|line| line_limit(line, root)).min()
}

fn line_limit(line: &str, root: &Path) -> Option<u64> {
    let mut fields = line.splitn(3, ':');
    let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let (mount, file) = match controllers {
        "" => (root.to_owned(), "memory.max"),
        controllers if controllers.split(',').any(|name| name == "memory") => {
            (root.join("memory"), "memory.limit_in_bytes")
        }
        _ => return None,
    };
    // The file says `max`, or a number beyond any machine's memory, if there is no limit.
    let limit = |group: &Path| fs::read_to_string(mount.join(group).join(file)).ok()?.trim().parse().ok();
    Path::new(path.trim_start_matches('/')).ancestors().filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gibibyte_is_left_to_the_system_and_one_is_offered_at_least() {
        let gib = 1 << 20;
        assert_eq!(offer(16 * gib, None), MiB(15 * 1024));
        assert_eq!(offer(gib, None), MiB(1024));
        assert_eq!(offer(0, None), MiB(1024));
        assert_eq!(offer(16 * gib, Some(4 << 30)), MiB(3 * 1024));
        assert_eq!(offer(16 * gib, Some(u64::MAX)), MiB(15 * 1024));
    }

    #[test]
    fn the_machines_memory_is_read_from_its_line() {
        assert_eq!(total_kib("MemTotal:        8152588 kB\nMemFree: 1 kB\n"), Some(8_152_588));
        assert_eq!(total_kib("MemFree: 1 kB\n"), None);
        assert!(memory() >= MiB(1024) && cores() >= Cores(1));
    }

    #[test]
    fn the_tightest_group_of_either_version_counts() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
            fs::write(path, text).expect("a file");
        };
        write("memory.max", "max\n");
        write("a/memory.max", "3000\n");
        write("a/b/memory.max", "5000\n");
        write("memory/memory.limit_in_bytes", "4000\n");
        let limit = |groups| group_limit(groups, root.path());
        assert_eq!(limit("0::/a/b\n"), Some(3000));
        assert_eq!(limit("0::/\n"), None);
        assert_eq!(limit("12:cpu,cpuacct:/x\n7:memory:/not/here\n"), Some(4000));
        assert_eq!(limit("12:cpu,cpuacct:/x\n"), None);
        assert_eq!(limit("nonsense\n"), None);
    }
}
