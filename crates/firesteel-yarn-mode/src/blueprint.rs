//! The blueprint: the JSON file with the instructions for an ApplicationMaster. The client stages it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use firesteel_placement::advanced::locality::Topology;
use serde::{Deserialize, Serialize};

use super::staging::SharedPath;

/// The name of the file in the container of an ApplicationMaster.
pub const FILE: &str = "__firesteel__.json";

/// The name of the binary in every container: the name of its [`LocalFile`].
pub const BINARY: &str = "firesteel";

/// All data that an ApplicationMaster needs at its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blueprint {
    pub name: String,
    /// The submitting user. Containers find the name in `SPARK_USER`.
    pub user: String,
    /// The place where the application's driver runs.
    pub deploy: Deploy,
    /// The application's properties, by Spark's names.
    pub properties: BTreeMap<String, String>,
    /// The part of Hadoop's configuration that the ApplicationMaster needs.
    pub hadoop: Hadoop,
    /// The files in executors' directories, including the binary ([`BINARY`]).
    pub files: Vec<LocalFile>,
    /// The variables that are added to the environment of executors. Variables that the driver sets take
    /// precedence.
    pub environment: BTreeMap<String, String>,
    /// The users and groups that may view the containers' logs, in YARN's syntax (`"ann,bob staff"`, `"*"`). `None`:
    /// only the submitting user.
    pub view_acl: Option<String>,
    /// The users and groups that may end the containers, in the same syntax.
    pub modify_acl: Option<String>,
    /// The staging directory, to be deleted when the application is over. `None` if nothing was staged, if the
    /// directory is to be kept, or if the client deletes it.
    pub staging: Option<SharedPath>,
    /// The number of attempts in all, at least 1.
    pub max_attempts: u32,
    /// The racks of hosts, in agreement with the ResourceManager.
    pub racks: Racks,
}

/// The place where an application's driver runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Deploy {
    /// The driver runs on the machine where the application was submitted. The ApplicationMaster runs in a container.
    Client,
    /// The driver and the ApplicationMaster run in the submitting process, outside any container.
    Unmanaged,
    /// The ApplicationMaster runs in a container and starts the driver there.
    Cluster(Program),
}

/// The program of an application in cluster mode: `firesteel` with these arguments. The variable `MASTER` contains the
/// address of the program's Master.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The program's arguments, such as `map`, `--`, `gzip`.
    pub arguments: Vec<String>,
    pub environment: BTreeMap<String, String>,
    /// The file for the program's standard input, by its name in the container. `None`: the program has no standard
    /// input.
    pub input: Option<String>,
    /// The file for the program's standard output: a path at which the ApplicationMaster's host can write. `None`: the
    /// container's log.
    pub output: Option<PathBuf>,
}

/// The part of Hadoop's configuration that an ApplicationMaster needs. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hadoop {
    /// The addresses of ResourceManagers for ApplicationMasters, `host:port`. Several if there are standby
    /// ResourceManagers (`yarn.resourcemanager.scheduler.address`).
    pub schedulers: Vec<String>,
    /// How long an ApplicationMaster may be silent before the ResourceManager considers it dead
    /// (`yarn.am.liveness-monitor.expiry-interval-ms`).
    pub expiry: u64,
    /// The retry limit for a ResourceManager that cannot be reached
    /// (`yarn.resourcemanager.connect.max-wait.ms`).
    pub resource_manager_patience: u64,
    /// The retry limit for a NodeManager that cannot be reached
    /// (`yarn.client.nodemanager-connect.max-wait-ms`).
    pub node_manager_patience: u64,
    /// Whether NodeManagers' pages are encrypted (`yarn.http.policy` is `HTTPS_ONLY`).
    pub https: bool,
}

impl Default for Hadoop {
    /// Hadoop's defaults, with an empty list of ResourceManagers.
    fn default() -> Self {
        Self {
            schedulers: Vec::new(),
            expiry: 900_000,
            resource_manager_patience: 900_000,
            node_manager_patience: 180_000,
            https: false,
        }
    }
}

/// A file that a NodeManager copies to a container. The copy fails if the file has changed since it was staged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalFile {
    /// The name of the file in the container.
    pub name: String,
    /// The URL of the file: `file:///shared/staging/x`, `hdfs://host:port/x`.
    pub url: String,
    /// The file's size in bytes.
    pub size: u64,
    /// The file's exact modification time, in milliseconds since 1970.
    pub timestamp: u64,
    pub kind: LocalKind,
    /// Who else may use the copy of the file.
    pub visibility: Visibility,
}

/// Whether a file is unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LocalKind {
    File,
    /// The archive is unpacked into a directory.
    Archive,
}

/// Who else may use a file that was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Visibility {
    /// Everybody may use the copy, because everybody can read the original.
    Public,
    /// All applications of the same user may use the copy.
    Private,
    /// Only this application may use the copy.
    Application,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Racks {
    pub hosts: BTreeMap<String, String>,
    /// The rack of all other hosts; in Hadoop, this is `/default-rack`. `None`: the other hosts have no rack.
    pub default: Option<String>,
}

impl Racks {
    #[must_use]
    pub fn topology(&self) -> Topology {
        let rows = self.hosts.iter().map(|(host, rack)| (host.clone(), rack.clone()));
        let topology: Topology = rows.collect();
        match &self.default {
            Some(rack) => topology.with_default_rack(rack),
            None => topology,
        }
    }
}

/// Why a blueprint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BlueprintError {
    #[error("the blueprint {path}: {error}")]
    Read { path: PathBuf, error: io::Error },
    #[error("cannot decode the blueprint {path}: {error}")]
    Malformed { path: PathBuf, error: serde_json::Error },
    #[error("the blueprint {path} names no ResourceManager")]
    Nowhere { path: PathBuf },
}

impl Blueprint {
    /// The bytes of the file.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("its maps have names for keys");
        bytes.push(b'\n');
        bytes
    }

    /// Reads a blueprint from a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a usable blueprint.
    pub fn read(path: &Path) -> Result<Self, BlueprintError> {
        let bytes = fs::read(path).map_err(|error| BlueprintError::Read { path: path.to_owned(), error })?;
        let blueprint: Self = serde_json::from_slice(&bytes)
            .map_err(|error| BlueprintError::Malformed { path: path.to_owned(), error })?;
        match blueprint.hadoop.schedulers.is_empty() {
            true => Err(BlueprintError::Nowhere { path: path.to_owned() }),
            false => Ok(blueprint),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A blueprint with a value in every field.
    pub(crate) fn blueprint() -> Blueprint {
        let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        Blueprint {
            name: "sums".to_owned(),
            user: "ann".to_owned(),
            deploy: Deploy::Cluster(Program {
                arguments: ["map", "--", "gzip"].map(str::to_owned).to_vec(),
                environment: pairs(&[("LANG", "C")]),
                input: Some("__input__".to_owned()),
                output: Some("/shared/sums".into()),
            }),
            properties: pairs(&[("spark.executor.cores", "2")]),
            hadoop: Hadoop { schedulers: vec!["127.0.0.1:8030".to_owned()], ..Hadoop::default() },
            files: vec![LocalFile {
                name: BINARY.to_owned(),
                url: "file:///shared/.firesteelStaging/application_1700000000123_0007/firesteel".to_owned(),
                size: 12_345_678,
                timestamp: 1_795_209_755_042,
                kind: LocalKind::File,
                visibility: Visibility::Private,
            }],
            environment: pairs(&[("COLOUR", "red")]),
            view_acl: Some("ann staff".to_owned()),
            modify_acl: None,
            staging: Some(SharedPath::local(Path::new(
                "/shared/.firesteelStaging/application_1700000000123_0007",
            ))),
            max_attempts: 2,
            racks: Racks {
                hosts: pairs(&[("127.0.0.2", "/rack1")]),
                default: Some("/default-rack".to_owned()),
            },
        }
    }

    #[test]
    fn a_blueprint_that_was_written_is_read_back() {
        let directory = tempfile::TempDir::new().expect("a directory");
        let path = directory.path().join(FILE);
        let written = blueprint();
        for deploy in [Deploy::Client, Deploy::Unmanaged, written.deploy.clone()] {
            let written = Blueprint { deploy, ..written.clone() };
            fs::write(&path, written.to_json()).expect("there is room");
            assert_eq!(Blueprint::read(&path).expect("it is one"), written);
        }
        let topology = written.racks.topology();
        assert_eq!(topology.rack("127.0.0.2"), Some("/rack1"));
        assert_eq!(topology.rack("127.0.0.9"), Some("/default-rack"));
    }

    #[test]
    fn what_is_no_blueprint_is_told() {
        let directory = tempfile::TempDir::new().expect("a directory");
        let path = directory.path().join(FILE);
        let said = || Blueprint::read(&path).expect_err("it is none").to_string();
        assert!(said().ends_with("No such file or directory (os error 2)"), "{}", said());
        fs::write(&path, "{}").expect("there is room");
        assert!(said().contains("json: missing field `name`"), "{}", said());
        let nowhere = Blueprint { hadoop: Hadoop::default(), ..blueprint() };
        fs::write(&path, nowhere.to_json()).expect("there is room");
        assert!(said().ends_with("names no ResourceManager"), "{}", said());
    }
}
