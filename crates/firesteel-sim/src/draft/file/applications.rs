//! The applications of a file, with the executors that already run.

use std::ops::Range;

use firesteel_master::HeldResources;
use firesteel_placement::{Cores, ExecutorLimit, MiB, Resources};
use firesteel_protocol::ids::{ProfileId, WorkerId};
use firesteel_protocol::messages::{
    ApplicationDescription, Placing, ResourceProfile, Submitter, WantedExecutors, Work,
};
use firesteel_protocol::process::Command;

use super::builder::DraftBuilder;
use super::entries::{ApplicationEntry, RunningEntry};
use super::fault::{Fault, FileError};
use crate::draft::{DraftApplication, DraftExecutor};

/// The memory of an executor if its application sets no memory. Source: Spark 4.0.1 (`spark.executor.memory`).
const EXECUTOR_MEMORY: MiB = MiB(1024);

impl DraftBuilder<'_> {
    pub(super) fn application(
        &mut self,
        name: String,
        entry: &ApplicationEntry,
        at: &Range<usize>,
        field: &str,
    ) -> Result<DraftApplication, FileError> {
        let gang = self.gang(entry).map_err(|fault| self.error(at, &format!("{field}.gang"), fault))?;
        if let Err(error) = self.draft.scheduling.queues.find(entry.queue.as_deref()) {
            return Err(self.error(at, &format!("{field}.queue"), Fault::Queue(error)));
        }
        let resources = entry.resources.iter().map(|(name, amount)| (name.clone(), amount.0));
        let profile = ResourceProfile {
            cores: entry.executor_cores.map(|cores| Cores(cores.0)),
            memory: Some(entry.executor_memory.map_or(EXECUTOR_MEMORY, |memory| memory.0)),
            resources: resources.collect(),
        };
        profile.check().map_err(|error| {
            self.error(at, &format!("{field}.resources"), Fault::Executor { error: error.to_string() })
        })?;
        let mut running = Vec::new();
        for (index, executors) in entry.running.iter().enumerate() {
            let field = format!("{field}.running[{index}]");
            running.extend(self.running(executors, &profile, &field)?);
        }
        let limit = entry.num_executors.map_or(ExecutorLimit::Unlimited, ExecutorLimit::AtMost);
        let description = ApplicationDescription::new(
            Submitter::new(name, ""),
            WantedExecutors {
                profile,
                max_cores: entry.max_cores.map(|cores| Cores(cores.0)),
                limit,
                ..WantedExecutors::default()
            },
            Placing {
                policy: entry.placement_policy,
                queue: entry.queue.clone(),
                priority: entry.priority,
                gang,
            },
            Work::of(Command::of("true")),
        );
        Ok(DraftApplication { running, ..DraftApplication::new(description, self.draft.now) })
    }

    /// The size of the gang, at most the number of executors that the application requests. 0 without a gang.
    fn gang(&self, entry: &ApplicationEntry) -> Result<u64, Fault> {
        let Some(gang) = entry.gang.map(|gang| gang.0 as u64).filter(|gang| *gang > 1) else { return Ok(0) };
        let each = entry.executor_cores.ok_or(Fault::GangWithoutCores)?.0 as u64;
        let cores = entry.max_cores.map_or(self.draft.scheduling.default_cores.0, |cores| cores.0) as u64;
        let most = (cores / each).min(entry.num_executors.unwrap_or(u64::MAX));
        match gang <= most {
            true => Ok(gang),
            false => Err(Fault::GangTooLarge { gang, most }),
        }
    }

    fn running(
        &mut self,
        entry: &RunningEntry,
        profile: &ResourceProfile,
        field: &str,
    ) -> Result<Vec<DraftExecutor>, FileError> {
        let (at, worker) = (entry.worker.span(), entry.worker.as_ref().as_str());
        let id = WorkerId::new(worker);
        let Some(cores) = entry.cores.map(|cores| Cores(cores.0)).or(profile.cores) else {
            return Err(self.error(&at, field, Fault::NoCores));
        };
        let memory = profile.memory.unwrap_or(EXECUTOR_MEMORY);
        let (profile, resources) = (ProfileId::DEFAULT, HeldResources::Amounts(profile.resources.clone()));
        let launched = self.draft.now;
        let executor = DraftExecutor { profile, worker: id, cores, memory, resources, launched };
        let mut executors = Vec::new();
        for _ in 0..entry.executors.map_or(1, |executors| executors.0) {
            let Some(free) = self.free.get_mut(&executor.worker) else {
                let like = self.draft.workers.first().map(|worker| worker.id.to_string());
                let fault = Fault::NoSuchWorker { worker: worker.to_owned(), like };
                return Err(self.error(&at, &format!("{field}.worker"), fault));
            };
            if !take(free, &executor) {
                return Err(self.error(&at, field, Fault::NoRoom { worker: worker.to_owned() }));
            }
            executors.push(executor.clone());
        }
        Ok(executors)
    }
}

/// Takes an executor's needs from `free`. If too little is free, takes nothing and returns `false`.
fn take(free: &mut (Cores, MiB, Resources), executor: &DraftExecutor) -> bool {
    let (cores, memory, resources) = free;
    if *cores < executor.cores || *memory < executor.memory || executor.resources.take(resources).is_none() {
        return false;
    }
    *cores -= executor.cores;
    *memory -= executor.memory;
    true
}
