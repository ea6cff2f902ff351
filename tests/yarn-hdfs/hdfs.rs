//! A real HDFS beside the cluster: a NameNode and a DataNode of Hadoop's, a process each.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use hdfs_native::WriteOptions;
use hdfs_native::client::FileStatus;
use hdfs_native::sync::{Client, ClientBuilder};

use crate::cluster::daemon::{Daemon, Kind, Properties, SUPERUSER};
use crate::cluster::{YarnCluster, free_ports};
use crate::ground::wait;
use crate::shared;

/// Where applications have their directories.
pub(crate) const STAGING: &str = "/user/alice/.firesteelStaging";

/// One that runs as long as the cluster does, in whose directory it is.
pub(crate) struct Hdfs {
    /// `hdfs://HOST:PORT`.
    pub(crate) url: String,
    /// The directory with the configuration of clients for whom it is the default: `HADOOP_CONF_DIR`.
    configuration: PathBuf,
    name_node: Daemon,
    data_node: Daemon,
}

static HDFS: Mutex<Option<Hdfs>> = Mutex::new(None);

/// Does something with the cluster and its HDFS.
pub(crate) fn with(what: impl FnOnce(&YarnCluster, &Hdfs)) {
    shared::with(|cluster| {
        let mut hdfs = HDFS.lock().unwrap_or_else(PoisonError::into_inner);
        what(cluster, hdfs.get_or_insert_with(|| Hdfs::start(cluster).expect("its processes start")));
    });
}

impl Hdfs {
    /// Starts one, and waits until files can be written. It has a home directory of alice's.
    fn start(cluster: &YarnCluster) -> io::Result<Self> {
        let directory = cluster.directory();
        let url = format!("hdfs://127.0.0.1:{}", free_ports(1)?[0]);
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
        fs::create_dir(&configuration)?;
        for name in ["core-site.xml", "yarn-site.xml"] {
            let text = fs::read_to_string(cluster.configuration().join(name))?;
            fs::write(configuration.join(name), text.replace("file:///", &url))?;
        }
        let hdfs = Self { url, configuration, name_node, data_node };
        hdfs.settle();
        Ok(hdfs)
    }

    fn settle(&self) {
        let client = self.client();
        wait("HDFS to take files", || {
            let options = WriteOptions::default().overwrite(true);
            let written = client.create("/is-there", options).and_then(|mut file| {
                file.write_bytes("yes".into())?;
                file.close()
            });
            if let Err(error) = &written {
                eprintln!("not yet: {}", error.to_string().lines().next().unwrap_or_default());
            }
            written.ok()
        });
        client.mkdirs("/user/alice", 0o755, true).expect("it may do everything");
        client.set_owner("/user/alice", Some("alice"), Some("users")).expect("it may do everything");
    }

    /// Somebody who may do everything.
    pub(crate) fn client(&self) -> Client {
        let client = ClientBuilder::new().with_url(&self.url).with_user(SUPERUSER);
        client.build().expect("it is an address")
    }

    /// What is in a directory; nothing if there is none.
    pub(crate) fn list(&self, path: &str) -> Vec<FileStatus> {
        self.client().list_status(path, false).unwrap_or_default()
    }

    /// Has a command's files go there.
    pub(crate) fn by_default(&self, command: &mut Command) {
        command.env("HADOOP_CONF_DIR", &self.configuration);
    }
}

impl Drop for Hdfs {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}{}", self.name_node.last_words(), self.data_node.last_words());
        }
    }
}
