//! Reads a trace from its directory.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use firesteel_placement::Cores;
use firesteel_settings::size::{self, Unit};
use firesteel_sim::replay::Size;
use firesteel_sim::trace::{Table, Trace, TraceError, most, openb};

use super::Workers;
use crate::cli::exit::{Exit, Failure};

/// Reads a trace in Firesteel's format or in Alibaba's format.
pub(super) fn read(directory: &Path) -> Result<Trace, Failure> {
    let wrong = |error: TraceError| {
        let path = directory.join(error.table.file());
        Failure::of(Exit::Usage, format!("{}: line {}: {}", path.display(), error.line, error.wrong))
    };
    if directory.join(Table::Nodes.file()).exists() && !directory.join(Table::Workers.file()).exists() {
        let (nodes, pods) = (open(directory, Table::Nodes)?, open(directory, Table::Pods)?);
        return openb::read(nodes, pods).map_err(wrong);
    }
    if directory.is_file() {
        let words = format!(
            "{} is a file: give a directory with workers.csv and applications.csv",
            directory.display()
        );
        return Err(Failure::of(Exit::Usage, words));
    }
    let (workers, applications) = (open(directory, Table::Workers)?, open(directory, Table::Applications)?);
    Trace::read(workers, applications).map_err(wrong)
}

fn open(directory: &Path, table: Table) -> Result<BufReader<File>, Failure> {
    let path = directory.join(table.file());
    let unopened = |error| Failure::of(Exit::Usage, format!("cannot open {}: {error}", path.display()));
    File::open(&path).map(BufReader::new).map_err(unopened)
}

/// Parses Workers such as `200x64x256g` or `4x96x1tx8`.
pub(super) fn workers(text: &str) -> Result<Workers, String> {
    const EXPECTED: &str =
        "write COUNTxCORESxMEMORY or COUNTxCORESxMEMORYxGPUS, such as 200x64x256g or 4x96x1tx8";
    let parts: Vec<&str> = text.split('x').collect();
    let (count, cores, memory, gpus) = match parts[..] {
        [count, cores, memory] => (count, cores, memory, "0"),
        [count, cores, memory, gpus] => (count, cores, memory, gpus),
        _ => return Err(EXPECTED.to_owned()),
    };
    let number = |text: &str, least: u64, most: u64| {
        text.parse().ok().filter(|number| (least..=most).contains(number)).ok_or_else(|| EXPECTED.to_owned())
    };
    let cores = number(cores, 1, most::CORES)?;
    let memory = size::memory(memory, Unit::MiB).map_err(|_| EXPECTED.to_owned())?;
    if !(1..=most::MIB).contains(&u64::try_from(memory.0).unwrap_or(0)) {
        return Err(EXPECTED.to_owned());
    }
    let gpus = number(gpus, 0, most::GPUS)?.into();
    let size = Size { cores: Cores(cores.cast_signed()), memory, gpus, ..Size::default() };
    let count = usize::try_from(number(count, 1, most::WORKERS)?).map_err(|_| EXPECTED.to_owned())?;
    Ok(Workers { count, size })
}
