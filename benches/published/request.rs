//! What one request asks for, and a list of requests as the experiment publishes it.

use std::io::Read;

use firesteel_placement::Amount;
use firesteel_placement::advanced::resources::WHOLE;
use firesteel_sim::trace::openb::gpus;
use firesteel_sim::trace::{Models, Table, TraceError, Wrong, most, rows, within};
use serde::Deserialize;

use crate::cluster::Cluster;

/// What a request asks for. Requests are equal if no policy can tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Request {
    /// Thousandths of a core: an even number, since a Master cannot count them one by one (see [`crate::master`]).
    pub(crate) cpu: u64,
    /// Memory in MiB.
    pub(crate) memory: u64,
    /// Whole GPUs, or a part of one.
    pub(crate) gpus: Amount,
    /// The models of GPU that it accepts.
    pub(crate) models: Models,
}

impl Request {
    /// Thousandths of all its GPUs together.
    pub(crate) fn thousandths(&self) -> u64 {
        self.gpus.quantity().thousandths()
    }

    /// Thousandths of each of its GPUs.
    pub(crate) fn of_each(&self) -> u64 {
        self.thousandths().min(WHOLE)
    }
}

/// The list of requests of one workload, in the order of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workload {
    /// The requests.
    pub(crate) requests: Vec<Request>,
}

#[derive(Deserialize)]
struct Row {
    cpu_milli: u64,
    memory_mib: u64,
    num_gpu: u64,
    gpu_milli: u64,
    #[serde(default)]
    gpu_spec: String,
}

impl Workload {
    /// Reads the list. A model that no node of the cluster has is a mistake.
    ///
    /// # Errors
    /// The first line that cannot be used.
    pub(crate) fn read(pods: impl Read, cluster: &Cluster) -> Result<Self, TraceError> {
        let table = Table::Pods;
        let mut requests = Vec::new();
        for row in rows::<Row>(table, pods) {
            let (line, row) = row?;
            requests.push(row.request(cluster).map_err(|wrong| TraceError { table, line, wrong })?);
        }
        if requests.is_empty() {
            return Err(TraceError { table, line: 1, wrong: Wrong::Empty });
        }
        Ok(Self { requests })
    }
}

impl Row {
    fn request(&self, cluster: &Cluster) -> Result<Request, Wrong> {
        let cpu = within("cpu_milli", self.cpu_milli, 0, most::CORES * 1000)?.max(2).next_multiple_of(2);
        let memory = within("memory_mib", self.memory_mib, 0, most::MIB)?;
        let gpus = gpus(self.num_gpu, self.gpu_milli)?;
        let models = if gpus.is_none() { Models::ANY } else { cluster.models(&self.gpu_spec)? };
        Ok(Request { cpu, memory, gpus, models })
    }
}
