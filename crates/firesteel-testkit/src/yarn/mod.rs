//! A real YARN cluster: a ResourceManager and three NodeManagers of Hadoop, one process each, on 127.0.0.1 to 127.0.0.4
//! and free ports.
//!
//! Each process is started by a POSIX shell, whose standard input is a pipe from the test. When this pipe is closed,
//! the shell ends the process. So no process is left behind, however the test ends. Processes in containers end
//! together with the cluster.
//!
//! The ResourceManager stores its applications in files, so that it can be killed and restarted. Nodes count as lost
//! after six silent seconds, and ApplicationMasters after thirty silent seconds.

pub mod daemon;
mod page;
pub mod shared;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::maven;
use crate::ports::free_port;
use crate::wait::poll;

use daemon::{Daemon, Kind, Properties, kill, processes_within, write_configuration};

/// The hosts of the NodeManagers, with their racks. A NodeManager registers under its address, because it has no name.
pub const NODES: [(&str, &str); 3] =
    [("127.0.0.2", "/rack1"), ("127.0.0.3", "/rack1"), ("127.0.0.4", "/rack2")];

/// The time limit for the cluster to start, or to notice a lost node.
const LONGEST: Duration = Duration::from_secs(180);

/// Each node's memory for containers, in MiB.
pub const NODE_MEMORY: u64 = 2048;

/// The node with resources other than memory and cores: its host, its number of licences, and its number of gpus.
pub const RICH_NODE: (&str, u32, u32) = ("127.0.0.4", 4, 2);

/// A label that a node may have and queues may use.
pub const LABEL: &str = "gold";

/// A cluster that runs until it is dropped.
pub struct YarnCluster {
    /// The address of the ResourceManager for clients: `host:port`.
    pub resource_manager: String,
    /// The address of the ResourceManager for ApplicationMasters: `host:port`.
    pub scheduler: String,
    /// The address of the ResourceManager's pages.
    pub pages: String,
    /// The class path of Hadoop's jars.
    pub class_path: String,
    manager: Daemon,
    nodes: BTreeMap<&'static str, Daemon>,
    directory: TempDir,
}

/// The jars of Hadoop, as Maven finds them.
///
/// # Errors
/// Java or Maven is missing, or Maven cannot get the jars.
pub fn class_path() -> Result<String, String> {
    maven::class_path("tests/yarn/pom.xml")
}

impl YarnCluster {
    /// Starts a cluster with these jars, and waits until it is ready.
    ///
    /// # Errors
    /// A process cannot be started, or has ended, or the start takes too long.
    pub fn start(class_path: &str) -> Result<Self, String> {
        let mut cluster = Self::launch(class_path).map_err(|error| error.to_string())?;
        cluster.wait_until_up()?;
        Ok(cluster)
    }

    /// Waits until the ResourceManager's pages answer, and all nodes are active.
    ///
    /// # Errors
    /// A process has ended, or the start takes too long.
    pub fn wait_until_up(&mut self) -> Result<(), String> {
        let pages = self.pages.clone();
        let up = poll(LONGEST, || match self.daemons().find_map(Daemon::end) {
            Some(end) => Some(Err(end)),
            None => (page::active_nodes(&pages) == Some(NODES.len())).then_some(Ok(())),
        });
        up.unwrap_or_else(|| Err(format!("it is not up after {LONGEST:?}\n{}", self.last_words())))
    }

    fn daemons(&mut self) -> impl Iterator<Item = &mut Daemon> {
        [&mut self.manager].into_iter().chain(self.nodes.values_mut())
    }

    fn launch(class_path: &str) -> io::Result<Self> {
        let directory = TempDir::new()?;
        let racks = directory.path().join("racks");
        let rows: String = NODES.iter().map(|(host, rack)| format!("{host} {rack}\n")).collect();
        fs::write(&racks, rows)?;
        let address = || format!("127.0.0.1:{}", free_port());
        let (resource_manager, scheduler, pages) = (address(), address(), address());
        let common = vec![
            ("net.topology.node.switch.mapping.impl", "org.apache.hadoop.net.TableMapping".to_owned()),
            ("net.topology.table.file.name", racks.display().to_string()),
            ("fs.defaultFS", "file:///".to_owned()),
            ("yarn.resourcemanager.hostname", "127.0.0.1".to_owned()),
            ("yarn.resourcemanager.address", resource_manager.clone()),
            ("yarn.resourcemanager.scheduler.address", scheduler.clone()),
            ("yarn.resourcemanager.resource-tracker.address", address()),
            ("yarn.resourcemanager.admin.address", address()),
            ("yarn.resourcemanager.webapp.address", pages.clone()),
            ("yarn.resourcemanager.am.max-attempts", "2".to_owned()),
            // The resources of containers besides memory and cores.
            ("yarn.resource-types", "licence,yarn.io/gpu".to_owned()),
            // Hadoop's own clients wait for half a minute before a retry.
            ("yarn.resourcemanager.connect.retry-interval.ms", "500".to_owned()),
        ];
        let clients = directory.path().join("conf");
        fs::create_dir(&clients)?;
        write_configuration(&clients, &common)?;

        let home = directory.path().join("resource-manager");
        let properties = common.iter().cloned().chain(of_resource_manager(&home)).collect();
        let manager = Daemon::start(Kind::ResourceManager, &home, class_path, &properties)?;
        let mut nodes = BTreeMap::new();
        for (host, _) in NODES {
            let home = directory.path().join(host);
            let properties = common.iter().cloned().chain(of_node(host, &home)).collect();
            nodes.insert(host, Daemon::start(Kind::NodeManager, &home, class_path, &properties)?);
        }
        let class_path = class_path.to_owned();
        Ok(Self { resource_manager, scheduler, pages, class_path, manager, nodes, directory })
    }

    /// The directory with Hadoop's configuration for clients, for the variable `HADOOP_CONF_DIR`.
    pub fn configuration(&self) -> PathBuf {
        self.directory.path().join("conf")
    }

    /// The cluster's own directory, which every node can read.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Simulates the loss of a machine: kills its NodeManager and its containers' processes with SIGKILL.
    pub fn lose_node(&mut self, host: &str) {
        let node = self.nodes.get_mut(host).expect("it is one of the nodes");
        node.kill();
        kill(&processes_within(node.home()));
    }

    /// Brings a lost machine back once the ResourceManager knows of the loss. The machine no longer knows its earlier
    /// containers. Returns when the machine is active.
    ///
    /// # Errors
    /// The machine does not become active.
    pub fn bring_back_node(&mut self, host: &str) -> Result<(), String> {
        poll(LONGEST, || (page::is_active(&self.pages, host) == Some(false)).then_some(())).ok_or_else(
            || format!("after {LONGEST:?} the ResourceManager has not noticed that the node {host} is lost"),
        )?;
        let node = self.nodes.get_mut(host).expect("it is one of the nodes");
        node.start_again().map_err(|error| error.to_string())?;
        self.wait_until_up()
    }

    /// Kills the ResourceManager with SIGKILL.
    pub fn lose_resource_manager(&mut self) {
        self.manager.kill();
    }

    /// Restarts the ResourceManager from its files. Returns before nodes and ApplicationMasters have connected again. A
    /// node or ApplicationMaster that is silent for too long counts as lost.
    pub fn bring_back_resource_manager(&mut self) -> io::Result<()> {
        self.manager.start_again()
    }

    /// Kills containers' processes with SIGKILL.
    pub fn kill(&self, processes: &[u32]) {
        kill(processes);
    }

    /// The processes in a container on this host. `container` is a part of the container's id.
    pub fn processes_of(&self, host: &str, container: &str) -> Vec<u32> {
        let home = self.nodes.get(host).expect("it is one of the nodes").home();
        let inside = |id: &u32| {
            let current = fs::read_link(format!("/proc/{id}/cwd")).unwrap_or_default();
            current.to_string_lossy().contains(container)
        };
        processes_within(home).into_iter().filter(inside).collect()
    }

    /// The last lines of the daemons' output, for failure messages.
    pub fn last_words(&self) -> String {
        [&self.manager].into_iter().chain(self.nodes.values()).map(Daemon::last_words).collect()
    }
}

impl Drop for YarnCluster {
    fn drop(&mut self) {
        self.manager.kill();
        self.nodes.values_mut().for_each(Daemon::kill);
        kill(&processes_within(self.directory.path()));
    }
}

fn of_resource_manager(home: &Path) -> Properties {
    let own = [
        ("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", "200"),
        ("yarn.scheduler.minimum-allocation-mb", "128"),
        ("yarn.scheduler.maximum-allocation-mb", "2048"),
        ("yarn.scheduler.capacity.root.queues", "default"),
        ("yarn.scheduler.capacity.root.default.capacity", "100"),
        ("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0"),
        // All resources of containers count, not only memory.
        (
            "yarn.scheduler.capacity.resource-calculator",
            "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        ),
        ("yarn.node-labels.enabled", "true"),
        ("yarn.scheduler.capacity.root.accessible-node-labels.gold.capacity", "100"),
        ("yarn.scheduler.capacity.root.default.accessible-node-labels", LABEL),
        ("yarn.scheduler.capacity.root.default.accessible-node-labels.gold.capacity", "100"),
        // Users that are not in an application's lists must not be able to end it.
        ("yarn.acl.enable", "true"),
        ("yarn.admin.acl", "root"),
        ("yarn.scheduler.capacity.root.acl_submit_applications", "*"),
        ("yarn.scheduler.capacity.root.acl_administer_queue", " "),
        // A request waits for one report of a node before it is met in its racks, and for three (all nodes) before it
        // leaves them. Otherwise racks would count no more than any node.
        ("yarn.scheduler.capacity.node-locality-delay", "1"),
        ("yarn.scheduler.capacity.rack-locality-additional-delay", "100"),
        ("yarn.nm.liveness-monitor.expiry-interval-ms", "6000"),
        ("yarn.am.liveness-monitor.expiry-interval-ms", "30000"),
        ("yarn.resourcemanager.recovery.enabled", "true"),
        (
            "yarn.resourcemanager.store.class",
            "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore",
        ),
        ("yarn.resourcemanager.work-preserving-recovery.enabled", "true"),
        // The wait before new grants; Hadoop's default is ten seconds.
        ("yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "1000"),
    ];
    let inside = |name: &str| home.join(name).display().to_string();
    let mut properties: Properties = own.map(|(name, value)| (name, value.to_owned())).into();
    properties.push(("hadoop.tmp.dir", inside("tmp")));
    properties.push(("yarn.resourcemanager.fs.state-store.uri", format!("file://{}", inside("state"))));
    properties.push(("yarn.node-labels.fs-store.root-dir", format!("file://{}", inside("labels"))));
    properties
}

fn of_node(host: &str, home: &Path) -> Properties {
    let inside = |name: &str| home.join(name).display().to_string();
    let (licences, gpus) = match RICH_NODE {
        (rich, licences, gpus) if rich == host => (licences, gpus),
        _ => (0, 0),
    };
    vec![
        ("hadoop.tmp.dir", inside("tmp")),
        ("yarn.nodemanager.hostname", host.to_owned()),
        ("yarn.nodemanager.address", format!("{host}:0")),
        ("yarn.nodemanager.localizer.address", format!("{host}:0")),
        ("yarn.nodemanager.webapp.address", format!("{host}:0")),
        ("yarn.nodemanager.local-dirs", inside("local")),
        ("yarn.nodemanager.log-dirs", inside("logs")),
        ("yarn.nodemanager.resource.memory-mb", NODE_MEMORY.to_string()),
        ("yarn.nodemanager.resource.cpu-vcores", "8".to_owned()),
        ("yarn.nodemanager.resource-type.licence", licences.to_string()),
        ("yarn.nodemanager.resource-type.yarn.io/gpu", gpus.to_string()),
        ("yarn.nodemanager.vmem-check-enabled", "false".to_owned()),
        ("yarn.nodemanager.pmem-check-enabled", "false".to_owned()),
        // An almost full disk would make every node unhealthy, and nothing would ever be granted.
        ("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "100.0".to_owned()),
    ]
}
