//! The usage of this Worker's executors, cluster drivers and machine.
//!
//! The daemon measures from time to time, and the Master gets a report of each measurement.

use firesteel_placement::MiB;
use firesteel_protocol::ids::{DriverId, ExecutorKey, PeerId};
use firesteel_protocol::messages::{ExceededLimit, WorkerReport, WorkerToMaster};
use firesteel_protocol::process::Signal;
use firesteel_protocol::time::Timestamp;

use super::effect::send;
use super::{Effect, LastMeasurement, Measurement, Note, Worker};

impl Worker {
    /// Plans the next measurement, if the settings ask for measurements.
    pub(super) fn plan_measurement(&mut self, now: Timestamp) {
        self.usage.plan(now, self.config.usage_pause);
    }

    pub(super) fn measure_if_due(&mut self, now: Timestamp) {
        if !self.usage.begin_if_due(now) {
            return;
        }
        let executors = self.executors.view().into_iter().filter_map(|it| Some((it.executor, it.pid?)));
        let drivers = self.drivers.view().into_iter().filter_map(|it| Some((it.driver, it.pid?)));
        self.effects.push(Effect::Measure {
            executors: executors.collect(),
            drivers: drivers.collect(),
            disk: self.config.limits.disk.is_some(),
        });
    }

    /// Handles a measurement. Leaves out processes that have ended meanwhile, because their ends are already reported.
    pub(super) fn on_measured(&mut self, now: Timestamp, mut measurement: Measurement) {
        self.plan_measurement(now);
        measurement.executors.retain(|(executor, _)| self.executors.lives(executor));
        measurement.drivers.retain(|(driver, _)| self.drivers.lives(driver));
        self.end_what_exceeds(&measurement);
        self.usage.take_in(now, measurement);
        if let Some(peer) = self.registration.master() {
            self.report(peer);
        }
    }

    /// Kills executors and cluster drivers that use more than the limits allow. Their ends count as ends by themselves,
    /// so supervised drivers are started again.
    fn end_what_exceeds(&mut self, measurement: &Measurement) {
        let limits = self.config.limits;
        for (executor, measured) in &measurement.executors {
            let granted = self.executors.memory(executor);
            if let Some(exceeded) = granted.and_then(|granted| limits.exceeded(granted, measured))
                && self.usage.executor_exceeds(executor.clone(), exceeded)
            {
                self.effects.note(Note::ExecutorExceeds { executor: executor.clone(), exceeded });
                let (executor, signal) = (executor.clone(), Signal::Kill);
                self.effects.push(Effect::SignalExecutor { executor, signal });
            }
        }
        for (driver, measured) in &measurement.drivers {
            let granted = self.drivers.memory(driver);
            if let Some(exceeded) = granted.and_then(|granted| limits.exceeded(granted, measured))
                && self.usage.driver_exceeds(driver.clone(), exceeded)
            {
                self.effects.note(Note::DriverExceeds { driver: driver.clone(), exceeded });
                let (driver, signal) = (driver.clone(), Signal::Kill);
                self.effects.push(Effect::SignalDriver { driver, signal });
            }
        }
    }

    /// Handles what is known of an executor that has ended.
    pub(super) fn on_executor_measured(&mut self, executor: ExecutorKey, last: LastMeasurement) {
        let Some(granted) = self.executors.memory(&executor) else { return };
        if self.config.usage_pause.is_some() {
            let exceeded = self.exceeded_in_group(granted, last);
            self.usage.note_executor_end(executor, last.cpu_millis, exceeded);
        }
    }

    /// Handles what is known of a cluster driver's process that has ended.
    pub(super) fn on_driver_measured(&mut self, driver: DriverId, last: LastMeasurement) {
        let Some(granted) = self.drivers.memory(&driver) else { return };
        if self.config.usage_pause.is_some() {
            let exceeded = self.exceeded_in_group(granted, last);
            self.usage.note_driver_end(driver, last.cpu_millis, exceeded);
        }
    }

    /// The limit of its control group for which the kernel killed a process that was granted this memory.
    fn exceeded_in_group(&self, granted: MiB, last: LastMeasurement) -> Option<ExceededLimit> {
        self.config.limits.exceeded_in_group(granted).filter(|_| last.is_out_of_memory)
    }

    pub(super) fn report_if_any(&mut self, peer: PeerId) {
        if self.config.web_address.is_some() || self.usage.is_measured() {
            self.report(peer);
        }
    }

    fn report(&mut self, peer: PeerId) {
        let report = Box::new(self.report_of_itself());
        self.effects.push(send(peer, WorkerToMaster::WorkerReported(report)));
    }

    #[must_use]
    pub fn report_of_itself(&self) -> WorkerReport {
        WorkerReport {
            worker: self.config.description.id.clone(),
            web_address: self.config.web_address.clone(),
            master_web_address: self.registration.web_address().map(str::to_owned),
            machine: self.usage.machine(),
            disk: self.obstacles.space(),
            executors: self.usage.executors(),
            drivers: self.usage.drivers(),
        }
    }
}
