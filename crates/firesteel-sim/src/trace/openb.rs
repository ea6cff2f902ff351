//! The GPU trace that Alibaba published in 2023 (`openb`): `nodes.csv` and `pods.csv`.
//!
//! Each node becomes a Worker, and each pod becomes an application with one executor. Pods that were never scheduled
//! are left out, because their run time is unknown.

use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use firesteel_placement::advanced::resources::WHOLE;
use firesteel_placement::{Amount, Cores, MiB, Part};
use serde::Deserialize;

use super::models::AskedModels;
use super::table::{Table, TraceError, Wrong, rows, within};
use super::{ModelNames, Models, Request, Trace, TraceApplication, WorkerKind, most};

#[derive(Deserialize)]
struct Node {
    cpu_milli: u64,
    memory_mib: u64,
    gpu: u64,
    model: String,
}

#[derive(Deserialize)]
struct Pod {
    cpu_milli: u64,
    memory_mib: u64,
    num_gpu: u64,
    gpu_milli: u64,
    #[serde(default)]
    gpu_spec: String,
    creation_time: u64,
    deletion_time: Option<u64>,
    scheduled_time: Option<u64>,
}

/// Reads the trace.
///
/// # Errors
/// A line cannot be used. The error names the first such line.
pub fn read(nodes: impl Read, pods: impl Read) -> Result<Trace, TraceError> {
    let workers = workers(nodes)?;
    let (applications, models) = applications(pods, &workers)?;
    Ok(Trace::of(workers, applications, models))
}

/// Reads the Workers. Equal nodes become one kind.
fn workers(input: impl Read) -> Result<Vec<WorkerKind>, TraceError> {
    let table = Table::Nodes;
    let mut kinds: BTreeMap<(u64, u64, u64, String), u64> = BTreeMap::new();
    for (node, number) in rows::<Node>(table, input).zip(1..) {
        let (line, node) = node?;
        let sound = || -> Result<_, Wrong> {
            within("lines", number, 1, most::WORKERS)?;
            let cores = within("cpu_milli", node.cpu_milli, 1000, most::CORES * 1000)? / 1000;
            let memory = within("memory_mib", node.memory_mib, 1, most::MIB)?;
            Ok((cores, memory, within("gpu", node.gpu, 0, most::GPUS)?, node.model))
        };
        let kind = sound().map_err(|wrong| TraceError { table, line, wrong })?;
        *kinds.entry(kind).or_default() += 1;
    }
    if kinds.is_empty() {
        return Err(TraceError { table, line: 1, wrong: Wrong::Empty });
    }
    let kind = |((cores, memory, gpus, model), count): ((u64, u64, u64, String), u64)| WorkerKind {
        count,
        cores: Cores(cores.cast_signed()),
        memory: MiB(memory.cast_signed()),
        gpus,
        model,
    };
    Ok(kinds.into_iter().map(kind).collect())
}

fn applications(
    input: impl Read,
    workers: &[WorkerKind],
) -> Result<(Vec<TraceApplication>, ModelNames), TraceError> {
    let table = Table::Pods;
    let mut models = AskedModels::of(workers);
    let mut applications = Vec::new();
    for pod in rows::<Pod>(table, input) {
        let (line, pod) = pod?;
        applications.extend(pod.application(&mut models).map_err(|wrong| TraceError {
            table,
            line,
            wrong,
        })?);
    }
    if applications.is_empty() {
        return Err(TraceError { table, line: 1, wrong: Wrong::Empty });
    }
    Ok((applications, models.names()))
}

/// The GPUs of a pod: a number of whole GPUs, or thousandths of one GPU.
///
/// # Errors
/// The two numbers contradict each other.
pub fn gpus(number: u64, thousandths_each: u64) -> Result<Amount, Wrong> {
    let number = within("num_gpu", number, 0, most::GPUS)?;
    let each = match number {
        0 => 0,
        1 => within("gpu_milli", thousandths_each, 1, WHOLE)?,
        _ => within("gpu_milli", thousandths_each, WHOLE, WHOLE)?,
    };
    Ok(Part::of(each).map_or(Amount::Whole(number), Amount::Part))
}

impl Pod {
    /// The application for this pod. `None` if the pod was never scheduled.
    fn application(&self, models: &mut AskedModels<'_>) -> Result<Option<TraceApplication>, Wrong> {
        let gpus = gpus(self.num_gpu, self.gpu_milli)?;
        let request = Request {
            milli_cores: within("cpu_milli", self.cpu_milli, 0, most::CORES * 1000)?.max(1),
            memory: MiB(within("memory_mib", self.memory_mib, 0, most::MIB)?.cast_signed()),
            gpus,
            models: if gpus.is_none() { Models::ANY } else { models.read(&self.gpu_spec, "gpu_spec")? },
        };
        let arrival = Duration::from_secs(within("creation_time", self.creation_time, 0, most::SECONDS)?);
        let (Some(scheduled), Some(deleted)) = (self.scheduled_time, self.deletion_time) else {
            return Ok(None);
        };
        within("scheduled_time", scheduled, 0, most::SECONDS)?;
        let deleted = within("deletion_time", deleted, scheduled, most::SECONDS)?;
        let lifetime = Duration::from_secs(deleted - scheduled);
        Ok(Some(TraceApplication {
            arrival,
            executors: 1,
            request,
            lifetime,
            gang: 1,
            ..TraceApplication::default()
        }))
    }
}
