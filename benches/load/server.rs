//! The process under load, the Master or the null master, and the resources that it has used.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;
use tempfile::TempDir;

/// Which process is under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// `firesteel master`, logging errors only.
    Quiet,
    /// `firesteel master` with its default log, which is discarded.
    Logging,
    /// `firesteel master`, logging errors only, with a journal on a disk.
    Durable,
    Null,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Quiet => "errors only",
            Self::Logging => "default log",
            Self::Durable => "journal",
            Self::Null => "null",
        }
    }
}

/// A server process, which ends when this is dropped.
pub(crate) struct Server {
    process: Child,
    /// The journal of a durable Master, deleted with it.
    _journal: Option<TempDir>,
    /// `host:port`.
    pub(crate) address: String,
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
        let journal = (kind == Kind::Durable).then(|| TempDir::new().expect("a temporary directory"));
        let mut command = match kind {
            Kind::Null => {
                let mut null = Command::new(std::env::current_exe().expect("this program has a path"));
                null.arg("null");
                null
            }
            Kind::Quiet | Kind::Logging | Kind::Durable => {
                let mut master = Command::new(env!("CARGO_BIN_EXE_firesteel"));
                master.args(["master", "--host", "127.0.0.1", "--port", "0", "--announce"]);
                master.args(settings.iter().flat_map(|setting| ["--conf", setting]));
                master.args((kind != Kind::Logging).then_some("-qq"));
                if let Some(journal) = &journal {
                    let directory = journal.path().display();
                    master.args(["--conf", &format!("spark.deploy.recoveryDirectory={directory}")]);
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
        Self { process, _journal: journal, address: url.trim_start_matches("spark://").to_owned() }
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
