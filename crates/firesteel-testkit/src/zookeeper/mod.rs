//! A real ZooKeeper ensemble: one or three servers, each a Java process, on free ports of 127.0.0.1 or of separate
//! hosts.
//!
//! No server is left behind, however the test ends. Each server has a watcher, which kills the server when the other
//! end of a pipe is closed.

mod host;

use std::env;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

pub use self::host::Host;
use crate::component::{Component, Readiness};
use crate::maven;
use crate::ports::free_port;
use crate::wait::poll;

/// The tests' component: Java, and Maven with ZooKeeper's jars.
pub const ZOOKEEPER: Component = Component { name: "zookeeper", look, prepare };

/// The time limit for servers to start serving.
const LONGEST: Duration = Duration::from_secs(60);

/// The time limit for a server to answer a command. A paused server accepts connections, but never answers.
const LONGEST_ANSWER: Duration = Duration::from_secs(1);

/// The number of lines of a server's log that a panic shows.
const LAST_LINES: usize = 60;

/// Starts the watcher, and becomes Java. Before the watcher kills the process, it checks the process's working
/// directory. After Java's end, the process id may belong to another program.
const LAUNCHER: &str = r#"
exec 3<&0
{ read -r _ <&3; [ /proc/$$/cwd -ef . ] && kill -9 $$; } &
exec java "$@" </dev/null 3<&-"#;

/// Options of Java for little memory and a quick start, and options of the log.
const OPTIONS: [&str; 10] = [
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Duser.timezone=UTC",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.showShortLogName=true",
    // Every command to a server would be a line.
    "-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.NIOServerCnxn=warn",
    "-cp",
];

/// The default tick of servers. Expired sessions are ended once in each tick.
pub const TICK: Duration = Duration::from_millis(500);

/// The settings that all servers share. Sessions of 1 to 60 s are possible. Followers give up a silent leader after
/// `syncLimit` ticks, which is 3 s. Log files on disk grow in steps of 1 MiB instead of 64 MiB.
const SETTINGS: &str = "\
initLimit=20
syncLimit=6
minSessionTimeout=1000
maxSessionTimeout=60000
admin.enableServer=false
4lw.commands.whitelist=srvr,ruok,mntr
preAllocSize=1024
";

/// The environment variable with the class path of ZooKeeper's jars. A process that has it does not ask Maven again.
pub const JARS: &str = "FIRESTEEL_ZOOKEEPER_JARS";

/// The class path of ZooKeeper's jars, determined once.
static CLASS_PATH: OnceLock<Result<String, String>> = OnceLock::new();

/// Why an ensemble did not start, if one failed to start.
static NOT_STARTED: OnceLock<String> = OnceLock::new();

/// Checks that a server can be started: Java and Maven are installed, and Maven gets ZooKeeper's jars.
///
/// # Errors
/// The names of the missing programs or jars.
pub fn look() -> Result<(), String> {
    class_path().map(drop)
}

/// Lets tests run until an ensemble does not start. Then one test fails, and later tests do not run.
pub fn prepare() -> Readiness {
    match NOT_STARTED.get() {
        None => Readiness::Ready,
        Some(reason) => Readiness::NotRun(reason.lines().next().unwrap_or_default().to_owned()),
    }
}

/// The class path of ZooKeeper's jars.
///
/// # Errors
/// Java, Maven or a jar is missing.
pub fn class_path() -> Result<&'static str, String> {
    let find = || env::var(JARS).or_else(|_| maven::class_path("tests/zookeeper/pom.xml"));
    CLASS_PATH.get_or_init(find).as_deref().map_err(Clone::clone)
}

/// Servers that run until they are killed or dropped. Methods identify a server by its index, counted from 0.
pub struct Ensemble {
    servers: Vec<Server>,
    /// The directory of the servers. It is dropped after the servers that use it.
    _directory: TempDir,
}

impl Ensemble {
    /// Starts this number of servers, 1 or 3, and waits until all of them serve.
    ///
    /// # Panics
    /// A server ends, or does not serve within 60 s. The message contains its log.
    pub fn start(size: usize) -> Self {
        Self::start_with_tick(size, TICK)
    }

    /// Like [`start`](Self::start), with this tick.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn start_with_tick(size: usize, tick: Duration) -> Self {
        Self::start_on(&vec![Host::LOOPBACK; size], tick)
    }

    /// Like [`start`](Self::start), with a server on each of these 1 or 3 hosts.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn start_on(hosts: &[Host], tick: Duration) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let addresses: Vec<SocketAddr> =
            hosts.iter().map(|host| (host.address, free_port()).into()).collect();
        let tick = format!("tickTime={}\n", tick.as_millis());
        let peer = |(index, host): (usize, &Host)| {
            format!("server.{}={}:{}:{}\n", index + 1, host.address, free_port(), free_port())
        };
        let peers: String = match hosts.len() {
            1 => String::new(),
            _ => hosts.iter().enumerate().map(peer).collect(),
        };
        let server = |(index, address): (usize, &SocketAddr)| {
            let home = directory.path().join(format!("server-{index}"));
            Server::start(home, index + 1, (hosts[index], *address), [&tick, &peers])
        };
        let servers = addresses.iter().enumerate().map(server).collect();
        let mut ensemble = Self { servers, _directory: directory };
        if let Err(reason) = ensemble.wait_until_serving() {
            let reason = NOT_STARTED.get_or_init(|| format!("ZooKeeper did not start: {reason}"));
            panic!("{reason}");
        }
        ensemble
    }

    /// The connection string for clients: `127.0.0.1:p1,127.0.0.1:p2,...`.
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.servers.iter().map(|server| server.address.to_string()).collect();
        addresses.join(",")
    }

    /// Kills a server with SIGKILL, and waits for its end.
    pub fn kill(&mut self, index: usize) {
        self.servers[index].kill();
    }

    /// Starts a server again with the same data and ports. If the server still runs, kills it first. If the running
    /// servers are then a majority, waits until all of them serve.
    ///
    /// # Panics
    /// A server ends, or does not serve within 60 s. The message contains its log.
    pub fn restart(&mut self, index: usize) {
        self.servers[index].restart();
        let running = self.servers.iter().filter(|server| server.state == State::Running).count();
        if running * 2 > self.servers.len() {
            self.wait_until_serving().unwrap_or_else(|reason| panic!("{reason}"));
        }
    }

    /// Restarts all killed servers.
    ///
    /// # Panics
    /// As [`restart`](Self::restart).
    pub fn restart_dead(&mut self) {
        for index in 0..self.servers.len() {
            if self.servers[index].state == State::Killed {
                self.restart(index);
            }
        }
    }

    /// Stops a server with SIGSTOP. Its connections stay open, but it does not answer.
    pub fn pause(&mut self, index: usize) {
        self.servers[index].signal(Signal::SIGSTOP, State::Paused);
    }

    /// Continues a paused server with SIGCONT. Returns immediately.
    pub fn resume(&mut self, index: usize) {
        self.servers[index].signal(Signal::SIGCONT, State::Running);
    }

    /// The leading server: the only one, or the leader of three. `None` while there is no leader. Paused servers are
    /// not asked.
    pub fn leader(&self) -> Option<usize> {
        let running = self.servers.iter().enumerate().filter(|(_, server)| server.state == State::Running);
        // A paused leader may not know its successor yet, which has a higher transaction id.
        running.filter_map(|(index, server)| Some((server.leads()?, index))).max().map(|(_, index)| index)
    }

    /// The answer of a server to a command of four letters: `srvr`, `ruok` or `mntr`. `None` if the server does not
    /// answer within a second.
    pub fn ask(&self, index: usize, command: &str) -> Option<String> {
        self.servers[index].ask(command)
    }

    /// What a server has logged so far. Times are in UTC.
    pub fn log(&self, index: usize) -> String {
        self.servers[index].log()
    }

    /// Waits until all running servers serve. Servers that were killed or paused do not count.
    ///
    /// # Errors
    /// A server does not serve. The error contains its index, the reason, and the end of its log.
    fn wait_until_serving(&mut self) -> Result<(), String> {
        for (index, server) in self.servers.iter_mut().enumerate() {
            if server.state != State::Running {
                continue;
            }
            let served = poll(LONGEST, || match server.child.try_wait().expect("it is our child") {
                Some(status) => Some(Err(format!("ended with {status}"))),
                None => server.mode().map(|_| Ok(())),
            });
            served
                .unwrap_or_else(|| Err(format!("does not serve after {LONGEST:?}")))
                .map_err(|reason| format!("server {index} {reason}\n{}", server.last_words()))?;
        }
        Ok(())
    }
}

/// The last action of a test on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Paused,
    Killed,
}

struct Server {
    home: PathBuf,
    host: Host,
    /// The address for clients.
    address: SocketAddr,
    class: &'static str,
    /// The process of Java itself, not of a shell, so that signals reach the server.
    child: Child,
    state: State,
}

impl Server {
    /// Starts a server in its own directory. `tick` sets its tick. `peers` lists all servers of an ensemble, and is
    /// empty for a single server.
    fn start(
        home: PathBuf,
        id: usize,
        (host, address): (Host, SocketAddr),
        [tick, peers]: [&str; 2],
    ) -> Self {
        let data = home.join("data");
        fs::create_dir_all(&data).expect("a directory for a server");
        fs::write(data.join("myid"), id.to_string()).expect("the id of a server is written");
        let own = format!(
            "dataDir={}\nclientPortAddress={}\nclientPort={}\n",
            data.display(),
            address.ip(),
            address.port()
        );
        fs::write(home.join("zoo.cfg"), format!("{SETTINGS}{tick}{own}{peers}"))
            .expect("settings are written");
        let class = match peers.is_empty() {
            true => "org.apache.zookeeper.server.ZooKeeperServerMain",
            false => "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        };
        let child = launch(host, &home, class);
        Self { home, host, address, class, child, state: State::Running }
    }

    fn restart(&mut self) {
        self.kill();
        self.child = launch(self.host, &self.home, self.class);
        self.state = State::Running;
    }

    fn kill(&mut self) {
        // Neither call fails for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.state = State::Killed;
    }

    fn signal(&mut self, signal: Signal, next: State) {
        assert_ne!(self.state, State::Killed, "the server was killed");
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a process id is a positive i32"));
        kill(pid, signal).expect("the server runs");
        self.state = next;
    }

    fn ask(&self, command: &str) -> Option<String> {
        let mut stream = TcpStream::connect_timeout(&self.address, LONGEST_ANSWER).ok()?;
        stream.set_read_timeout(Some(LONGEST_ANSWER)).ok()?;
        stream.write_all(command.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// The server's mode (`standalone`, `leader` or `follower`) and the id of its last transaction. `None` while the
    /// server does not serve.
    fn mode(&self) -> Option<(String, u64)> {
        let answer = self.ask("srvr")?;
        let field = |name: &str| answer.lines().find_map(|line| line.strip_prefix(name));
        let zxid = u64::from_str_radix(field("Zxid: 0x")?, 16).ok()?;
        Some((field("Mode: ")?.to_owned(), zxid))
    }

    /// The id of the server's last transaction, if the server is the leader.
    fn leads(&self) -> Option<u64> {
        let (mode, zxid) = self.mode()?;
        ["leader", "standalone"].contains(&mode.as_str()).then_some(zxid)
    }

    fn log(&self) -> String {
        let log = fs::read(self.home.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// The end of the server's log.
    fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        format!(
            "--- the end of its log ---\n{}\n",
            lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn launch(host: Host, home: &Path, class: &str) -> Child {
    let class_path = class_path().unwrap_or_else(|reason| panic!("no ZooKeeper: {reason}"));
    let log = File::options().create(true).append(true).open(home.join("log")).expect("a log is opened");
    let mut command = Command::new("sh");
    command
        .args(["-c", LAUNCHER, "launcher"])
        .args(OPTIONS)
        .args([class_path, class])
        .arg(home.join("zoo.cfg"))
        .current_dir(home);
    host.enter(command)
        .stdin(Stdio::piped())
        .stdout(log.try_clone().expect("a log is opened"))
        .stderr(log)
        .spawn()
        .expect("a shell can be started")
}
