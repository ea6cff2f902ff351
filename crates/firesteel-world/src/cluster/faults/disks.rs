//! Full disks: for some time, a Worker cannot write, and reports this.

use firesteel_protocol::ids::{DriverId, ExecutorKey};
use firesteel_protocol::messages::DiskSpace;
use firesteel_protocol::process::{ExitStatus, StartFailure, StartStep};
use firesteel_worker::{Event, LastMeasurement, Limits, Measurement, ProcessMeasurement, StartTried};

use super::shortages::no_processes;
use crate::cluster::processes::node::Body;
use crate::cluster::world::{NodeIndex, World};
use firesteel_sim::dice::Dice;

/// The number of threads that a Worker allows, if it measures.
const MOST_THREADS: u32 = 100;

/// The limits of a Worker that measures.
pub(crate) const LIMITS: Limits =
    Limits { memory_overhead: Some(0.1), threads: Some(MOST_THREADS), disk: None, is_held_to_cores: false };

/// A time during which the disk of a machine is full.
#[derive(Clone, Debug)]
pub struct FullDisk {
    pub machine: usize,
    /// The beginning, in milliseconds after the start. The disk is free again when the faults stop, at the latest.
    pub from: u64,
    /// The duration in milliseconds.
    pub millis: u64,
}

impl FullDisk {
    /// A random full disk. In one of four clusters with faults, one machine's disk is full for some time.
    pub(crate) fn rolled(dice: &mut Dice, faults_until: u64, machines: usize) -> Option<Self> {
        let machine = dice.index(machines)?;
        let happens = faults_until > 0 && dice.one_in(4);
        happens.then(|| Self { machine, from: dice.below(faults_until), millis: dice.between(1_000, 60_000) })
    }
}

/// Why an executor does not start on a full disk.
pub(crate) fn no_space() -> StartFailure {
    StartFailure { step: StartStep::Directory, error: "No space left on device".to_owned() }
}

impl World {
    /// Whether this Worker's disk is full now.
    pub(crate) fn is_full(&self, worker: NodeIndex) -> bool {
        let Body::Worker(body) = &self.node(worker).body else { return false };
        let is_now = |disk: &FullDisk| (disk.from..disk.from + disk.millis).contains(&self.now);
        let disk = self.scenario.full_disk.as_ref();
        self.is_rough() && disk.is_some_and(|disk| disk.machine == body.plan && is_now(disk))
    }

    /// A Worker tests whether it can start processes.
    pub(crate) fn try_to_start(&mut self, worker: NodeIndex, process: bool) {
        let error = self.is_full(worker).then(|| no_space().error);
        // Half of the full disks have a little space, which is too little for anything new.
        let space = DiskSpace { total: 100, available: if error.is_some() { 1 } else { 50 } };
        let error = error.filter(|_| worker.0.is_multiple_of(2));
        let millis = self.dice.between(1, 50);
        let fails = process && self.starts_nothing(worker);
        let process = fails.then(|| no_processes().failure.to_string());
        let tried = StartTried { directory: error, process, space: Some(space) };
        self.tell_worker(millis, worker, Event::StartTried(tried));
    }

    /// A Worker measures the resource usage of its processes. Some have more threads than it allows.
    pub(crate) fn measure(
        &mut self,
        worker: NodeIndex,
        executors: Vec<(ExecutorKey, u32)>,
        drivers: Vec<(DriverId, u32)>,
    ) {
        let mut used = || {
            let threads = if self.dice.one_in(5) { u64::from(MOST_THREADS) + 1 } else { 1 };
            ProcessMeasurement { cpu_millis: self.now, memory: 1 << 20, threads, disk: None }
        };
        let executors = executors.into_iter().map(|(executor, _)| (executor, used())).collect();
        let drivers = drivers.into_iter().map(|(driver, _)| (driver, used())).collect();
        self.tell_worker(1, worker, Event::Measured(Measurement { machine: None, executors, drivers }));
    }

    /// What a Worker learns of a process that has ended. The kernel killed some of those that were killed.
    pub(crate) fn last_measurement(&self, status: ExitStatus) -> LastMeasurement {
        let is_out_of_memory = status == ExitStatus::Signal(9) && self.now.is_multiple_of(3);
        LastMeasurement { cpu_millis: self.now % 10_000, is_out_of_memory }
    }
}
