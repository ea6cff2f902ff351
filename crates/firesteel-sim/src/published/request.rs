//! What one request asks for, and a list of requests as the experiment publishes it.

use std::io::Read;

use serde::Deserialize;

use super::cluster::Models;
use crate::trace::most;
use crate::trace::table::{Table, TraceError, Wrong, rows, within};

/// Thousandths of one GPU.
pub(super) const WHOLE: u32 = 1000;

/// What a request asks for. Requests are equal if no policy can tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// Thousandths of a core: an even number, since a Master cannot count them one by one (see [`super::Master`]).
    pub cpu: u64,
    /// Memory in MiB.
    pub memory: u64,
    /// The GPUs.
    pub gpus: Gpus,
    /// The models of GPU that it accepts.
    pub models: Models,
}

/// The GPUs that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gpus {
    /// None.
    None,
    /// Thousandths of one GPU, from 1 to 999.
    Share(u32),
    /// This number of whole GPUs, at least 1.
    Whole(u32),
}

impl Gpus {
    /// The thousandths of all GPUs together.
    #[must_use]
    pub fn thousandths(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Share(share) => share,
            Self::Whole(number) => number * WHOLE,
        }
    }

    /// The thousandths of each GPU.
    #[must_use]
    pub fn of_each(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Share(share) => share,
            Self::Whole(_) => WHOLE,
        }
    }

    /// The number of GPUs.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Share(_) => 1,
            Self::Whole(number) => number,
        }
    }
}

/// The list of requests of one workload, in the order of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The requests.
    pub requests: Vec<Request>,
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
    pub fn read(pods: impl Read, cluster: &super::Cluster) -> Result<Self, TraceError> {
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
    fn request(&self, cluster: &super::Cluster) -> Result<Request, Wrong> {
        let cpu = within("cpu_milli", self.cpu_milli, 0, most::CORES * 1000)?.max(2).next_multiple_of(2);
        let memory = within("memory_mib", self.memory_mib, 0, most::MIB)?;
        let number = within("num_gpu", self.num_gpu, 0, most::GPUS)? as u32;
        let gpus = match number {
            0 => Gpus::None,
            1 => match within("gpu_milli", self.gpu_milli, 1, WHOLE.into())? as u32 {
                WHOLE => Gpus::Whole(1),
                share => Gpus::Share(share),
            },
            _ => {
                within("gpu_milli", self.gpu_milli, WHOLE.into(), WHOLE.into())?;
                Gpus::Whole(number)
            }
        };
        let models = match gpus {
            Gpus::None => Models::ANY,
            Gpus::Share(_) | Gpus::Whole(_) => cluster.models(&self.gpu_spec)?,
        };
        Ok(Request { cpu, memory, gpus, models })
    }
}
