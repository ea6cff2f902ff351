//! The usage of machines that Workers report, as JSON.

use firesteel_protocol::ids::{AppId, DriverId, ExecutorId, WorkerId};
use firesteel_protocol::messages::{DiskSpace, MachineUsage, TimedReport, Usage};
use serde::Serialize;

/// The usage of a Worker's machine, in total and by executor.
#[derive(Serialize)]
pub(super) struct WorkerUsage<'a> {
    worker: &'a WorkerId,
    web_address: Option<&'a str>,
    reported_ms: u64,
    machine: Option<Machine>,
    disk: Option<Space>,
    executors: Vec<ExecutorUsage<'a>>,
    drivers: Vec<DriverUsage<'a>>,
}

/// The usage of a machine by all programs together.
#[derive(Serialize)]
struct Machine {
    cores: u64,
    cpu_millicores: u64,
    memory: Space,
}

/// Bytes of memory or of a disk.
#[derive(Serialize)]
struct Space {
    total_bytes: u64,
    available_bytes: u64,
}

impl From<MachineUsage> for Machine {
    fn from(usage: MachineUsage) -> Self {
        let MachineUsage { cores, millicores, memory, memory_available } = usage;
        let memory = Space { total_bytes: memory, available_bytes: memory_available };
        Self { cores, cpu_millicores: millicores, memory }
    }
}

impl From<DiskSpace> for Space {
    fn from(space: DiskSpace) -> Self {
        let DiskSpace { total, available } = space;
        Self { total_bytes: total, available_bytes: available }
    }
}

#[derive(Serialize)]
struct ExecutorUsage<'a> {
    app: &'a AppId,
    executor: ExecutorId,
    #[serde(flatten)]
    usage: Used,
}

#[derive(Serialize)]
struct DriverUsage<'a> {
    driver: &'a DriverId,
    #[serde(flatten)]
    usage: Used,
}

#[derive(Serialize)]
struct Used {
    cpu_ms: u64,
    /// The recent use of processors, in thousandths of a core.
    cpu_millicores: u64,
    memory_bytes: u64,
    peak_memory_bytes: u64,
}

impl From<Usage> for Used {
    fn from(usage: Usage) -> Self {
        let Usage { cpu_millis, millicores, memory, peak_memory } = usage;
        Self {
            cpu_ms: cpu_millis,
            cpu_millicores: millicores,
            memory_bytes: memory,
            peak_memory_bytes: peak_memory,
        }
    }
}

impl<'a> WorkerUsage<'a> {
    pub(super) fn of(timed: &'a TimedReport) -> Self {
        let TimedReport { received, report } = timed;
        let executors = report.executors.iter().map(|(key, usage)| ExecutorUsage {
            app: &key.app,
            executor: key.executor,
            usage: (*usage).into(),
        });
        let drivers =
            report.drivers.iter().map(|(driver, usage)| DriverUsage { driver, usage: (*usage).into() });
        Self {
            worker: &report.worker,
            web_address: report.web_address.as_deref(),
            reported_ms: received.millis(),
            machine: report.machine.map(Machine::from),
            disk: report.disk.map(Space::from),
            executors: executors.collect(),
            drivers: drivers.collect(),
        }
    }
}
