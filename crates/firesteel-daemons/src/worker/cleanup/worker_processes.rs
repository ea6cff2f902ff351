//! The reaper: a small process that outlives its Worker by a moment and ends the Worker's processes.
//!
//! The Worker holds the only write end of a pipe. The reaper has the read end as standard input. When the Worker ends,
//! even by SIGKILL, the pipe ends. Then the reaper kills every process that carries the Worker's marker. The reaper
//! leads its own process group and ignores signals that ask it to end. The reaper carries no marker. If the Worker runs
//! inside an executor, the reaper does not carry that executor's marker either, because it must outlive that executor,
//! too.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use firesteel_host::own_program::OwnProgram;
use firesteel_protocol::ids::WorkerId;
use nix::sys::signal::{SigSet, Signal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::processes::{Marker, Survivors, kill_matching};
use crate::worker::environment::{APP_ID, EXECUTOR_ID, WORKER_ID};

/// The command with which a Worker starts its reaper: `firesteel __reaper <worker id>`.
pub const COMMAND: &str = "__reaper";

/// The number of consecutive scans that must find nothing. More than one, because the environment of a starting process
/// is visible only after a moment.
const QUIET_SCANS: u32 = 10;
/// The number of scans after an orderly end of the Worker, when its executors have already ended.
const QUIET_SCANS_AFTER_FAREWELL: u32 = 3;
/// The last message of a Worker that ends in order.
const FAREWELL: &[u8] = b"farewell\n";
/// The time limit of the reaper. After that, the reaper ends although some processes are left.
const LIMIT: Duration = Duration::from_secs(60);
/// The time limit for a reaper to report that it is ready, and also for its end.
const TIMEOUT: Duration = Duration::from_secs(10);
const READY: &[u8] = b"ready\n";

/// The main function of the reaper process. Returns when the Worker and all of its processes have ended.
///
/// # Errors
/// Some process did not end, or the standard streams cannot be used.
pub fn run(worker: &WorkerId) -> Result<(), ReaperError> {
    // These signals are blocked for good, which has the effect of ignoring them.
    let polite = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
    polite.thread_block().map_err(io::Error::from)?;
    // If the Worker has already ended, no one reads this.
    let _ = io::stdout().write_all(READY).and_then(|()| io::stdout().flush());
    let mut message = Vec::new();
    io::stdin().lock().read_to_end(&mut message)?;
    let quiet_scans = if message == FAREWELL { QUIET_SCANS_AFTER_FAREWELL } else { QUIET_SCANS };
    Ok(kill_matching(&Marker::of_worker(worker), quiet_scans, LIMIT)?)
}

#[derive(Debug, thiserror::Error)]
pub enum ReaperError {
    #[error("cannot start the reaper, {binary:?} {COMMAND}: {error}")]
    Start {
        binary: PathBuf,
        #[source]
        error: io::Error,
    },
    /// The reaper was started, but did not report that it is ready.
    #[error("the reaper, {binary:?} {COMMAND}, did not become ready")]
    NotReady { binary: PathBuf },
    #[error("the reaper: {0}")]
    Io(#[from] io::Error),
    /// Some process did not end.
    #[error("the reaper: {0}")]
    Survivors(#[from] Survivors),
}

/// The Worker's handle of its reaper. After the handle is dropped, the reaper does its work and ends.
#[derive(Debug)]
pub struct Reaper {
    supervisor: JoinHandle<()>,
    release: tokio::sync::oneshot::Sender<()>,
}

impl Reaper {
    /// Starts a reaper. Starts another one if it ends before [`release`](Self::release).
    ///
    /// # Errors
    /// The reaper could not be started. Without it executors would not be safe to start.
    pub async fn start(binary: &OwnProgram, worker: &WorkerId) -> Result<Self, ReaperError> {
        let first = Process::start(binary, worker).await?;
        let (release, released) = tokio::sync::oneshot::channel();
        let supervisor = tokio::spawn(supervise(first, binary.clone(), worker.clone(), released));
        Ok(Self { supervisor, release })
    }

    /// Lets the reaper do its work and end. Waits for its end, at most 10 s.
    pub async fn release(self) {
        drop(self.release);
        if timeout(TIMEOUT, self.supervisor).await.is_err() {
            tracing::warn!("the reaper is still killing processes");
        }
    }
}

/// Starts another reaper when one ends before its Worker, for example because the reaper was killed.
async fn supervise(
    mut process: Process,
    binary: OwnProgram,
    worker: WorkerId,
    mut released: tokio::sync::oneshot::Receiver<()>,
) {
    loop {
        tokio::select! {
            _ = &mut released => {
                let Process { mut child, mut stdin } = process;
                // The reaper may have ended just now, and then it has nothing left to do.
                let _ = stdin.write_all(FAREWELL).await;
                drop(stdin);
                let _ = child.wait().await;
                return;
            }
            _ = process.child.wait() => tracing::warn!("the reaper ended: starting another one"),
        }
        process = loop {
            match Process::start(&binary, &worker).await {
                Ok(process) => {
                    tracing::info!("started another reaper");
                    break process;
                }
                Err(error) => {
                    tracing::error!("{error}; retrying");
                    sleep(Duration::from_secs(5)).await;
                }
            }
        };
    }
}

/// A reaper process and the write end of its pipe. The standard library marks the pipe close-on-exec, so no
/// program that the Worker starts holds it open.
#[derive(Debug)]
struct Process {
    child: Child,
    stdin: ChildStdin,
}

impl Process {
    async fn start(binary: &OwnProgram, worker: &WorkerId) -> Result<Self, ReaperError> {
        let mut command = binary.command();
        command
            .args([COMMAND, worker.as_str()])
            .env_remove(WORKER_ID)
            .env_remove(APP_ID)
            .env_remove(EXECUTOR_ID)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        let start = |error| ReaperError::Start { binary: binary.path().to_owned(), error };
        let mut child = tokio::process::Command::from(command).spawn().map_err(start)?;
        let stdin = child.stdin.take().expect("it was piped");
        let mut stdout = child.stdout.take().expect("it was piped");
        let mut said = [0; READY.len()];
        match timeout(TIMEOUT, stdout.read_exact(&mut said)).await {
            Ok(Ok(_)) if said == READY => Ok(Self { child, stdin }),
            Ok(_) | Err(_) => Err(ReaperError::NotReady { binary: binary.path().to_owned() }),
        }
    }
}
