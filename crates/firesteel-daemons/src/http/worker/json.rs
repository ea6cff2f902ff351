//! The fields of a Worker's `/json/`, with Spark's names and values. Source: Spark JsonProtocol, 4.0.1.
//!
//! A Firesteel Worker does not know the limits of an application. It knows the user only for Spark's applications.
//! Commands are not shown, since they may contain secrets.

use firesteel_placement::Resources;
use firesteel_protocol::ids::ExecutorKey;
use firesteel_protocol::messages::WorkerViewOfItself;
use serde::Serialize;

use super::plans::{Plan, Plans};
use crate::http::master::{ResourceAmount, ResourceRows, plain_address, resource_rows};

/// The contents of `/json/`.
#[derive(Serialize)]
pub(super) struct WorkerPage {
    id: String,
    masterurl: String,
    masterwebuiurl: String,
    cores: i64,
    coresused: i64,
    memory: i64,
    memoryused: i64,
    resources: ResourceRows,
    resourcesused: ResourceRows,
    executors: Vec<ExecutorRow>,
    finishedexecutors: Vec<ExecutorRow>,
}

#[derive(Serialize)]
struct ExecutorRow {
    id: u32,
    memory: i64,
    resources: ResourceRows,
    appid: String,
    appdesc: ApplicationRow,
}

#[derive(Serialize)]
struct ApplicationRow {
    name: String,
    cores: i64,
    memoryperexecutor: i64,
    resourcesperexecutor: Vec<ResourceAmount>,
    memoryperslave: i64,
    resourcesperslave: Vec<ResourceAmount>,
    user: String,
    command: &'static str,
}

impl WorkerPage {
    /// The page of a Worker in this state, with these custom resources. The Worker's Master serves HTTP at this URL.
    pub(super) fn of(
        (view, master): (&WorkerViewOfItself, Option<&str>),
        plans: &Plans,
        resources: &Resources,
    ) -> Self {
        let mut used = Resources::default();
        for running in &view.executors {
            used.add(&plans.get(&running.executor).resources);
        }
        let running = view.executors.iter().map(|running| &running.executor);
        let ended = view.ended.iter().map(|report| &report.executor);
        Self {
            id: view.id.to_string(),
            masterurl: view.master_url.clone().unwrap_or_default(),
            masterwebuiurl: plain_address(master),
            cores: view.cores.0,
            coresused: view.cores_used().0,
            memory: view.memory.0,
            memoryused: view.memory_used().0,
            resources: resource_rows(resources),
            resourcesused: resource_rows(&used),
            executors: running.map(|executor| ExecutorRow::of(executor, plans.get(executor))).collect(),
            finishedexecutors: ended.map(|executor| ExecutorRow::of(executor, plans.get(executor))).collect(),
        }
    }
}

impl ExecutorRow {
    fn of(executor: &ExecutorKey, plan: Plan) -> Self {
        let Plan { app_name, user, memory, resources } = plan;
        let amounts = || {
            let names = resources.iter().map(|(name, _)| name);
            let amount =
                |name: &str| ResourceAmount { name: name.to_owned(), amount: resources.quantity_of(name) };
            names.map(amount).collect()
        };
        Self {
            id: executor.executor.0,
            memory: memory.0,
            resources: resource_rows(&resources),
            appid: executor.app.to_string(),
            appdesc: ApplicationRow {
                name: app_name,
                cores: 0,
                memoryperexecutor: memory.0,
                resourcesperexecutor: amounts(),
                memoryperslave: memory.0,
                resourcesperslave: amounts(),
                user,
                command: "",
            },
        }
    }
}
