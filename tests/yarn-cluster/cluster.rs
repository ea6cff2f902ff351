//! A real YARN cluster: a ResourceManager and three NodeManagers of Hadoop's, a process each, on 127.0.0.1 to
//! 127.0.0.4, on ports that were free.
//!
//! Each process is started by a shell that ends it when its standard input does, which is a pipe from here. So
//! nothing is left behind, whatever becomes of whoever started the cluster.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use tempfile::TempDir;

/// The hosts of the NodeManagers, with their racks. A NodeManager registers under this address, since it has no name.
pub(crate) const NODES: [(&str, &str); 3] =
    [("127.0.0.2", "/rack1"), ("127.0.0.3", "/rack1"), ("127.0.0.4", "/rack2")];

const RESOURCE_MANAGER: &str = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager";
const NODE_MANAGER: &str = "org.apache.hadoop.yarn.server.nodemanager.NodeManager";

/// Starts Java, says its process id, and ends it when standard input ends.
const LAUNCHER: &str =
    r#"java "$@" </dev/null >out 2>&1 & echo $! >pid; cat >/dev/null; kill -9 $! 2>/dev/null; wait"#;

const LOG: &str = "log4j.rootLogger=INFO,C\nlog4j.appender.C=org.apache.log4j.ConsoleAppender\n\
                   log4j.appender.C.layout=org.apache.log4j.PatternLayout\n\
                   log4j.appender.C.layout.ConversionPattern=%d %p %c{1}: %m%n\n";

/// A cluster that runs until it is dropped.
pub(crate) struct YarnCluster {
    /// Where users ask: `host:port`.
    pub(crate) resource_manager: String,
    /// Where ApplicationMasters ask.
    pub(crate) scheduler: String,
    /// The ResourceManager's pages.
    pub(crate) pages: String,
    daemons: Vec<Child>,
    directory: TempDir,
}

/// The jars of Hadoop, as Maven finds them: `tests/yarn-cluster/pom.xml` says which.
///
/// # Errors
/// When there is no Java or no Maven, or Maven does not get them.
pub(crate) fn class_path() -> Result<String, String> {
    let found = Command::new("java").arg("-version").output();
    found.map_err(|error| format!("java: {error}"))?;
    let target = TempDir::new().map_err(|error| error.to_string())?;
    let file = target.path().join("class-path");
    let pom = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/yarn-cluster/pom.xml");
    let done = Command::new("mvn")
        .args(["--quiet", "--batch-mode", "dependency:build-classpath", "--file"])
        .arg(pom)
        .arg(format!("-Dmdep.outputFile={}", file.display()))
        .output()
        .map_err(|error| format!("mvn: {error}"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let first = said.lines().find(|line| line.contains("ERROR")).unwrap_or("it says nothing");
        return Err(format!("mvn does not get Hadoop's jars: {first}"));
    }
    fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
}

impl YarnCluster {
    /// Starts one with these jars. Its nodes join within seconds after this returns.
    pub(crate) fn start(class_path: &str) -> io::Result<Self> {
        let directory = TempDir::new()?;
        let mut ports = free_ports()?.into_iter().map(|port| format!("127.0.0.1:{port}"));
        let mut address = || ports.next().expect("there are five");
        let (resource_manager, scheduler, tracker, admin, pages) =
            (address(), address(), address(), address(), address());
        let common = vec![
            ("yarn.resourcemanager.address", resource_manager.clone()),
            ("yarn.resourcemanager.scheduler.address", scheduler.clone()),
            ("yarn.resourcemanager.resource-tracker.address", tracker),
            ("yarn.resourcemanager.admin.address", admin),
            ("yarn.resourcemanager.webapp.address", pages.clone()),
            ("yarn.resourcemanager.hostname", "127.0.0.1".to_owned()),
        ];
        let mut cluster = Self { resource_manager, scheduler, pages, daemons: Vec::new(), directory };
        cluster.start_resource_manager(class_path, &common)?;
        for (host, _) in NODES {
            cluster.start_node(class_path, host, &common)?;
        }
        Ok(cluster)
    }

    fn start_resource_manager(&mut self, class_path: &str, common: &[(&str, String)]) -> io::Result<()> {
        let home = self.home("resource-manager")?;
        let racks = home.join("racks");
        let rows: Vec<String> = NODES.iter().map(|(host, rack)| format!("{host} {rack}\n")).collect();
        fs::write(&racks, rows.concat())?;
        let own = [
            ("net.topology.node.switch.mapping.impl", "org.apache.hadoop.net.TableMapping".to_owned()),
            ("net.topology.table.file.name", racks.display().to_string()),
            ("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", "200".to_owned()),
            ("yarn.scheduler.minimum-allocation-mb", "128".to_owned()),
            ("yarn.scheduler.maximum-allocation-mb", "2048".to_owned()),
            ("yarn.scheduler.capacity.root.queues", "default".to_owned()),
            ("yarn.scheduler.capacity.root.default.capacity", "100".to_owned()),
            ("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0".to_owned()),
            // So many nodes may report in vain before a request leaves its racks: the one that it names has its turn.
            ("yarn.scheduler.capacity.rack-locality-additional-delay", "100".to_owned()),
        ];
        let properties: Vec<_> = common.iter().cloned().chain(own).collect();
        self.start_daemon(&home, class_path, RESOURCE_MANAGER, "256m", &properties)
    }

    fn start_node(&mut self, class_path: &str, host: &str, common: &[(&str, String)]) -> io::Result<()> {
        let home = self.home(host)?;
        let inside = |name: &str| home.join(name).display().to_string();
        let own = [
            ("yarn.nodemanager.hostname", host.to_owned()),
            ("yarn.nodemanager.address", format!("{host}:0")),
            ("yarn.nodemanager.localizer.address", format!("{host}:0")),
            ("yarn.nodemanager.webapp.address", format!("{host}:0")),
            ("yarn.nodemanager.local-dirs", inside("local")),
            ("yarn.nodemanager.log-dirs", inside("logs")),
            ("yarn.nodemanager.resource.memory-mb", "2048".to_owned()),
            ("yarn.nodemanager.resource.cpu-vcores", "4".to_owned()),
            ("yarn.nodemanager.vmem-check-enabled", "false".to_owned()),
            ("yarn.nodemanager.pmem-check-enabled", "false".to_owned()),
            // A disk that is nearly full would make every node unhealthy, and nothing would ever be granted.
            (
                "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage",
                "100.0".to_owned(),
            ),
        ];
        let properties: Vec<_> = common.iter().cloned().chain(own).collect();
        self.start_daemon(&home, class_path, NODE_MANAGER, "160m", &properties)
    }

    fn home(&self, name: &str) -> io::Result<PathBuf> {
        let home = self.directory.path().join(name);
        fs::create_dir(&home)?;
        Ok(home)
    }

    fn start_daemon(
        &mut self,
        home: &Path,
        class_path: &str,
        class: &str,
        memory: &str,
        properties: &[(&str, String)],
    ) -> io::Result<()> {
        let rows: Vec<String> = properties
            .iter()
            .map(|(name, value)| format!("<property><name>{name}</name><value>{value}</value></property>\n"))
            .collect();
        fs::write(
            home.join("yarn-site.xml"),
            format!("<configuration>\n{}</configuration>\n", rows.concat()),
        )?;
        let temporary = home.join("tmp");
        let core = format!(
            "<configuration><property><name>hadoop.tmp.dir</name><value>{}</value></property></configuration>\n",
            temporary.display()
        );
        // Hadoop reads its tables of racks from here.
        let racks = properties
            .iter()
            .filter(|(name, _)| name.starts_with("net.topology"))
            .map(|(name, value)| format!("<property><name>{name}</name><value>{value}</value></property>"));
        let racks: Vec<String> = racks.collect();
        let core = core.replace("</configuration>", &format!("{}</configuration>", racks.concat()));
        fs::write(home.join("core-site.xml"), core)?;
        fs::write(home.join("log4j.properties"), LOG)?;
        let class_path = format!("{}:{class_path}", home.display());
        let child = Command::new("bash")
            .args(["-c", LAUNCHER, "launcher", &format!("-Xmx{memory}"), "-XX:+UseSerialGC"])
            .args(["-XX:TieredStopAtLevel=1", "-cp", &class_path, class])
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(File::create(home.join("launcher"))?)
            .stderr(Stdio::null())
            .spawn()?;
        self.daemons.push(child);
        Ok(())
    }

    /// What the daemons wrote last, for whoever wonders why it does not do what it should.
    fn last_words(&self) -> String {
        let names = ["resource-manager"].into_iter().chain(NODES.map(|(host, _)| host));
        let tails = names.map(|name| {
            let text = fs::read_to_string(self.directory.path().join(name).join("out")).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("{name}:\n{}\n", lines[lines.len().saturating_sub(15)..].join("\n"))
        });
        tails.collect()
    }
}

impl Drop for YarnCluster {
    /// The launchers end their processes when their input ends.
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.last_words());
        }
        for daemon in &mut self.daemons {
            drop(daemon.stdin.take());
        }
        let begun = Instant::now();
        for daemon in &mut self.daemons {
            while matches!(daemon.try_wait(), Ok(None)) && begun.elapsed() < Duration::from_secs(10) {
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// Five at once, so that they differ.
fn free_ports() -> io::Result<Vec<u16>> {
    let listeners: Vec<TcpListener> =
        (0..5).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<io::Result<_>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}
