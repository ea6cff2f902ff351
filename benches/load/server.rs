//! The process under load, the Master or the null master, and the resources that it has used.

use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use firesteel_host::net::{Introduction, Keyring, Keys};
use firesteel_protocol::secret::Secret;
use firesteel_protocol::wire::Role;
use firesteel_testkit::peers::link::Link;
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::hostile::HOSTILE;

/// Which process is under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// `firesteel master`, logging errors only.
    Quiet,
    /// `firesteel master` with its default log, which is discarded.
    Logging,
    /// `firesteel master`, logging errors only, with a journal on a disk.
    Durable,
    /// `firesteel master`, logging errors only, with credentials: its peers prove a secret, and connections are
    /// encrypted.
    Secured,
    Null,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Quiet => "errors only",
            Self::Logging => "default log",
            Self::Durable => "journal",
            Self::Secured => "credentials",
            Self::Null => "null",
        }
    }
}

/// A server process, which ends when this is dropped.
pub(crate) struct Server {
    process: Child,
    /// The journal of a durable Master and the credentials of a secured one, deleted with it.
    _directory: TempDir,
    pub(crate) door: Door,
}

/// The port of a server, and what a peer needs to be admitted.
#[derive(Clone)]
pub(crate) struct Door {
    /// `host:port`.
    pub(crate) address: String,
    keyring: Option<Keyring>,
}

impl Door {
    /// Connects a peer.
    ///
    /// # Panics
    /// The server does not admit it.
    pub(crate) async fn dial(&self, role: Role, name: &str) -> Link {
        self.try_dial(role, name).await.expect("the server admits its peers")
    }

    /// Connects a peer, which the server may turn away.
    pub(crate) async fn try_dial(&self, role: Role, name: &str) -> io::Result<Link> {
        if self.keyring.is_none() {
            return Link::dial(&self.address, role, name).await;
        }
        let ours = Introduction::new(role, name).with_keys(self.keyring.clone());
        let address = self.address.parse().expect("it is an address");
        Link::dial_encrypted(&address, &ours).await.map_err(io::Error::other)
    }

    /// The port of a secured Master, for somebody with these keys.
    pub(crate) fn of(address: String, keys: Keys) -> Self {
        Self { address, keyring: Some(Keyring::new(keys)) }
    }
}

/// The secret of a secured Master's cluster.
pub(crate) fn secret() -> Secret {
    Secret::of_bytes([7; 32])
}

/// The resources that a process has used since its start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    pub(crate) cpu: Duration,
    /// Context switches of its current threads.
    pub(crate) switches: u64,
}

impl Server {
    /// Starts a server on a free port of loopback.
    pub(crate) fn start(kind: Kind, settings: &[String]) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let keys = Keys::default().with_cluster(&secret());
        let keyring = (kind == Kind::Secured).then(|| Keyring::new(keys));
        let mut command = match kind {
            Kind::Null => {
                let mut null = Command::new(std::env::current_exe().expect("this program has a path"));
                null.arg("null");
                null
            }
            Kind::Quiet | Kind::Logging | Kind::Durable | Kind::Secured => {
                let mut master = Command::new(env!("CARGO_BIN_EXE_firesteel"));
                master.args(["master", "--host", "127.0.0.1", "--port", "0", "--announce"]);
                master.args(settings.iter().flat_map(|setting| ["--conf", setting]));
                master.args((kind != Kind::Logging).then_some("-qq"));
                let directory = directory.path();
                if kind == Kind::Durable {
                    let setting = format!("spark.deploy.recoveryDirectory={}", directory.display());
                    master.args(["--conf", &setting]);
                }
                if kind == Kind::Secured {
                    let file = directory.join("credentials");
                    let words = format!("cluster {}\nuser {HOSTILE}\n", secret().reveal());
                    fs::write(&file, words)
                        .and_then(|()| fs::set_permissions(&file, Permissions::from_mode(0o600)))
                        .expect("credentials can be written");
                    master.args(["--conf", &format!("firesteel.credentials.file={}", file.display())]);
                }
                master
            }
        };
        // A pipe for the log would make this process part of the measurement.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).env_remove("RUST_LOG");
        let mut process = command.spawn().expect("the server starts");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("it is a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("the server announces its address");
        let ready: serde_json::Value = serde_json::from_str(&line).expect("an announcement is JSON");
        let url = ready["url"].as_str().expect("an announcement has a url");
        let door = Door { address: url.trim_start_matches("spark://").to_owned(), keyring };
        Self { process, _directory: directory, door }
    }

    pub(crate) fn used(&self) -> Used {
        let pid = Pid::from_raw(i32::try_from(self.process.id()).expect("a pid is small"));
        let clock: ClockId = clock_getcpuclockid(pid).expect("the server lives");
        let cpu = Duration::from(clock.now().expect("the server lives"));
        Used { cpu, switches: self.switches() }
    }

    /// Memory in use now, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("the server lives");
        field(&status, "VmRSS:") * 1024
    }

    /// Files and connections that are open now.
    pub(crate) fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process.id())).expect("the server lives").count()
    }

    fn switches(&self) -> u64 {
        let threads = fs::read_dir(format!("/proc/{}/task", self.process.id())).expect("the server lives");
        let of = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let status = threads.flatten().map(of);
        status
            .map(|it| field(&it, "voluntary_ctxt_switches:") + field(&it, "nonvoluntary_ctxt_switches:"))
            .sum()
    }

    /// Counts the server's system calls from now on. `None` if `perf` is missing or not permitted.
    pub(crate) fn count_system_calls(&self) -> Option<SystemCalls> {
        let mut perf = Command::new("perf");
        perf.args(["stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-p"])
            .arg(self.process.id().to_string());
        let perf = perf.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().ok()?;
        std::thread::sleep(Duration::from_millis(300));
        Some(SystemCalls(perf))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A running count of system calls.
pub(crate) struct SystemCalls(Child);

impl SystemCalls {
    /// Ends the count and returns it.
    pub(crate) fn total(self) -> Option<u64> {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).ok()?);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).ok()?;
        let output = self.0.wait_with_output().ok()?;
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        words.lines().find_map(|line| line.split(',').next()?.parse().ok())
    }
}

/// The processor time of this process.
pub(crate) fn own() -> Duration {
    Duration::from(
        nix::time::clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("there is such a clock"),
    )
}

/// The number after a name in a file of `/proc`; 0 if the name is missing.
fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
