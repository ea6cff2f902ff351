//! The table of Workers.

use std::io::{self, Read, Write};

use firesteel_placement::{Cores, MiB};
use serde::Deserialize;

use super::table::{Table, TraceError, Wrong, rows, within};
use super::{Trace, WorkerKind, most};

#[derive(Deserialize)]
struct Row {
    count: u64,
    cores: u64,
    memory_mib: u64,
    gpus: u64,
    #[serde(default)]
    model: String,
}

impl Row {
    fn kind(self) -> Result<WorkerKind, Wrong> {
        Ok(WorkerKind {
            count: within("count", self.count, 1, most::WORKERS)?,
            cores: Cores(within("cores", self.cores, 1, most::CORES)?.cast_signed()),
            memory: MiB(within("memory_mib", self.memory_mib, 1, most::MIB)?.cast_signed()),
            gpus: within("gpus", self.gpus, 0, most::GPUS)?,
            model: self.model,
        })
    }
}

pub(super) fn read(input: impl Read) -> Result<Vec<WorkerKind>, TraceError> {
    let table = Table::Workers;
    let (mut kinds, mut all) = (Vec::new(), 0);
    for row in rows::<Row>(table, input) {
        let (line, row) = row?;
        let at_line = |wrong| TraceError { table, line, wrong };
        let kind = row.kind().map_err(at_line)?;
        all += kind.count;
        within("count, all lines together", all, 1, most::WORKERS).map_err(at_line)?;
        kinds.push(kind);
    }
    if kinds.is_empty() {
        return Err(TraceError { table, line: 1, wrong: Wrong::Empty });
    }
    Ok(kinds)
}

impl Trace {
    /// Writes the table of Workers.
    ///
    /// # Errors
    /// Writing to `output` fails.
    pub fn write_workers(&self, output: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(output);
        table.write_record(["count", "cores", "memory_mib", "gpus", "model"])?;
        for kind in &self.workers {
            let WorkerKind { count, cores, memory, gpus, model } = kind;
            let row =
                [count.to_string(), cores.to_string(), memory.0.to_string(), gpus.to_string(), model.clone()];
            table.write_record(row)?;
        }
        table.flush()
    }
}
