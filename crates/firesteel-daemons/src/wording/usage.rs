//! The usage of machines and processes, as text.

use firesteel_protocol::messages::{MachineUsage, Usage, WorkerReport};

/// The text for an amount that was not measured.
const NOT_MEASURED: &str = "-";

/// The usage of a Worker's machine: processors (`1.5/8`), memory (`3.1 GiB/7.6 GiB`), and the disk of the work
/// directory (`41 %`).
#[must_use]
pub fn of_machine(report: Option<&WorkerReport>) -> [String; 3] {
    let (machine, disk) = report.map_or((None, None), |report| (report.machine, report.disk));
    let dash = || NOT_MEASURED.to_owned();
    let used = |machine: MachineUsage| amount(machine.memory.saturating_sub(machine.memory_available));
    [
        machine.map_or_else(dash, |machine| format!("{}/{}", cores(machine.millicores), machine.cores)),
        machine.map_or_else(dash, |machine| format!("{}/{}", used(machine), amount(machine.memory))),
        disk.map_or_else(dash, |disk| format!("{} %", disk.used_percent())),
    ]
}

/// The usage of processes: cores (`0.7`) and memory (`512 MiB`).
#[must_use]
pub fn of_processes(usage: Option<Usage>) -> [String; 2] {
    let dash = || NOT_MEASURED.to_owned();
    [
        usage.map_or_else(dash, |usage| cores(usage.millicores)),
        usage.map_or_else(dash, |usage| amount(usage.memory)),
    ]
}

/// An amount of memory in bytes: `512 MiB`, `7.6 GiB`.
fn amount(bytes: u64) -> String {
    match bytes >> 20 {
        mib @ 0..1024 => format!("{mib} MiB"),
        mib => format!("{}.{} GiB", mib / 1024, mib % 1024 * 10 / 1024),
    }
}

/// Thousandths of a core as cores: `1.5`.
fn cores(millicores: u64) -> String {
    format!("{}.{}", millicores / 1000, millicores % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_one_digit_after_the_point() {
        for (bytes, words) in
            [(0, "0 MiB"), (1023 << 20, "1023 MiB"), (1 << 30, "1.0 GiB"), (8_123_456_789, "7.5 GiB")]
        {
            assert_eq!(amount(bytes), words);
        }
        assert_eq!([0, 99, 1_550, 16_000].map(cores), ["0.0", "0.0", "1.5", "16.0"]);
    }
}
