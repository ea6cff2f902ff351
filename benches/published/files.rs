//! Reads the files of the experiment: nodes, workloads, and published results.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use firesteel_sim::trace::{Table, TraceError};
use flate2::read::MultiGzDecoder;

use crate::cluster::Cluster;
use crate::figures::{self, Figures};
use crate::request::Workload;

/// The published results; the file is optional.
const PUBLISHED: &str = "published.csv";

/// The contents of a directory.
pub(crate) struct Directory {
    pub(crate) cluster: Cluster,
    /// The workloads, by name.
    pub(crate) workloads: Vec<(String, Workload)>,
    /// The published results by workload and policy; empty if there is no file of them.
    pub(crate) figures: BTreeMap<(String, String), Figures>,
}

/// Reads a directory, and the workloads with these names, or all.
///
/// # Errors
/// A sentence that names the file, or the workload that is not there.
pub(crate) fn read(directory: &Path, names: &[String]) -> Result<Directory, String> {
    let nodes = directory.join(Table::Nodes.file());
    let cluster = Cluster::read(open(&nodes)?).map_err(|error| wrong(&nodes, &error))?;
    let files = workload_files(directory)?;
    if let Some(unknown) = names.iter().find(|name| !files.contains_key(*name)) {
        let known: Vec<&str> = files.keys().map(String::as_str).collect();
        let known = known.join(", ");
        return Err(format!("{} has no workload {unknown:?}: it has {known}", directory.display()));
    }
    let asked = files.iter().filter(|(name, _)| names.is_empty() || names.contains(name));
    let workload = |(name, path): (&String, &PathBuf)| {
        let workload = Workload::read(open(path)?, &cluster).map_err(|error| wrong(path, &error))?;
        Ok((name.clone(), workload))
    };
    let workloads: Vec<_> = asked.map(workload).collect::<Result<_, String>>()?;
    let published = directory.join(PUBLISHED);
    let figures = match published.exists() {
        true => {
            figures::read(open(&published)?).map_err(|error| format!("{}: {error}", published.display()))?
        }
        false => BTreeMap::new(),
    };
    Ok(Directory { cluster, workloads, figures })
}

/// The files `pods_NAME.csv` and `pods_NAME.csv.gz` of a directory, by name.
fn workload_files(directory: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let unread = |error| format!("cannot read {}: {error}", directory.display());
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
        let directory = directory.display();
        return Err(format!(
            "{directory} has no workloads: each is a file pods_NAME.csv or pods_NAME.csv.gz"
        ));
    }
    Ok(files)
}

/// Opens a file, and unpacks it if its name says that it is compressed.
fn open(path: &Path) -> Result<Box<dyn Read>, String> {
    let file = File::open(path).map_err(|error| format!("cannot open {}: {error}", path.display()))?;
    let file = BufReader::new(file);
    let is_packed = path.extension().is_some_and(|extension| extension == "gz");
    Ok(if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

fn wrong(path: &Path, error: &TraceError) -> String {
    format!("{}: line {}: {}", path.display(), error.line, error.wrong)
}
