//! Measures the usage of processes with their descendants, and of the machine, from `/proc`.
//!
//! A process belongs to an executor if it descends from the executor's [reaper](super::reaper), which is the parent of
//! the executor's first process. One pass over `/proc` serves all executors, and reads one short file per process.

use std::collections::BTreeMap;
use std::fs;

use firesteel_host::table::{Stat, processes};
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey};
use firesteel_worker::{MachineMeasurement, Measurement, ProcessMeasurement};
use nix::unistd::{SysconfVar, sysconf};

use super::cleanup::executor_directories::bytes_below;
use super::cleanup::scratch_directories::ScratchDirectories;
use super::work_directory::WorkDirectory;

/// The maximum number of ancestors of a process that are examined.
const MOST_ANCESTORS: usize = 64;

fn millis(ticks: u64) -> u64 {
    ticks.saturating_mul(1000) / system(SysconfVar::CLK_TCK, 100).max(1)
}

/// What the processes of an executor have together. The ticks include those of ended processes, for which their parents
/// or the reaper have waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    ticks: u64,
    threads: u64,
    pages: u64,
}

/// The sum of each executor with one of these first processes.
fn sums(all: &BTreeMap<u32, Stat>, first: &[u32]) -> BTreeMap<u32, Sum> {
    let own = std::process::id();
    let reaper = |pid: &u32| Some((all.get(pid)?.parent, *pid));
    // If the reaper was killed, the Worker is the parent.
    let reapers: BTreeMap<u32, u32> =
        first.iter().filter_map(reaper).filter(|(pid, _)| *pid != own).collect();
    let mut sums: BTreeMap<u32, Sum> = reapers.values().map(|pid| (*pid, Sum::default())).collect();
    if sums.is_empty() {
        return sums;
    }
    for (pid, stat) in all {
        let ancestors = std::iter::successors(Some(*pid), |pid| all.get(pid).map(|stat| stat.parent));
        let reaper = ancestors.take(MOST_ANCESTORS).find(|pid| reapers.contains_key(pid));
        let first = reaper.and_then(|reaper| reapers.get(&reaper));
        if let Some(sum) = first.and_then(|first| sums.get_mut(first)) {
            sum.ticks += stat.ticks;
            // The memory and the thread of the reaper are not the executor's.
            if reaper != Some(*pid) {
                sum.threads += stat.threads;
                sum.pages += stat.pages;
            }
        }
    }
    sums
}

/// Where the files of executors and cluster drivers are.
pub(super) struct FilesOnDisk {
    pub(super) work: WorkDirectory,
    pub(super) scratch: ScratchDirectories,
}

impl FilesOnDisk {
    /// The total length of the files of each executor: those in its directory, and an equal part of those in the
    /// scratch directories of its application, which do not show whose they are.
    fn of_executors<'a>(
        &self,
        executors: impl Iterator<Item = &'a ExecutorKey>,
    ) -> BTreeMap<ExecutorKey, u64> {
        let mut by_app: BTreeMap<&AppId, Vec<&ExecutorKey>> = BTreeMap::new();
        executors.for_each(|key| by_app.entry(&key.app).or_default().push(key));
        let of_app = |(app, executors): (&AppId, Vec<&ExecutorKey>)| {
            let scratch = self.scratch.of_app(app).iter().map(|path| bytes_below(path)).sum::<u64>();
            let part = scratch / executors.len() as u64;
            let own = |key: &ExecutorKey| bytes_below(&self.work.of_executor(key));
            executors.into_iter().map(|key| (key.clone(), own(key).saturating_add(part))).collect::<Vec<_>>()
        };
        by_app.into_iter().flat_map(of_app).collect()
    }

    fn of_driver(&self, driver: &DriverId) -> u64 {
        bytes_below(&self.work.of_driver(driver))
    }
}

/// The value of this line of `/proc/meminfo`, in bytes.
fn memory(lines: &str, name: &str) -> Option<u64> {
    let line = lines.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The busy ticks of all processors together, from `/proc/stat`, and the number of processors.
fn processors(lines: &str) -> Option<(u64, u64)> {
    let cores =
        lines.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count() as u64;
    let all = lines.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = all.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    // User, nice, system, idle, waiting for a disk, interrupts (twice), taken by other machines. Guests are in the
    // first two.
    let [user, nice, system, _, _, hard, soft, taken, ..] = ticks[..] else { return None };
    Some((user + nice + system + hard + soft + taken, cores))
}

fn machine(tick_millis: impl Fn(u64) -> u64) -> Option<MachineMeasurement> {
    let lines = fs::read_to_string("/proc/meminfo").ok()?;
    let (busy, cores) = processors(&fs::read_to_string("/proc/stat").ok()?)?;
    let (memory, memory_available) = (memory(&lines, "MemTotal")?, memory(&lines, "MemAvailable")?);
    Some(MachineMeasurement { cores, busy_millis: tick_millis(busy), memory, memory_available })
}

/// A setting of the system. If it cannot be read, the usual value.
fn system(variable: SysconfVar, usual: u64) -> u64 {
    sysconf(variable).ok().flatten().and_then(|value| u64::try_from(value).ok()).unwrap_or(usual)
}

/// Measures the machine, and these executors and cluster drivers, each with the id of its process. A measurement takes
/// some milliseconds, and longer if `files` are measured, too.
pub(super) fn measure(
    executors: Vec<(ExecutorKey, u32)>,
    drivers: Vec<(DriverId, u32)>,
    files: Option<&FilesOnDisk>,
) -> Measurement {
    let page = system(SysconfVar::PAGE_SIZE, 4096);
    let wanted: Vec<u32> =
        executors.iter().map(|(_, pid)| *pid).chain(drivers.iter().map(|(_, pid)| *pid)).collect();
    let sums = if wanted.is_empty() { BTreeMap::new() } else { sums(&processes(), &wanted) };
    let of = |pid: u32, disk: Option<u64>| {
        let Sum { ticks, threads, pages } = *sums.get(&pid)?;
        let (cpu_millis, memory) = (millis(ticks), pages.saturating_mul(page));
        Some(ProcessMeasurement { cpu_millis, memory, threads, disk })
    };
    let of_executors = files.map(|files| files.of_executors(executors.iter().map(|(key, _)| key)));
    let of_executor = |key: &ExecutorKey| of_executors.as_ref()?.get(key).copied();
    let of_driver = |id: &DriverId| files.map(|files| files.of_driver(id));
    Measurement {
        machine: machine(millis),
        executors: executors
            .into_iter()
            .filter_map(|(executor, pid)| Some((executor.clone(), of(pid, of_executor(&executor))?)))
            .collect(),
        drivers: drivers
            .into_iter()
            .filter_map(|(driver, pid)| Some((driver.clone(), of(pid, of_driver(&driver))?)))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_belongs_to_the_executor_from_whose_reaper_it_descends() {
        let stat = |parent| Stat { parent, ticks: 1, threads: 2, pages: 10 };
        let all = BTreeMap::from([
            (1, stat(0)),
            (5, stat(1)),
            // A reaper, its executor, a task, and the task's child.
            (10, stat(5)),
            (11, stat(10)),
            (12, stat(11)),
            (13, stat(12)),
            // The reaper has adopted it.
            (14, stat(10)),
            (20, stat(5)),
            (21, stat(20)),
            // A cycle, which can appear while processes come and go.
            (30, stat(31)),
            (31, stat(30)),
            // Its reaper was killed, and this process has adopted it.
            (40, stat(std::process::id())),
        ]);
        let expected = BTreeMap::from([
            (11, Sum { ticks: 5, threads: 8, pages: 40 }),
            (21, Sum { ticks: 2, threads: 2, pages: 10 }),
        ]);
        assert_eq!(sums(&all, &[11, 21, 40, 99]), expected);
        assert_eq!(sums(&all, &[]), BTreeMap::new());
    }

    #[test]
    fn the_machine_is_read() {
        assert_eq!(memory("MemTotal:       2048 kB\nMemAvailable: 1 kB\n", "MemAvailable"), Some(1024));
        assert_eq!(memory("MemTotal: x kB\n", "MemTotal"), None);
        let lines = "cpu  1 2 3 100 200 4 5 6 7 8\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5\n";
        assert_eq!(processors(lines), Some((21, 2)));
        assert_eq!(processors("cpu 1 2 3\n"), None);
    }

    #[test]
    fn this_process_uses_something() {
        let key = ExecutorKey { app: firesteel_protocol::ids::AppId::new("a"), executor: Default::default() };
        let measured = measure(vec![(key.clone(), std::process::id())], Vec::new(), None);
        let [(measured_key, process)] = &measured.executors[..] else { panic!("{measured:?}") };
        assert!(*measured_key == key && process.memory > 1 << 20, "{process:?}");
        let machine = measured.machine.expect("there is a /proc");
        assert!(machine.cores > 0 && machine.memory > machine.memory_available, "{machine:?}");
    }
}
