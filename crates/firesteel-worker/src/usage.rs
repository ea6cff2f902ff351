//! The usage of this Worker's executors, cluster drivers and machine.
//!
//! The daemon measures from time to time, and the Master gets a report of each measurement.

use firesteel_protocol::ids::{DriverId, ExecutorKey, PeerId};
use firesteel_protocol::messages::{WorkerReport, WorkerToMaster};
use firesteel_protocol::time::Timestamp;

use super::effect::send;
use super::{Effect, Measurement, Worker};

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
        self.effects.push(Effect::Measure { executors: executors.collect(), drivers: drivers.collect() });
    }

    /// Handles a measurement. Leaves out processes that have ended meanwhile, because their ends are already reported.
    pub(super) fn on_measured(&mut self, now: Timestamp, mut measurement: Measurement) {
        self.plan_measurement(now);
        measurement.executors.retain(|(executor, _)| self.executors.lives(executor));
        measurement.drivers.retain(|(driver, _)| self.drivers.lives(driver));
        self.usage.take_in(now, measurement);
        if let Some(peer) = self.registration.master() {
            self.report(peer);
        }
    }

    /// Handles the processor time of an executor that has ended.
    pub(super) fn on_executor_measured(&mut self, executor: ExecutorKey, cpu_millis: u64) {
        if self.config.usage_pause.is_some() && self.executors.lives(&executor) {
            self.usage.note_executor_time(executor, cpu_millis);
        }
    }

    /// Handles the processor time of a cluster driver's process that has ended.
    pub(super) fn on_driver_measured(&mut self, driver: DriverId, cpu_millis: u64) {
        if self.config.usage_pause.is_some() && self.drivers.lives(&driver) {
            self.usage.note_driver_time(driver, cpu_millis);
        }
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
