//! Measures the usage of processes with their descendants, and of the machine, from `/proc`.
//!
//! A process belongs to an executor in two cases: it is in the process group that the executor's process leads, or it
//! is a descendant of the executor's process. One pass over `/proc` serves all executors, and reads one short file per
//! process.

use std::collections::BTreeMap;
use std::fs;

use firesteel_protocol::ids::{DriverId, ExecutorKey};
use firesteel_worker::{MachineMeasurement, Measurement, ProcessMeasurement};
use nix::unistd::{SysconfVar, sysconf};

/// The maximum number of ancestors of a process that are examined.
const MOST_ANCESTORS: usize = 64;

/// The contents of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    group: u32,
    /// The processor time of the process and of its ended children, in ticks.
    ticks: u64,
    /// The memory of the process in RAM, in pages.
    pages: u64,
}

impl Stat {
    /// Reads a line of `/proc/PID/stat`. The program's name is in parentheses, and can contain any characters.
    fn of(line: &str) -> Option<Self> {
        let (_, rest) = line.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at - 3)?.parse::<u64>().ok();
        // An ended child counts with its parent from then on.
        let ticks = [14, 15, 16, 17].into_iter().map(number).sum::<Option<u64>>()?;
        let small = |at| u32::try_from(number(at)?).ok();
        Some(Self { parent: small(4)?, group: small(5)?, ticks, pages: number(24)? })
    }
}

/// The processor time in milliseconds of a process that was not waited for. Includes the children that the process
/// itself has waited for.
pub(super) fn cpu_millis_of(pid: u32) -> Option<u64> {
    let stat = Stat::of(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
    Some(millis(stat.ticks))
}

fn millis(ticks: u64) -> u64 {
    ticks.saturating_mul(1000) / system(SysconfVar::CLK_TCK, 100).max(1)
}

/// All processes of the machine, by id. Processes that end during the reading are left out.
fn processes() -> BTreeMap<u32, Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let process = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, Stat::of(&fs::read_to_string(entry.path().join("stat")).ok()?)?))
    };
    entries.filter_map(process).collect()
}

/// For each wanted process, the total ticks and the total pages of all processes that belong to this one.
fn sums(all: &BTreeMap<u32, Stat>, wanted: &[u32]) -> BTreeMap<u32, (u64, u64)> {
    let mut sums: BTreeMap<u32, (u64, u64)> =
        wanted.iter().filter(|pid| all.contains_key(pid)).map(|pid| (*pid, (0, 0))).collect();
    if sums.is_empty() {
        return sums;
    }
    for (pid, stat) in all {
        let ancestors = std::iter::successors(Some(*pid), |pid| all.get(pid).map(|stat| stat.parent));
        let leader = std::iter::once(stat.group).chain(ancestors.take(MOST_ANCESTORS));
        if let Some(sum) =
            leader.into_iter().find(|pid| sums.contains_key(pid)).and_then(|pid| sums.get_mut(&pid))
        {
            sum.0 += stat.ticks;
            sum.1 += stat.pages;
        }
    }
    sums
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
/// some milliseconds.
pub(super) fn measure(executors: Vec<(ExecutorKey, u32)>, drivers: Vec<(DriverId, u32)>) -> Measurement {
    let page = system(SysconfVar::PAGE_SIZE, 4096);
    let wanted: Vec<u32> =
        executors.iter().map(|(_, pid)| *pid).chain(drivers.iter().map(|(_, pid)| *pid)).collect();
    let sums = if wanted.is_empty() { BTreeMap::new() } else { sums(&processes(), &wanted) };
    let of = |pid: u32| {
        let (ticks, pages) = *sums.get(&pid)?;
        Some(ProcessMeasurement { cpu_millis: millis(ticks), memory: pages.saturating_mul(page) })
    };
    Measurement {
        machine: machine(millis),
        executors: executors.into_iter().filter_map(|(executor, pid)| Some((executor, of(pid)?))).collect(),
        drivers: drivers.into_iter().filter_map(|(driver, pid)| Some((driver, of(pid)?))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "70 (a) b (c)) S 7 71 72 0 -1 4194560 100 0 0 0 11 22 33 44 20 0 3 0 900 5000000 321 18446744073709551615";

    #[test]
    fn a_line_of_a_process_is_read_whatever_its_program_is_called() {
        assert_eq!(Stat::of(LINE), Some(Stat { parent: 7, group: 71, ticks: 110, pages: 321 }));
        for line in ["", "70 (a) S", "70 (a", &LINE[..60]] {
            assert_eq!(Stat::of(line), None, "{line}");
        }
    }

    #[test]
    fn a_process_belongs_to_the_executor_whose_group_it_is_in_or_that_it_descends_from() {
        let stat = |parent, group| Stat { parent, group, ticks: 1, pages: 10 };
        let all = BTreeMap::from([
            (1, stat(0, 1)),
            (5, stat(1, 5)),
            // An executor, its child in its group, a task in its own group, and the task's child.
            (10, stat(5, 10)),
            (11, stat(10, 10)),
            (12, stat(10, 12)),
            (13, stat(12, 12)),
            // Its parent has ended, but it is still in the group.
            (14, stat(1, 10)),
            (20, stat(5, 20)),
            // A cycle, which can appear while processes come and go.
            (30, stat(31, 30)),
            (31, stat(30, 31)),
        ]);
        let expected = BTreeMap::from([(10, (5, 50)), (20, (1, 10))]);
        assert_eq!(sums(&all, &[10, 20, 99]), expected);
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
        let measured = measure(vec![(key.clone(), std::process::id())], Vec::new());
        let [(measured_key, process)] = &measured.executors[..] else { panic!("{measured:?}") };
        assert!(*measured_key == key && process.memory > 1 << 20, "{process:?}");
        let machine = measured.machine.expect("there is a /proc");
        assert!(machine.cores > 0 && machine.memory > machine.memory_available, "{machine:?}");
    }
}
