//! A real HDFS beside the cluster: a NameNode and a DataNode of Hadoop, one process each.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use firesteel_testkit::component::{Component, Readiness};
use firesteel_testkit::ports::free_port;
use firesteel_testkit::yarn::YarnCluster;
use firesteel_testkit::yarn::daemon::{Daemon, Kind, Properties, SUPERUSER};
use firesteel_testkit::yarn::shared;
use hdfs_native::WriteOptions;
use hdfs_native::client::FileStatus;
use hdfs_native::sync::{Client, ClientBuilder};

/// The directory of applications' staging directories.
pub(crate) const STAGING: &str = "/user/alice/.firesteelStaging";

/// The tests' component: a cluster with an HDFS.
pub(crate) const YARN_AND_HDFS: Component =
    Component { name: shared::YARN.name, look: shared::can_start, prepare };

/// The time limit until files can be written.
const LONGEST: Duration = Duration::from_secs(180);

/// An HDFS that runs as long as the cluster, in the cluster's directory.
pub(crate) struct Hdfs {
    /// `hdfs://HOST:PORT`.
    pub(crate) url: String,
    /// The configuration directory for clients with this HDFS as default file system: `HADOOP_CONF_DIR`.
    configuration: PathBuf,
    name_node: Daemon,
    data_node: Daemon,
}

static HDFS: Mutex<Beside> = Mutex::new(Beside::NotStarted);

enum Beside {
    NotStarted,
    Up(Hdfs),
    /// It did not start, for this reason.
    Down(String),
}

/// Waits until the cluster and its HDFS are ready; starts whatever does not run.
fn prepare() -> Readiness {
    let mut hdfs = hdfs();
    if let Beside::Down(reason) = &*hdfs {
        return Readiness::NotRun(shared::not_run("HDFS", reason));
    }
    match shared::prepare() {
        Readiness::Ready => {}
        other @ (Readiness::Failed(_) | Readiness::NotRun(_)) => return other,
    }
    shared::with(|cluster| {
        if let Beside::Up(up) = &mut *hdfs
            && up.configuration.starts_with(cluster.directory())
            && up.wait_until_up().is_ok()
        {
            return Readiness::Ready;
        }
        *hdfs = Beside::NotStarted;
        match Hdfs::start(cluster) {
            Ok(up) => {
                *hdfs = Beside::Up(up);
                Readiness::Ready
            }
            Err(reason) => {
                *hdfs = Beside::Down(reason.clone());
                Readiness::Failed(reason)
            }
        }
    })
}

/// Uses the cluster and its HDFS, which are ready.
pub(crate) fn with(what: impl FnOnce(&YarnCluster, &Hdfs)) {
    shared::with(|cluster| {
        let hdfs = hdfs();
        let Beside::Up(up) = &*hdfs else { panic!("no test runs before HDFS is up") };
        what(cluster, up);
    });
}

fn hdfs() -> MutexGuard<'static, Beside> {
    HDFS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hdfs {
    /// Starts an HDFS with alice's home directory, and waits until files can be written.
    ///
    /// # Errors
    /// A process cannot be started, or has ended, or the start takes too long.
    fn start(cluster: &YarnCluster) -> Result<Self, String> {
        let mut hdfs = Self::launch(cluster).map_err(|error| error.to_string())?;
        hdfs.wait_until_up()?;
        let client = hdfs.client();
        client.mkdirs("/user/alice", 0o755, true).map_err(|error| error.to_string())?;
        client.set_owner("/user/alice", Some("alice"), Some("users")).map_err(|error| error.to_string())?;
        Ok(hdfs)
    }

    fn launch(cluster: &YarnCluster) -> io::Result<Self> {
        let directory = cluster.directory();
        let url = format!("hdfs://127.0.0.1:{}", free_port());
        let inside = |name: &str| format!("file://{}", directory.join(name).display());
        let anywhere = "127.0.0.1:0".to_owned();
        let properties: Properties = vec![
            ("fs.defaultFS", url.clone()),
            ("hadoop.tmp.dir", directory.join("hdfs").display().to_string()),
            ("dfs.namenode.name.dir", inside("names")),
            ("dfs.namenode.http-address", anywhere.clone()),
            ("dfs.datanode.data.dir", inside("data")),
            ("dfs.datanode.address", anywhere.clone()),
            ("dfs.datanode.http.address", anywhere.clone()),
            ("dfs.datanode.ipc.address", anywhere),
            ("dfs.replication", "1".to_owned()),
        ];
        let start =
            |kind, home: &str| Daemon::start(kind, &directory.join(home), &cluster.class_path, &properties);
        let (name_node, data_node) =
            (start(Kind::NameNode, "name-node")?, start(Kind::DataNode, "data-node")?);

        let configuration = directory.join("conf-hdfs");
        fs::create_dir_all(&configuration)?;
        for name in ["core-site.xml", "yarn-site.xml"] {
            let text = fs::read_to_string(cluster.configuration().join(name))?;
            fs::write(configuration.join(name), text.replace("file:///", &url))?;
        }
        Ok(Self { url, configuration, name_node, data_node })
    }

    /// Waits until files can be written.
    ///
    /// # Errors
    /// A process has ended, or it takes too long.
    fn wait_until_up(&mut self) -> Result<(), String> {
        let begun = Instant::now();
        let client = self.client();
        loop {
            if let Some(end) = [&mut self.name_node, &mut self.data_node].into_iter().find_map(Daemon::end) {
                return Err(end);
            }
            let options = WriteOptions::default().overwrite(true);
            let written = client.create("/is-there", options).and_then(|mut file| {
                file.write_bytes("yes".into())?;
                file.close()
            });
            match written {
                Ok(()) => return Ok(()),
                Err(error) if begun.elapsed() > LONGEST => {
                    let words = self.name_node.last_words() + &self.data_node.last_words();
                    return Err(format!("it takes no file after {LONGEST:?}: {error}\n{words}"));
                }
                Err(_) => thread::park_timeout(Duration::from_millis(50)),
            }
        }
    }

    /// A client of the superuser.
    pub(crate) fn client(&self) -> Client {
        let client = ClientBuilder::new().with_url(&self.url).with_user(SUPERUSER);
        client.build().expect("it is an address")
    }

    /// The contents of a directory; empty if it does not exist.
    pub(crate) fn list(&self, path: &str) -> Vec<FileStatus> {
        self.client().list_status(path, false).unwrap_or_default()
    }

    /// Makes this HDFS the default for a command's files.
    pub(crate) fn by_default(&self, command: &mut Command) {
        command.env("HADOOP_CONF_DIR", &self.configuration);
    }
}
