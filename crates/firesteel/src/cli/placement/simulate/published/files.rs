//! Reads the files of the experiment: nodes, workloads, and published results.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use firesteel_placement::advanced::words::list;
use firesteel_sim::published::figures::{self, Figures};
use firesteel_sim::published::{Cluster, Workload};
use firesteel_sim::trace::{Table, TraceError};
use flate2::read::MultiGzDecoder;

use crate::cli::exit::{Exit, Failure};

/// What a directory has.
pub(super) struct Directory {
    pub(super) cluster: Cluster,
    /// The workloads, by name.
    pub(super) workloads: Vec<(String, Workload)>,
    /// The published results; empty if there is no file of them.
    pub(super) figures: BTreeMap<(String, String), Figures>,
}

/// Reads a directory, and the workloads of these names, or all.
pub(super) fn read(directory: &Path, names: &[String]) -> Result<Directory, Failure> {
    let nodes = directory.join(Table::Nodes.file());
    let cluster = Cluster::read(open(&nodes)?).map_err(|error| wrong(&nodes, &error))?;
    let files = workload_files(directory)?;
    if let Some(unknown) = names.iter().find(|name| !files.contains_key(*name)) {
        let known: Vec<String> = files.keys().cloned().collect();
        let words = format!("{} has no workload {unknown:?}: it has {}", directory.display(), list(&known));
        return Err(Failure::of(Exit::Usage, words));
    }
    let asked = files.iter().filter(|(name, _)| names.is_empty() || names.contains(name));
    let workload = |(name, path): (&String, &PathBuf)| {
        let workload = Workload::read(open(path)?, &cluster).map_err(|error| wrong(path, &error))?;
        Ok((name.clone(), workload))
    };
    let workloads: Vec<_> = asked.map(workload).collect::<Result<_, Failure>>()?;
    let published = directory.join(Table::Published.file());
    let figures = match published.exists() {
        true => figures::read(open(&published)?).map_err(|error| wrong(&published, &error))?,
        false => BTreeMap::new(),
    };
    Ok(Directory { cluster, workloads, figures })
}

/// The files `pods_NAME.csv` and `pods_NAME.csv.gz` of a directory, by name.
fn workload_files(directory: &Path) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let unread = |error| Failure::of(Exit::Usage, format!("cannot read {}: {error}", directory.display()));
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = name.strip_prefix("pods_").and_then(|name| {
            name.strip_suffix(".csv").or_else(|| name.strip_suffix(".csv.gz")).map(str::to_owned)
        });
        files.extend(name.map(|name| (name, path)));
    }
    if files.is_empty() {
        let words = format!(
            "{} has no workloads: with --published it needs nodes.csv, and pods_NAME.csv or pods_NAME.csv.gz for each",
            directory.display()
        );
        return Err(Failure::of(Exit::Usage, words));
    }
    Ok(files)
}

/// Opens a file, and unpacks it if its name says that it is compressed.
fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    let unopened = |error| Failure::of(Exit::Usage, format!("cannot open {}: {error}", path.display()));
    let file = BufReader::new(File::open(path).map_err(unopened)?);
    let is_packed = path.extension().is_some_and(|extension| extension == "gz");
    Ok(if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

fn wrong(path: &Path, error: &TraceError) -> Failure {
    Failure::of(Exit::Usage, format!("{}: line {}: {}", path.display(), error.line, error.wrong))
}
