//! What the executors and cluster drivers of this Worker use, and its machine.
//!
//! The shell measures from time to time. Rates and peaks are worked out here, from one measurement to the next, and a Master is
//! told of each.

use std::collections::BTreeMap;
use std::time::Duration;

use super::machine::{Reason, Worker, send};
use super::{Effect, Measurement, ProcessMeasurement};
use crate::ids::{DriverId, ExecutorKey, PeerId};
use crate::messages::{DiskSpace, MachineUsage, Usage, Used, WorkerReport, WorkerToMaster};
use crate::time::{Timestamp, millis};

/// How soon after a start is measured, if the next measurement is due later: many executors end before that.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// What was measured last.
#[derive(Debug, Default)]
pub(super) struct UsageTable {
    phase: Phase,
    /// When it was measured. `None`: it never was.
    measured: Option<Timestamp>,
    /// The processor time of the machine that was used until then, in milliseconds.
    busy_millis: u64,
    machine: Option<MachineUsage>,
    executors: BTreeMap<ExecutorKey, Usage>,
    drivers: BTreeMap<DriverId, Usage>,
}

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
    /// The shell measures.
    Measuring,
    /// The next measurement is planned for this time.
    Planned { at: Timestamp },
}

impl UsageTable {
    pub(super) fn next_deadline(&self) -> Option<(Timestamp, Reason)> {
        match self.phase {
            Phase::Planned { at } => Some((at, Reason::Measurement)),
            Phase::Idle | Phase::Measuring => None,
        }
    }

    /// Takes in a measurement. Who is not in it has ended, or has not started.
    fn take_in(&mut self, now: Timestamp, measurement: Measurement) {
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
        self.executors = usages(&self.executors, executors, rate);
        self.drivers = usages(&self.drivers, drivers, rate);
        self.measured = Some(now);
    }
}

/// What the measured processes use, after what they used at the measurement before.
fn usages<K: Ord>(
    before: &BTreeMap<K, Usage>,
    measured: Vec<(K, ProcessMeasurement)>,
    rate: impl Fn(u64, u64) -> u64,
) -> BTreeMap<K, Usage> {
    let usage = |(key, ProcessMeasurement { cpu_millis, memory }): (K, ProcessMeasurement)| {
        let last = before.get(&key).copied().unwrap_or_default();
        // The time of a process that ended without being waited for is in no measurement after it.
        let cpu_millis = cpu_millis.max(last.cpu_millis);
        let millicores = rate(last.cpu_millis, cpu_millis);
        (key, Usage { cpu_millis, millicores, memory, peak_memory: memory.max(last.peak_memory) })
    };
    measured.into_iter().map(usage).collect()
}

impl Worker {
    /// Plans the next measurement, if the settings want any.
    pub(super) fn plan_measurement(&mut self, now: Timestamp) {
        self.usage.phase = match self.config.usage_pause {
            Some(pause) => Phase::Planned { at: now + pause },
            None => Phase::Idle,
        };
    }

    pub(super) fn measure_if_due(&mut self, now: Timestamp) {
        if !matches!(self.usage.phase, Phase::Planned { at } if at <= now) {
            return;
        }
        self.usage.phase = Phase::Measuring;
        let executors = self.executors.view().into_iter().filter_map(|it| Some((it.executor, it.pid?)));
        let drivers = self.drivers.view().into_iter().filter_map(|it| Some((it.driver, it.pid?)));
        self.effects.push(Effect::Measure { executors: executors.collect(), drivers: drivers.collect() });
    }

    /// The shell has measured. What has ended meanwhile is left out: the Master was told of it.
    pub(super) fn on_measured(&mut self, now: Timestamp, mut measurement: Measurement) {
        self.plan_measurement(now);
        measurement.executors.retain(|(executor, _)| self.executors.lives(executor));
        measurement.drivers.retain(|(driver, _)| self.drivers.lives(driver));
        self.usage.take_in(now, measurement);
        if let Some(peer) = self.registration.master() {
            self.report(peer);
        }
    }

    /// A process was started: it is measured soon.
    pub(super) fn measure_soon(&mut self, now: Timestamp) {
        if let Phase::Planned { at } = &mut self.usage.phase {
            *at = (now + FIRST_LOOK).min(*at);
        }
    }

    /// The shell has measured the processor time of an executor that has ended.
    pub(super) fn on_executor_measured(&mut self, executor: ExecutorKey, cpu_millis: u64) {
        if self.config.usage_pause.is_some() && self.executors.lives(&executor) {
            let usage = self.usage.executors.entry(executor).or_default();
            usage.cpu_millis = usage.cpu_millis.max(cpu_millis);
        }
    }

    /// The shell has measured the processor time of a cluster driver's process that has ended.
    pub(super) fn on_driver_measured(&mut self, driver: DriverId, cpu_millis: u64) {
        if self.config.usage_pause.is_some() && self.drivers.lives(&driver) {
            let usage = self.usage.drivers.entry(driver).or_default();
            usage.cpu_millis = usage.cpu_millis.max(cpu_millis);
        }
    }

    /// A process of a cluster driver starts. What an earlier one used is not its own.
    pub(super) fn forget_driver_usage(&mut self, driver: &DriverId) {
        self.usage.drivers.remove(driver);
    }

    /// What an executor used that has ended. It is measured no longer.
    pub(super) fn take_used_by_executor(&mut self, executor: &ExecutorKey) -> Option<Used> {
        self.usage.executors.remove(executor).map(used)
    }

    /// What the last process of a cluster driver used that has ended. It is measured no longer.
    pub(super) fn take_used_by_driver(&mut self, driver: &DriverId) -> Option<Used> {
        self.usage.drivers.remove(driver).map(used)
    }

    /// Tells a Master that has just registered this Worker what there is to tell.
    pub(super) fn report_if_any(&mut self, peer: PeerId) {
        if self.config.web_address.is_some() || self.usage.measured.is_some() {
            self.report(peer);
        }
    }

    fn report(&mut self, peer: PeerId) {
        let report = Box::new(self.report_of_itself());
        self.effects.push(send(peer, WorkerToMaster::WorkerReported(report)));
    }

    /// What this Worker reports of itself.
    #[must_use]
    pub fn report_of_itself(&self) -> WorkerReport {
        let UsageTable { machine, executors, drivers, .. } = &self.usage;
        WorkerReport {
            worker: self.config.description.id.clone(),
            web_address: self.config.web_address.clone(),
            master_web_address: self.registration.web_address().map(str::to_owned),
            machine: *machine,
            disk: self.obstacles.space(),
            executors: executors.iter().map(|(key, usage)| (key.clone(), *usage)).collect(),
            drivers: drivers.iter().map(|(id, usage)| (id.clone(), *usage)).collect(),
        }
    }
}

fn used(usage: Usage) -> Used {
    Used { cpu_millis: usage.cpu_millis, peak_memory: usage.peak_memory }
}

/// Whether a disk is too full for anything new, after it was or was not so before.
pub(super) fn is_too_full(space: DiskSpace, most_percent: u64, was: bool) -> bool {
    /// Below the limit by so much, a disk that was too full is so no longer.
    const SLACK: u64 = 3;
    let used = space.used_percent();
    if was { used > most_percent.saturating_sub(SLACK) } else { used > most_percent }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AppId, ExecutorId};
    use crate::worker::MachineMeasurement;

    fn key(number: u32) -> ExecutorKey {
        ExecutorKey { app: AppId::new("a"), executor: ExecutorId(number) }
    }

    fn measurement(busy_millis: u64, executors: &[(u32, u64, u64)]) -> Measurement {
        let process = |&(number, cpu_millis, memory): &(u32, u64, u64)| {
            (key(number), ProcessMeasurement { cpu_millis, memory })
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
            // 3 s of processor time in 2 s, and a new executor whose first second counts.
            (
                2_000,
                measurement(8_000, &[(0, 2_700, 20), (1, 500, 5)]),
                1500,
                vec![(0, 2_700, 1000, 20, 30), (1, 500, 250, 5, 5)],
            ),
            // Its processor time seems to go back, and the other one has ended.
            (1_000, measurement(8_000, &[(0, 2_600, 40)]), 0, vec![(0, 2_700, 0, 40, 40)]),
            // No time has passed.
            (0, measurement(9_000, &[(0, 2_800, 40)]), 0, vec![(0, 2_800, 0, 40, 40)]),
        ] {
            now = now + Duration::from_millis(pause);
            table.take_in(now, measured);
            assert_eq!(table.machine.map(|machine| machine.millicores), Some(machine));
            let usage = |(key, usage): (&ExecutorKey, &Usage)| {
                let Usage { cpu_millis, millicores, memory, peak_memory } = *usage;
                (key.executor.0, cpu_millis, millicores, memory, peak_memory)
            };
            assert_eq!(table.executors.iter().map(usage).collect::<Vec<_>>(), executors);
        }
    }

    #[test]
    fn a_full_disk_is_full_until_it_is_some_percent_below_the_limit() {
        let mut full = false;
        for (used, expected) in
            [(90, false), (95, false), (96, true), (95, true), (93, true), (92, false), (95, false)]
        {
            full = is_too_full(DiskSpace { total: 100, available: 100 - used }, 95, full);
            assert_eq!(full, expected, "{used} %");
        }
        assert!(!is_too_full(DiskSpace { total: 100, available: 0 }, 100, false), "a limit of 100 % is none");
    }
}
