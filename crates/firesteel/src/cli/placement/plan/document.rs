//! Plans as one JSON value. The name of a field ends in its unit.

use firesteel_placement::advanced::resources::ResourceQuantities;
use firesteel_sim::draft::{ApplicationOutcome, Draft, DraftApplication, Metrics, Since, WorkerOutcome};
use serde::Serialize;

use super::{Decided, why};

#[derive(Serialize)]
pub(super) struct Plans<'a> {
    schema: u32,
    plans: Vec<Plan<'a>>,
}

#[derive(Serialize)]
struct Plan<'a> {
    policy: &'a str,
    metrics: Numbers<'a>,
    applications: Vec<Application<'a>>,
    workers: Vec<Worker<'a>>,
}

#[derive(Serialize)]
struct Numbers<'a> {
    executors_given: u64,
    executors_taken: u64,
    applications_waiting: u64,
    applications_short: u64,
    workers_used: u64,
    workers: u64,
    cores_used: i64,
    cores: i64,
    cores_stranded: i64,
    memory_used_mib: i64,
    memory_mib: i64,
    resources_used: &'a ResourceQuantities,
    resources: &'a ResourceQuantities,
    resources_stranded: &'a ResourceQuantities,
    most_executors_on_one_host: u64,
}

#[derive(Serialize)]
struct Application<'a> {
    pub(super) name: &'a str,
    executors_kept: u64,
    executors_given: u64,
    executors_taken: u64,
    cores: i64,
    /// Why the application has no more executors, in sentences. Empty if it has everything that it asks for.
    reasons: Vec<String>,
}

#[derive(Serialize)]
struct Worker<'a> {
    id: &'a str,
    host: &'a str,
    cores: i64,
    cores_free: i64,
    memory_mib: i64,
    memory_free_mib: i64,
    resources: &'a ResourceQuantities,
    resources_free: &'a ResourceQuantities,
    executors: Vec<Executor<'a>>,
}

#[derive(Serialize)]
struct Executor<'a> {
    /// The index of the executor's application in `applications`.
    app_index: usize,
    new: bool,
    cores: i64,
    memory_mib: i64,
    resources: &'a ResourceQuantities,
}

impl<'a> Plans<'a> {
    const SCHEMA: u32 = 3;

    pub(super) fn of(draft: &'a Draft, decided: &'a [Decided]) -> Self {
        let plan = |one: &'a Decided| Plan {
            policy: &one.name,
            metrics: Numbers::of(&one.metrics),
            applications: (draft.applications.iter())
                .zip(&one.outcome.applications)
                .map(|(app, now)| Application::of(app, now))
                .collect(),
            workers: one.outcome.workers.iter().map(Worker::of).collect(),
        };
        Self { schema: Self::SCHEMA, plans: decided.iter().map(plan).collect() }
    }
}

impl<'a> Numbers<'a> {
    fn of(metrics: &'a Metrics) -> Self {
        let Metrics {
            given,
            taken,
            waiting,
            short,
            workers_used,
            workers,
            cores_used,
            cores,
            cores_stranded,
            memory_used,
            memory,
            resources_used,
            resources,
            resources_stranded,
            most_on_one_host,
        } = metrics;
        Self {
            executors_given: *given,
            executors_taken: *taken,
            applications_waiting: *waiting,
            applications_short: *short,
            workers_used: *workers_used,
            workers: *workers,
            cores_used: cores_used.0,
            cores: cores.0,
            cores_stranded: cores_stranded.0,
            memory_used_mib: memory_used.0,
            memory_mib: memory.0,
            resources_used,
            resources,
            resources_stranded,
            most_executors_on_one_host: *most_on_one_host,
        }
    }
}

impl<'a> Application<'a> {
    fn of(app: &'a DraftApplication, now: &ApplicationOutcome) -> Self {
        Self {
            name: app.name(),
            executors_kept: now.kept,
            executors_given: now.given,
            executors_taken: now.taken,
            cores: now.cores.0,
            reasons: why::why(now),
        }
    }
}

impl<'a> Worker<'a> {
    fn of(worker: &'a WorkerOutcome) -> Self {
        let executors = worker.executors.iter().map(|executor| Executor {
            app_index: executor.app,
            new: executor.since == Since::Now,
            cores: executor.cores.0,
            memory_mib: executor.memory.0,
            resources: &executor.resources,
        });
        Self {
            id: worker.id.as_str(),
            host: &worker.host,
            cores: worker.cores.0,
            cores_free: worker.cores_free.0,
            memory_mib: worker.memory.0,
            memory_free_mib: worker.memory_free.0,
            resources: &worker.resources,
            resources_free: &worker.resources_free,
            executors: executors.collect(),
        }
    }
}
