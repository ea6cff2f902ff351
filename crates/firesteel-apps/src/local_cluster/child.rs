//! A daemon as a child process that cannot outlive its parent.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use firesteel_host::exit_code;
use firesteel_protocol::byte_text;
use firesteel_protocol::secret::Secret;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::{LocalClusterError, environment};
use firesteel_host::daemon::Ready;

/// How long a daemon may take to end after its standard input is closed. During this time, a Worker waits for its
/// executors.
const END_GRACE: Duration = Duration::from_secs(15);

/// How long a daemon may take to end after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(5);

/// A Master or a Worker.
///
/// The daemon ends when its standard input is closed. This process holds the other end, and the system closes that end
/// when this process dies, for any reason. The daemon leads a process group of its own, so ctrl-c on the terminal
/// reaches only this process. After that, this process ends all daemons in order.
#[derive(Debug)]
pub(super) struct Daemon {
    name: DaemonName,
    child: Child,
    stdin: Option<ChildStdin>,
    log: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, firesteel_protocol::Display)]
pub enum DaemonName {
    #[display("Master")]
    Master,
    /// A Worker, numbered from 0.
    #[display("Worker {_0}")]
    Worker(u32),
}

impl Daemon {
    /// Starts the daemon, whose log goes to the file `log`. The daemon reads the cluster's secret from standard input,
    /// which no other process can read.
    pub(super) async fn start(
        name: DaemonName,
        program: &Path,
        arguments: &[String],
        secret: &Secret,
        log: PathBuf,
    ) -> Result<Self, LocalClusterError> {
        let error = |error| LocalClusterError::NotStarted { name, program: program.to_owned(), error };
        let file = File::create(&log).map_err(|error| LocalClusterError::Log { path: log.clone(), error })?;
        let mut child = Command::new(program)
            .args(arguments.iter().map(|word| byte_text::os(word)))
            .args(["--announce", "--until-stdin-closes", "--local-cluster"])
            .env_clear()
            .envs(environment::inherited())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(file))
            .process_group(0)
            .spawn()
            .map_err(error)?;
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            // If the daemon has already ended, the wait for its readiness finds that out.
            let _ = stdin.write_all(format!("{}\n", secret.reveal()).as_bytes()).await;
        }
        Ok(Self { name, child, stdin, log })
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits until the daemon reports its address, or has ended.
    pub(super) async fn ready(&mut self, limit: Duration) -> Result<Ready, LocalClusterError> {
        let stdout = self.child.stdout.take().expect("it is waited for once");
        match timeout(limit, first_line(stdout)).await {
            Err(_) => Err(LocalClusterError::NotReady { name: self.name, limit, tail: self.tail() }),
            Ok(Ok(Some(ready))) => Ok(ready),
            Ok(Ok(None) | Err(_)) => {
                // The daemon closed its standard output, so it is about to end.
                let status = timeout(TERM_GRACE, self.child.wait()).await;
                Err(self.ended(status.ok().and_then(Result::ok)))
            }
        }
    }

    /// Returns an error if the daemon has ended.
    pub(super) fn check(&mut self) -> Result<(), LocalClusterError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(status) => Err(self.ended(status)),
            Err(_) => Err(self.ended(None)),
        }
    }

    /// Ends the daemon: closes its standard input, then sends SIGTERM, then SIGKILL.
    pub(super) async fn end(mut self) {
        drop(self.stdin.take());
        if timeout(END_GRACE, self.child.wait()).await.is_ok() {
            return;
        }
        tracing::warn!("{} did not end in time: sending SIGTERM", self.name);
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = pid {
            // The daemon may just have ended.
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        if timeout(TERM_GRACE, self.child.wait()).await.is_err() {
            tracing::warn!("{} did not end after SIGTERM: sending SIGKILL", self.name);
            let _ = self.child.kill().await;
        }
    }

    fn ended(&self, status: Option<ExitStatus>) -> LocalClusterError {
        let is_short = status.and_then(|status| status.code()) == Some(i32::from(exit_code::SHORTAGE));
        let shortage = is_short.then(|| Errno::EAGAIN.into());
        let status = status.map_or_else(|| "unknown".to_owned(), |status| status.to_string());
        LocalClusterError::Ended { name: self.name, status, shortage, tail: self.tail() }
    }

    fn tail(&self) -> Tail {
        Tail::of(&self.log)
    }
}

/// The line that a daemon prints when it is ready. `None` if its output ended without that line.
async fn first_line(stdout: ChildStdout) -> io::Result<Option<Ready>> {
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).await?;
    Ok(serde_json::from_str(&line).ok())
}

/// The last lines of a log, for an error message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail(Vec<String>);

const LINES: usize = 5;

impl Tail {
    fn of(path: &Path) -> Self {
        const BYTES: u64 = 4096;
        let read = || -> io::Result<Vec<u8>> {
            let mut file = File::open(path)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
            let mut bytes = Vec::new();
            file.take(BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let text = String::from_utf8_lossy(&read().unwrap_or_default()).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        Self(lines[lines.len().saturating_sub(LINES)..].iter().map(|&line| line.to_owned()).collect())
    }
}

/// Writes the lines as one line, because every error is one line.
impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("nothing") } else { write!(f, "{}", self.0.join(" | ")) }
    }
}
