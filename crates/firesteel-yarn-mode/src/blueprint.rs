//! What an ApplicationMaster is told: a file of JSON, which the client stages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use firesteel_placement::locality::Topology;
use serde::{Deserialize, Serialize};

use super::staging::Place;

/// What the file is called in the container of an ApplicationMaster.
pub const FILE: &str = "__firesteel__.json";

/// What the binary is called in every container: the name of its [`LocalFile`].
pub const BINARY: &str = "firesteel";

/// All that an ApplicationMaster is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blueprint {
    /// The application's name, for people.
    pub name: String,
    /// Who submitted it. Containers find it as `SPARK_USER`.
    pub user: String,
    /// Where its driver is.
    pub deploy: Deploy,
    /// The application's properties, by Spark's names.
    pub properties: BTreeMap<String, String>,
    /// What of Hadoop's configuration it needs.
    pub hadoop: Hadoop,
    /// What executors find in their directories, the binary ([`BINARY`]) among it.
    pub files: Vec<LocalFile>,
    /// What is added to the environment of executors; what the driver asks for wins over it.
    pub environment: BTreeMap<String, String>,
    /// Who may look at the containers' logs, and who may end them: users, then groups, as YARN writes it
    /// (`"ann,bob staff"`, `"*"`). `None`: only who submitted it.
    pub view_acl: Option<String>,
    /// The same for changing.
    pub modify_acl: Option<String>,
    /// The directory to delete when the application is over for good. `None`: nothing was staged, or it is to be kept, or
    /// whoever submitted it deletes it.
    pub staging: Option<Place>,
    /// How many attempts there are in all, at least 1.
    pub max_attempts: u32,
    /// Racks by host, as the ResourceManager sees them.
    pub racks: Racks,
}

/// Where an application's driver is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Deploy {
    /// Where it was submitted, and the ApplicationMaster in a container.
    Client,
    /// In the process of the ApplicationMaster's, which no container holds.
    Unmanaged,
    /// Beside the ApplicationMaster, which starts it.
    Cluster(Program),
}

/// The program of an application in cluster mode: `firesteel` with these arguments. It finds its Master in the variable
/// `MASTER`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its arguments, such as `map`, `--`, `gzip`.
    pub arguments: Vec<String>,
    /// What is added to its environment.
    pub environment: BTreeMap<String, String>,
    /// The file that is its standard input, by its name in the container. `None`: it has none.
    pub input: Option<String>,
    /// Where its standard output goes: a path that the ApplicationMaster's host can write. `None`: to the container's log.
    pub output: Option<PathBuf>,
}

/// What an ApplicationMaster needs of Hadoop's configuration. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hadoop {
    /// Where ResourceManagers take ApplicationMasters, `host:port`; several where there are standbys
    /// (`yarn.resourcemanager.scheduler.address`).
    pub schedulers: Vec<String>,
    /// An ApplicationMaster that is silent for so long is given up (`yarn.am.liveness-monitor.expiry-interval-ms`).
    pub expiry: u64,
    /// A ResourceManager that cannot be reached is tried for so long (`yarn.resourcemanager.connect.max-wait.ms`).
    pub resource_manager_patience: u64,
    /// And a NodeManager (`yarn.client.nodemanager-connect.max-wait-ms`).
    pub node_manager_patience: u64,
    /// Whether NodeManagers' pages are encrypted (`yarn.http.policy` is `HTTPS_ONLY`).
    pub https: bool,
}

impl Default for Hadoop {
    /// Hadoop's defaults, and no ResourceManager.
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

/// A file that a NodeManager brings to a container. It must be as it was when it was staged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalFile {
    /// What it is called in the container.
    pub name: String,
    /// Where it is: `file:///shared/staging/x`, `hdfs://host:port/x`.
    pub url: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was changed last, in milliseconds since 1970: exactly.
    pub timestamp: u64,
    /// Whether it is unpacked.
    pub kind: LocalKind,
    /// Who else may use what was brought.
    pub visibility: Visibility,
}

/// Whether a file is unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LocalKind {
    /// It is a file.
    File,
    /// It becomes a directory.
    Archive,
}

/// Who else may use a file that was brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Visibility {
    /// Everybody: the file can be read by everybody where it is.
    Public,
    /// All applications of the user.
    Private,
    /// This application.
    Application,
}

/// Which host is in which rack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Racks {
    /// The rack of each host that has one.
    pub hosts: BTreeMap<String, String>,
    /// The rack of all others; Hadoop's is `/default-rack`. `None`: they have none.
    pub default: Option<String>,
}

impl Racks {
    /// The same as a topology.
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

/// A blueprint that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BlueprintError {
    /// It cannot be read.
    #[error("the blueprint {path}: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's words.
        error: io::Error,
    },
    /// It is none.
    #[error("cannot decode the blueprint {path}: {error}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        error: serde_json::Error,
    },
    /// It names no ResourceManager.
    #[error("the blueprint {path} names no ResourceManager")]
    Nowhere {
        /// The file.
        path: PathBuf,
    },
}

impl Blueprint {
    /// The bytes of the file.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("its maps have names for keys");
        bytes.push(b'\n');
        bytes
    }

    /// Reads the file.
    ///
    /// # Errors
    /// It cannot be read, or is no blueprint that can be used.
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

    /// One with something in every field.
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
            staging: Some(Place::local(Path::new(
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
        assert!(said().contains("is none: missing field `name`"), "{}", said());
        let nowhere = Blueprint { hadoop: Hadoop::default(), ..blueprint() };
        fs::write(&path, nowhere.to_json()).expect("there is room");
        assert!(said().ends_with("names no ResourceManager"), "{}", said());
    }
}
