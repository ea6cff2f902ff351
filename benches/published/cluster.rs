//! The nodes of the experiment's cluster, and what is free on each.

use std::io::Read;

use firesteel_placement::Amount;
use firesteel_placement::advanced::resources::WHOLE;
use firesteel_sim::trace::{ModelNames, Models, Table, TraceError, Wrong, most, rows, within};
use serde::Deserialize;

use crate::request::Request;

/// The maximum number of GPUs of a node.
const MOST_GPUS: u64 = 16;

/// All nodes of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cluster {
    /// The nodes, in the order of their file.
    pub(crate) nodes: Vec<Node>,
    /// The models of GPU.
    pub(crate) models: ModelNames,
}

/// A node, with what is free on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Free thousandths of cores.
    pub(crate) cpu: u64,
    /// Free memory in MiB.
    pub(crate) memory: u64,
    /// The model of its GPUs.
    pub(crate) model: Models,
    /// Free thousandths of each GPU.
    pub(crate) gpus: Vec<u64>,
}

#[derive(Deserialize)]
struct Row {
    cpu_milli: u64,
    memory_mib: u64,
    gpu: u64,
    model: String,
}

impl Cluster {
    /// Reads the nodes. Everything is free.
    ///
    /// # Errors
    /// The first line that cannot be used.
    pub(crate) fn read(nodes: impl Read) -> Result<Self, TraceError> {
        let table = Table::Nodes;
        let mut cluster = Self { nodes: Vec::new(), models: ModelNames::default() };
        for row in rows::<Row>(table, nodes) {
            let (line, row) = row?;
            cluster.add(row).map_err(|wrong| TraceError { table, line, wrong })?;
        }
        if cluster.gpus() == 0 {
            return Err(TraceError { table, line: 1, wrong: Wrong::Empty });
        }
        Ok(cluster)
    }

    fn add(&mut self, row: Row) -> Result<(), Wrong> {
        let model = self.models.add(&row.model)?;
        let gpus = within("gpu", row.gpu, 0, MOST_GPUS)?;
        self.nodes.push(Node {
            cpu: within("cpu_milli", row.cpu_milli, 1, most::CORES * 1000)?,
            memory: within("memory_mib", row.memory_mib, 1, most::MIB)?,
            model,
            gpus: vec![WHOLE; gpus as usize],
        });
        Ok(())
    }

    /// Number of GPUs of all nodes.
    pub(crate) fn gpus(&self) -> u64 {
        self.nodes.iter().map(|node| node.gpus.len() as u64).sum()
    }

    /// The models that a request names, joined by `|`; all if it names none.
    pub(crate) fn models(&self, spec: &str) -> Result<Models, Wrong> {
        Models::read(spec, "gpu_spec", |name| Ok(self.models.get(name)))
    }
}

impl Node {
    /// Free thousandths of all GPUs together.
    pub(crate) fn free(&self) -> u64 {
        self.gpus.iter().sum()
    }

    /// Whether the request fits.
    pub(crate) fn fits(&self, request: &Request) -> bool {
        request.cpu <= self.cpu && request.memory <= self.memory && self.has_gpus(request)
    }

    fn has_gpus(&self, request: &Request) -> bool {
        let enough = || self.gpus.iter().filter(|free| **free >= request.of_each()).count() as u64;
        request.gpus.is_none() || (request.models.allows(self.model) && enough() >= request.gpus.addresses())
    }

    /// The GPU with the least free that a share of this size fits on, the first of equal ones.
    pub(crate) fn fullest(&self, share: u64) -> Option<usize> {
        let fitting = self.gpus.iter().enumerate().filter(|(_, free)| **free >= share);
        fitting.min_by_key(|(_, free)| **free).map(|(gpu, _)| gpu)
    }

    /// Takes what the request asks for. It must fit. A share is taken of the GPU `shared`; whole GPUs are the first
    /// free ones.
    pub(crate) fn take(&mut self, request: &Request, shared: usize) {
        self.cpu -= request.cpu;
        self.memory -= request.memory;
        match request.gpus {
            Amount::Part(share) => self.gpus[shared] -= share.thousandths(),
            Amount::Whole(number) => {
                let whole = self.gpus.iter_mut().filter(|free| **free == WHOLE);
                whole.take(number as usize).for_each(|free| *free = 0);
            }
        }
    }
}
