//! One of Hadoop's daemons, run as a process.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::wait::poll;

/// Starts Java, kills it when standard input ends, and exits with Java's status.
const LAUNCHER: &str = r#"
exec 3<&0
java "$@" </dev/null >>out 2>&1 3<&- & java=$!
{ read -r _ <&3; kill -9 $java; } 2>/dev/null & watcher=$!
wait $java; code=$?
kill $watcher 2>/dev/null
exit $code"#;

const LOG: &str = "log4j.rootLogger=INFO,C\nlog4j.appender.C=org.apache.log4j.ConsoleAppender\n\
                   log4j.appender.C.layout=org.apache.log4j.PatternLayout\n\
                   log4j.appender.C.layout.ConversionPattern=%d %p %c{1}: %m%n\n";

/// Java's options: little memory besides the heap, and a quick start.
const OPTIONS: [&str; 5] = [
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MaxMetaspaceSize=128m",
    "-XX:ReservedCodeCacheSize=32m",
    "-XX:MaxDirectMemorySize=32m",
];

/// The number of a daemon's last lines that are shown.
const LAST_LINES: usize = 15;
/// The maximum number of characters of a line that are shown.
const LONGEST_LINE: usize = 500;

/// The file with the names of hosts, in a daemon's directory.
const HOSTS: &str = "hosts";

pub const SUPERUSER: &str = "hdfs";

pub type Properties = Vec<(&'static str, String)>;

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Assigns the containers of a YARN cluster to machines.
    ResourceManager,
    /// Runs the containers of one machine.
    NodeManager,
    /// Knows the names and blocks of the files of HDFS.
    NameNode,
    /// Stores the blocks of HDFS.
    DataNode,
}

impl Kind {
    fn class(self) -> &'static str {
        match self {
            Self::ResourceManager => "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
            Self::NodeManager => "org.apache.hadoop.yarn.server.nodemanager.NodeManager",
            Self::NameNode => "org.apache.hadoop.hdfs.server.namenode.NameNode",
            Self::DataNode => "org.apache.hadoop.hdfs.server.datanode.DataNode",
        }
    }

    /// The largest heap of Java.
    fn memory(self) -> &'static str {
        match self {
            Self::ResourceManager => "-Xmx256m",
            Self::NodeManager | Self::NameNode | Self::DataNode => "-Xmx160m",
        }
    }

    /// The Hadoop user of the daemon, if it matters. A NameNode's user is the superuser.
    fn user(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::ResourceManager | Self::NodeManager => None,
            Self::NameNode | Self::DataNode => Some(("HADOOP_USER_NAME", SUPERUSER)),
        }
    }
}

/// A daemon that runs until it is killed or dropped.
pub struct Daemon {
    kind: Kind,
    home: PathBuf,
    class_path: String,
    launcher: Child,
}

impl Daemon {
    /// Starts a daemon with these properties, in its own directory. The directory may already exist.
    pub fn start(kind: Kind, home: &Path, class_path: &str, properties: &Properties) -> io::Result<Self> {
        fs::create_dir_all(home)?;
        write_configuration(home, properties)?;
        fs::write(home.join("log4j.properties"), LOG)?;
        fs::write(home.join(HOSTS), hosts())?;
        if let Kind::NameNode = kind {
            format(home, class_path)?;
        }
        // HDFS looks for its pages there, which are in no jar.
        for pages in ["hdfs", "datanode"] {
            fs::create_dir_all(home.join("webapps").join(pages))?;
        }
        let launcher = launch(kind, home, class_path)?;
        Ok(Self { kind, home: home.to_owned(), class_path: class_path.to_owned(), launcher })
    }

    /// Kills the daemon with SIGKILL, and waits for its end. The daemon's children continue.
    pub fn kill(&mut self) {
        drop(self.launcher.stdin.take());
        // A daemon that does not end fails the next test, which cannot start it again.
        let _ =
            poll(Duration::from_secs(10), || (!matches!(self.launcher.try_wait(), Ok(None))).then_some(()));
    }

    /// Starts the daemon again, with the same settings.
    pub fn start_again(&mut self) -> io::Result<()> {
        self.kill();
        self.launcher = launch(self.kind, &self.home, &self.class_path)?;
        Ok(())
    }

    /// How the daemon ended, with its last lines. `None` if it still runs.
    pub fn end(&mut self) -> Option<String> {
        let status = self.launcher.try_wait().ok().flatten()?;
        Some(format!("a {:?} ended with {status}\n{}", self.kind, self.last_words()))
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The last lines of the daemon's output, without stack traces. The class path, which is one line, is shortened.
    pub fn last_words(&self) -> String {
        let text = fs::read_to_string(self.home.join("out")).unwrap_or_default();
        let told = |line: &&str| !line.starts_with("\tat ");
        let short = |line: &str| line.chars().take(LONGEST_LINE).collect::<String>();
        let lines: Vec<String> = text.lines().filter(told).map(short).collect();
        format!("{}:\n{}\n", self.home.display(), lines[lines.len().saturating_sub(LAST_LINES)..].join("\n"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The host names that a daemon looks up. Hadoop needs the machine's own name, which may be in no other table.
fn hosts() -> String {
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("127.0.0.1 localhost {machine}\n")
}

/// Java's arguments before the class.
fn options(kind: Kind, home: &Path, class_path: &str) -> Vec<String> {
    let hosts = format!("-Djdk.net.hosts.file={}", home.join(HOSTS).display());
    let class_path = format!("{}:{class_path}", home.display());
    let own = [kind.memory(), &hosts, "-cp", &class_path, kind.class()];
    OPTIONS.into_iter().chain(own).map(str::to_owned).collect()
}

/// Formats the file system of a NameNode.
fn format(home: &Path, class_path: &str) -> io::Result<()> {
    let kind = Kind::NameNode;
    let done = Command::new("java")
        .args(options(kind, home, class_path))
        .args(["-format", "-nonInteractive"])
        .envs(kind.user())
        .current_dir(home)
        .output()?;
    match done.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&done.stderr).into_owned())),
    }
}

fn launch(kind: Kind, home: &Path, class_path: &str) -> io::Result<Child> {
    Command::new("bash")
        .args(["-c", LAUNCHER, "launcher"])
        .args(options(kind, home, class_path))
        .envs(kind.user())
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(File::create(home.join("launcher"))?)
        .stderr(Stdio::null())
        .spawn()
}

/// Writes Hadoop's configuration files: `yarn.*` properties into one file, `dfs.*` properties into another, and all
/// others into the first.
pub fn write_configuration(directory: &Path, properties: &Properties) -> io::Result<()> {
    let file = |name: &str, rows: Vec<&(&str, String)>| {
        let row = |(name, value): &&(&str, String)| {
            format!("<property><name>{name}</name><value>{value}</value></property>\n")
        };
        let rows: String = rows.iter().map(row).collect();
        fs::write(directory.join(name), format!("<configuration>\n{rows}</configuration>\n"))
    };
    let (yarn, others): (Vec<_>, Vec<_>) = properties.iter().partition(|(name, _)| name.starts_with("yarn."));
    let (hdfs, core) = others.into_iter().partition(|(name, _)| name.starts_with("dfs."));
    file("yarn-site.xml", yarn)?;
    file("hdfs-site.xml", hdfs)?;
    file("core-site.xml", core)
}

/// The processes whose working directory is this directory or is below it.
pub fn processes_within(directory: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let within = |id: &u32| {
        fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|current| current.starts_with(directory))
    };
    let id = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    entries.filter_map(id).filter(within).collect()
}

/// Kills processes with SIGKILL. Processes that have already ended are ignored.
pub fn kill(processes: &[u32]) {
    if !processes.is_empty() {
        let ids = processes.iter().map(u32::to_string);
        let _ = Command::new("kill").arg("-9").args(ids).stderr(Stdio::null()).status();
    }
}
