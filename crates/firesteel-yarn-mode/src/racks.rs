//! The racks of hosts, from Hadoop's configuration.
//!
//! A table lists addresses; host names are resolved to addresses first. A script gets hosts as arguments, and prints a
//! rack for each host. Hosts without a rack in the table or from the script are in [`DEFAULT_RACK`]. The racks must
//! agree with those of the ResourceManager, so the racks that it reports for its nodes take precedence.
//!
//! Source: Hadoop 3.4.1, `TableMapping` and `ScriptBasedMapping`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use firesteel_placement::advanced::locality::Topology;

use super::hadoop_conf::{HadoopConf, HadoopConfError};

/// The rack of hosts for which no other rack is known.
pub const DEFAULT_RACK: &str = "/default-rack";

/// The number of hosts that a script gets per run. Source: Hadoop 3.4.1, `net.topology.script.number.args`.
const AT_ONCE: u64 = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Racks {
    /// The configuration names no source: all hosts are in [`DEFAULT_RACK`].
    None,
    Table(BTreeMap<String, String>),
    Script {
        path: PathBuf,
        /// The number of hosts per run of the script.
        at_once: usize,
    },
}

/// Why racks cannot be determined.
#[derive(Debug, thiserror::Error)]
pub enum RackError {
    #[error(transparent)]
    Conf(#[from] HadoopConfError),
    #[error("net.topology.table.file.name: cannot read {}: {error}", path.display())]
    Table { path: PathBuf, error: io::Error },
    /// The script cannot be run, or fails.
    #[error("net.topology.script.file.name: {}: {why}", path.display())]
    Script { path: PathBuf, why: String },
}

impl Racks {
    /// The source of racks in the configuration.
    ///
    /// # Errors
    /// The configuration cannot be read, or the table does not exist.
    pub fn of(conf: &HadoopConf) -> Result<Self, RackError> {
        let mapping = conf.get("net.topology.node.switch.mapping.impl")?.unwrap_or_default();
        if mapping.ends_with("TableMapping") {
            let Some(path) = conf.get("net.topology.table.file.name")?.map(PathBuf::from) else {
                return Ok(Self::None);
            };
            let text = std::fs::read_to_string(&path).map_err(|error| RackError::Table { path, error })?;
            return Ok(Self::Table(rows(&text)));
        }
        let Some(path) = conf.get("net.topology.script.file.name")?.map(PathBuf::from) else {
            return Ok(Self::None);
        };
        let at_once = conf.count("net.topology.script.number.args")?.unwrap_or(AT_ONCE).max(1);
        Ok(Self::Script { path, at_once: usize::try_from(at_once).unwrap_or(usize::MAX) })
    }

    /// The racks of these hosts, and of the hosts in the table. `told` contains the racks that a ResourceManager
    /// reports for its nodes.
    ///
    /// # Errors
    /// The script cannot be run, or fails.
    pub fn topology(
        &self,
        hosts: &BTreeSet<String>,
        told: &BTreeMap<String, String>,
    ) -> Result<Topology, RackError> {
        let asked: Vec<&String> = hosts.iter().filter(|host| !told.contains_key(*host)).collect();
        let mut racks = match self {
            Self::None => BTreeMap::new(),
            Self::Table(rows) => {
                let named = asked.into_iter().filter_map(|host| {
                    let rack = addresses(host).into_iter().find_map(|address| rows.get(&address))?;
                    Some((host.clone(), rack.clone()))
                });
                rows.clone().into_iter().chain(named).collect()
            }
            Self::Script { path, at_once } => {
                let mut racks = BTreeMap::new();
                for some in asked.chunks(*at_once) {
                    racks.extend(run_script(path, some)?);
                }
                racks
            }
        };
        racks.extend(told.clone());
        Ok(Topology::from_iter(racks).with_default_rack(DEFAULT_RACK))
    }
}

/// The lines of a table that consist of an address and a rack. Other lines are skipped, as in Hadoop.
fn rows(text: &str) -> BTreeMap<String, String> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(address), Some(rack), None) if !address.starts_with('#') => {
                Some((address.to_owned(), rack.to_owned()))
            }
            _ => None,
        }
    };
    text.lines().filter_map(row).collect()
}

fn addresses(host: &str) -> Vec<String> {
    let found = (host, 0).to_socket_addrs();
    found.map(|all| all.map(|address| address.ip().to_string()).collect()).unwrap_or_default()
}

fn run_script(path: &Path, hosts: &[&String]) -> Result<BTreeMap<String, String>, RackError> {
    let fail = |why: String| RackError::Script { path: path.to_owned(), why };
    let Output { status, stdout, stderr } = Command::new(path)
        .args(hosts)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| fail(format!("cannot be run: {error}")))?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        let said = said.lines().next().map(|line| format!(", saying {line:?}")).unwrap_or_default();
        return Err(fail(format!("ended with {status}{said}")));
    }
    let said = String::from_utf8_lossy(&stdout);
    let racks: Vec<&str> = said.split_whitespace().collect();
    if racks.len() != hosts.len() {
        return Err(fail(format!("printed {} racks for {} hosts", racks.len(), hosts.len())));
    }
    Ok(hosts.iter().map(|host| (*host).clone()).zip(racks.into_iter().map(str::to_owned)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn racks(pairs: &[(&str, &str)]) -> Racks {
        Racks::of(&HadoopConf::of(pairs.iter().copied())).expect("it can be read")
    }

    fn told(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(host, rack)| ((*host).to_owned(), (*rack).to_owned())).collect()
    }

    fn script(text: &str) -> tempfile::TempPath {
        let path = tempfile::NamedTempFile::new().expect("a file").into_temp_path();
        // Another process writes the script. If this process wrote it, a test that forks at the same time
        // would keep the file open, and the script could not be run.
        let written = Command::new("sh")
            .args(["-c", "printf '%s\\n' '#!/bin/sh' \"$2\" > \"$1\" && chmod 700 \"$1\"", "sh"])
            .arg(&path)
            .arg(text)
            .status();
        assert!(written.expect("a shell").success());
        path
    }

    #[test]
    fn without_a_word_all_hosts_share_a_rack() {
        let topology = racks(&[]).topology(&hosts(&["a"]), &BTreeMap::new()).expect("nothing is asked");
        assert_eq!((topology.rack("a"), topology.rack("b")), (Some(DEFAULT_RACK), Some(DEFAULT_RACK)));
    }

    #[test]
    fn a_table_has_addresses_and_a_named_host_is_found_by_its_own() {
        let table = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(table.path(), "# racks\n127.0.0.1 /r1\n127.0.0.2\t/r2\nonly-one\na b c\n")
            .expect("written");
        let path = table.path().display().to_string();
        let racks = racks(&[
            ("net.topology.node.switch.mapping.impl", "org.apache.hadoop.net.TableMapping"),
            ("net.topology.table.file.name", &path),
        ]);
        let told = told(&[("127.0.0.2", "/told")]);
        let topology = racks.topology(&hosts(&["localhost", "127.0.0.9"]), &told).expect("a table");
        let rack = |host| topology.rack(host).expect("there is one for all");
        assert_eq!((rack("127.0.0.1"), rack("localhost")), ("/r1", "/r1"));
        assert_eq!((rack("127.0.0.2"), rack("127.0.0.9")), ("/told", DEFAULT_RACK));
    }

    #[test]
    fn a_script_is_given_several_hosts_at_once() {
        let calls = tempfile::NamedTempFile::new().expect("a file");
        let script =
            script(&format!("echo $# >> {}; for h; do echo /rack-of-$h; done", calls.path().display()));
        let path = script.display().to_string();
        let racks =
            racks(&[("net.topology.script.file.name", &path), ("net.topology.script.number.args", "2")]);
        let known = told(&[("d", "/told")]);
        let topology = racks.topology(&hosts(&["a", "b", "c", "d"]), &known).expect("it runs");
        assert_eq!((topology.rack("c"), topology.rack("d")), (Some("/rack-of-c"), Some("/told")));
        let calls = std::fs::read_to_string(calls.path()).expect("written");
        assert_eq!(calls, "2\n1\n", "what the ResourceManager told is not asked");
    }

    #[test]
    fn a_script_that_fails_is_told() {
        let said = |path: &str| {
            let racks = racks(&[("net.topology.script.file.name", path)]);
            racks.topology(&hosts(&["a", "b"]), &BTreeMap::new()).expect_err("it fails").to_string()
        };
        let failing = script("echo no such host >&2; exit 3");
        let failing = said(&failing.display().to_string());
        assert!(failing.ends_with("ended with exit status: 3, saying \"no such host\""), "{failing}");
        let short = script("echo /r");
        let short = said(&short.display().to_string());
        assert!(short.ends_with("printed 1 racks for 2 hosts"), "{short}");
        let none = said("/nowhere/racks");
        assert!(none.starts_with("net.topology.script.file.name: /nowhere/racks: cannot be run: "), "{none}");
    }
}
