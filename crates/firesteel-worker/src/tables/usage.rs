//! The usage of executors, cluster drivers and the machine: rates and peaks, from one measurement to the next.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_protocol::ids::{DriverId, ExecutorKey};
use firesteel_protocol::messages::{ExceededLimit, MachineUsage, Usage, Used};
use firesteel_protocol::time::{Timestamp, millis};

use crate::{Measurement, ProcessMeasurement, Reason};

/// After the start of a process, a measurement is made at this time, unless one is due earlier. Many executors end soon
/// after their start.
const FIRST_LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct UsageTable {
    phase: Phase,
    /// When the last measurement was made. `None`: there was none.
    measured: Option<Timestamp>,
    /// The time that the machine's processors were in use up to the last measurement, in milliseconds.
    busy_millis: u64,
    machine: Option<MachineUsage>,
    executors: BTreeMap<ExecutorKey, Row>,
    drivers: BTreeMap<DriverId, Row>,
}

/// The usage of one executor, or of a cluster driver's last process.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    usage: Usage,
    /// The limit for which it was killed.
    exceeded: Option<ExceededLimit>,
}

/// The phases of the measurements.
///
/// ```text
///         Start             deadline
///  IDLE ---------> PLANNED ----------> MEASURING
///                     ^                    |
///                     +------ Measured ----+
/// ```
#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    Measuring,
    /// The next measurement is planned for this time.
    Planned {
        at: Timestamp,
    },
}

impl UsageTable {
    pub(crate) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match self.phase {
            Phase::Planned { at } => Some((at, Reason::Measurement)),
            Phase::Idle | Phase::Measuring => None,
        }
    }

    /// Plans the next measurement after this pause, if the settings ask for measurements.
    pub(crate) fn plan(&mut self, now: Timestamp, pause: Option<Duration>) {
        self.phase = match pause {
            Some(pause) => Phase::Planned { at: now + pause },
            None => Phase::Idle,
        };
    }

    /// Begins a measurement if one is due. Returns whether it was due.
    pub(crate) fn begin_if_due(&mut self, now: Timestamp) -> bool {
        let is_due = matches!(self.phase, Phase::Planned { at } if at <= now);
        if is_due {
            self.phase = Phase::Measuring;
        }
        is_due
    }

    /// Plans an early measurement, because a process was started.
    pub(crate) fn measure_soon(&mut self, now: Timestamp) {
        if let Phase::Planned { at } = &mut self.phase {
            *at = (now + FIRST_LOOK).min(*at);
        }
    }

    pub(crate) fn is_measured(&self) -> bool {
        self.measured.is_some()
    }

    /// The machine's usage at the last measurement.
    pub(crate) fn machine(&self) -> Option<MachineUsage> {
        self.machine
    }

    pub(crate) fn executors(&self) -> Vec<(ExecutorKey, Usage)> {
        self.executors.iter().map(|(key, row)| (key.clone(), row.usage)).collect()
    }

    pub(crate) fn drivers(&self) -> Vec<(DriverId, Usage)> {
        self.drivers.iter().map(|(id, row)| (id.clone(), row.usage)).collect()
    }

    /// Stores the limit for which an executor is to be killed. Returns `false` if it was to be killed before.
    pub(crate) fn executor_exceeds(&mut self, executor: ExecutorKey, exceeded: ExceededLimit) -> bool {
        self.executors.entry(executor).or_default().exceed(exceeded)
    }

    /// The same for a cluster driver.
    pub(crate) fn driver_exceeds(&mut self, driver: DriverId, exceeded: ExceededLimit) -> bool {
        self.drivers.entry(driver).or_default().exceed(exceeded)
    }

    /// Stores the processor time of an executor that has ended, and the limit for which the kernel killed it.
    pub(crate) fn note_executor_end(
        &mut self,
        executor: ExecutorKey,
        cpu_millis: u64,
        exceeded: Option<ExceededLimit>,
    ) {
        self.executors.entry(executor).or_default().end(cpu_millis, exceeded);
    }

    /// The same for a cluster driver's process.
    pub(crate) fn note_driver_end(
        &mut self,
        driver: DriverId,
        cpu_millis: u64,
        exceeded: Option<ExceededLimit>,
    ) {
        self.drivers.entry(driver).or_default().end(cpu_millis, exceeded);
    }

    /// Drops the usage of a cluster driver's earlier process, because a new one starts.
    pub(crate) fn forget_driver(&mut self, driver: &DriverId) {
        self.drivers.remove(driver);
    }

    /// Removes and returns the usage of an executor that has ended.
    pub(crate) fn take_used_by_executor(&mut self, executor: &ExecutorKey) -> Option<Used> {
        self.executors.remove(executor).map(Row::used)
    }

    /// Removes and returns the usage of a cluster driver's last process, which has ended.
    pub(crate) fn take_used_by_driver(&mut self, driver: &DriverId) -> Option<Used> {
        self.drivers.remove(driver).map(Row::used)
    }

    /// Stores a measurement. Processes that are missing from it have ended, or have not started.
    pub(crate) fn take_in(&mut self, now: Timestamp, measurement: Measurement) {
        let Measurement { machine, executors, drivers } = measurement;
        let elapsed = self.measured.map(|before| millis(now.since(before)));
        let rate = |from: u64, to: u64| {
            elapsed
                .filter(|elapsed| *elapsed > 0)
                .map_or(0, |elapsed| to.saturating_sub(from) * 1000 / elapsed)
        };
        self.machine = machine.map(|machine| MachineUsage {
            cores: machine.cores,
            millicores: rate(self.busy_millis, machine.busy_millis),
            memory: machine.memory,
            memory_available: machine.memory_available,
        });
        self.busy_millis = machine.map_or(0, |machine| machine.busy_millis);
        self.executors = rows(&self.executors, executors, rate);
        self.drivers = rows(&self.drivers, drivers, rate);
        self.measured = Some(now);
    }
}

impl Row {
    fn exceed(&mut self, exceeded: ExceededLimit) -> bool {
        let is_new = self.exceeded.is_none();
        self.exceeded.get_or_insert(exceeded);
        is_new
    }

    fn end(&mut self, cpu_millis: u64, exceeded: Option<ExceededLimit>) {
        self.usage.cpu_millis = self.usage.cpu_millis.max(cpu_millis);
        self.exceeded = self.exceeded.or(exceeded);
    }

    fn used(self) -> Used {
        Used { exceeded: self.exceeded, ..self.usage.into() }
    }
}

/// The rows of the measured processes, compared with the previous measurement.
fn rows<K: Ord>(
    before: &BTreeMap<K, Row>,
    measured: Vec<(K, ProcessMeasurement)>,
    rate: impl Fn(u64, u64) -> u64,
) -> BTreeMap<K, Row> {
    let row = |(key, measured): (K, ProcessMeasurement)| {
        let ProcessMeasurement { cpu_millis, memory, threads: _, disk: _ } = measured;
        let Row { usage: last, exceeded } = before.get(&key).copied().unwrap_or_default();
        // If a descendant process ended and nobody waited for it, later measurements lack its time.
        let cpu_millis = cpu_millis.max(last.cpu_millis);
        let millicores = rate(last.cpu_millis, cpu_millis);
        let peak_memory = memory.max(last.peak_memory);
        (key, Row { usage: Usage { cpu_millis, millicores, memory, peak_memory }, exceeded })
    };
    measured.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use firesteel_protocol::ids::{AppId, ExecutorId};

    use super::*;
    use crate::MachineMeasurement;

    fn key(number: u32) -> ExecutorKey {
        ExecutorKey { app: AppId::new("a"), executor: ExecutorId(number) }
    }

    fn measurement(busy_millis: u64, executors: &[(u32, u64, u64)]) -> Measurement {
        let process = |&(number, cpu_millis, memory): &(u32, u64, u64)| {
            (key(number), ProcessMeasurement { cpu_millis, memory, ..ProcessMeasurement::default() })
        };
        Measurement {
            machine: Some(MachineMeasurement { cores: 4, busy_millis, memory: 100, memory_available: 60 }),
            executors: executors.iter().map(process).collect(),
            drivers: Vec::new(),
        }
    }

    #[test]
    fn rates_and_peaks_come_from_one_measurement_to_the_next() {
        let mut table = UsageTable::default();
        let mut now = Timestamp::from_millis(1_000);
        for (pause, measured, machine, executors) in [
            (0, measurement(5_000, &[(0, 700, 30)]), 0, vec![(0, 700, 0, 30, 30)]),
            // Executor 0 uses 3 s of processor time in 2 s. The first second of a new executor also counts.
            (
                2_000,
                measurement(8_000, &[(0, 2_700, 20), (1, 500, 5)]),
                1500,
                vec![(0, 2_700, 1000, 20, 30), (1, 500, 250, 5, 5)],
            ),
            // Executor 0's processor time seems to decrease, and the other executor has ended.
            (1_000, measurement(8_000, &[(0, 2_600, 40)]), 0, vec![(0, 2_700, 0, 40, 40)]),
            // No time has passed since the last measurement.
            (0, measurement(9_000, &[(0, 2_800, 40)]), 0, vec![(0, 2_800, 0, 40, 40)]),
        ] {
            now = now + Duration::from_millis(pause);
            table.take_in(now, measured);
            assert_eq!(table.machine.map(|machine| machine.millicores), Some(machine));
            let usage = |(key, row): (&ExecutorKey, &Row)| {
                let Usage { cpu_millis, millicores, memory, peak_memory } = row.usage;
                (key.executor.0, cpu_millis, millicores, memory, peak_memory)
            };
            assert_eq!(table.executors.iter().map(usage).collect::<Vec<_>>(), executors);
        }
    }
}
