//! The reaper: a small process that outlives its Worker by a moment and takes the Worker's processes with it.
//!
//! The Worker holds the only write end of a pipe, the reaper its read end as standard input. However the Worker
//! ends, also by SIGKILL, the pipe ends with it, and the reaper kills every process that carries the Worker's
//! marker. It leads a process group of its own, lets no polite signal end it, and carries no marker itself, not
//! even that of an executor inside which the Worker may run: it must outlive that, too.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use firesteel_core::ids::WorkerId;
use nix::sys::signal::{SigSet, Signal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::environment::{APP_ID, EXECUTOR_ID, WORKER_ID};
use super::strays::{Marker, Survivors, kill_bearers};

/// The command that a reaper runs: `firesteel __reaper <worker id>`.
pub const COMMAND: &str = "__reaper";

/// Looks in a row that must find nothing: a process that is being started wears its environment only a moment
/// later.
const QUIET_LOOKS: u32 = 10;
/// As many are enough where the Worker ended in order, after its executors.
const QUIET_LOOKS_AFTER_FAREWELL: u32 = 3;
/// What a Worker that ends in order says last.
const FAREWELL: &[u8] = b"farewell\n";
/// After this it leaves what it could not end.
const LIMIT: Duration = Duration::from_secs(60);
/// How long a reaper may take to say that it is there, and to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// What it says.
const READY: &[u8] = b"ready\n";

/// The reaper's own main function. Returns when the Worker and all of its processes have ended.
///
/// # Errors
/// Some process would not end, or the standard streams cannot be used.
pub fn run(worker: &WorkerId) -> Result<(), ReaperError> {
    // Blocked for good, they are as good as ignored.
    let polite = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
    polite.thread_block().map_err(io::Error::from)?;
    // A Worker that is gone already has nobody to read this.
    let _ = io::stdout().write_all(READY).and_then(|()| io::stdout().flush());
    let mut last_words = Vec::new();
    io::stdin().lock().read_to_end(&mut last_words)?;
    let looks = if last_words == FAREWELL { QUIET_LOOKS_AFTER_FAREWELL } else { QUIET_LOOKS };
    Ok(kill_bearers(&Marker::of_worker(worker), looks, LIMIT)?)
}

/// Why a reaper failed.
#[derive(Debug, thiserror::Error)]
pub enum ReaperError {
    /// It could not be started.
    #[error("cannot start the reaper, {binary:?} {COMMAND}: {error}")]
    Start {
        /// The program.
        binary: PathBuf,
        /// The operating system's words.
        error: io::Error,
    },
    /// It was started and did not say that it is ready.
    #[error("the reaper, {binary:?} {COMMAND}, did not become ready")]
    NotReady {
        /// The program.
        binary: PathBuf,
    },
    /// The operating system's error.
    #[error("the reaper: {0}")]
    Io(#[from] io::Error),
    /// Some process would not end.
    #[error("the reaper: {0}")]
    Survivors(#[from] Survivors),
}

/// The Worker's hold on its reaper. Dropping it ends the reaper, after its work.
#[derive(Debug)]
pub struct Reaper {
    keeper: JoinHandle<()>,
    let_go: tokio::sync::oneshot::Sender<()>,
}

impl Reaper {
    /// Starts a reaper and sees to it that there is one until [`let_go`](Self::let_go).
    ///
    /// # Errors
    /// It could not be started: then executors would not be safe to start.
    pub async fn start(binary: &Path, worker: &WorkerId) -> Result<Self, ReaperError> {
        let first = Process::start(binary, worker).await?;
        let (let_go, released) = tokio::sync::oneshot::channel();
        let keeper = tokio::spawn(keep(first, binary.to_owned(), worker.clone(), released));
        Ok(Self { keeper, let_go })
    }

    /// Lets the reaper do its work and end, and waits for that, for 10 s at most.
    pub async fn let_go(self) {
        drop(self.let_go);
        if timeout(PATIENCE, self.keeper).await.is_err() {
            tracing::warn!("the reaper is still killing processes");
        }
    }
}

/// Starts another reaper when one ends before its Worker: somebody killed it.
async fn keep(
    mut process: Process,
    binary: PathBuf,
    worker: WorkerId,
    mut released: tokio::sync::oneshot::Receiver<()>,
) {
    loop {
        tokio::select! {
            _ = &mut released => {
                let Process { mut child, mut stdin } = process;
                // It may have been ended in this moment, and then there is nothing left for it to do.
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

/// A reaper and the write end of its pipe. The pipe is closed in every program that the Worker starts, since the
/// standard library opens it so.
#[derive(Debug)]
struct Process {
    child: Child,
    stdin: ChildStdin,
}

impl Process {
    async fn start(binary: &Path, worker: &WorkerId) -> Result<Self, ReaperError> {
        let mut command = std::process::Command::new(binary);
        command
            .args([COMMAND, worker.as_str()])
            .env_remove(WORKER_ID)
            .env_remove(APP_ID)
            .env_remove(EXECUTOR_ID)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        let start = |error| ReaperError::Start { binary: binary.to_owned(), error };
        let mut child = tokio::process::Command::from(command).spawn().map_err(start)?;
        let stdin = child.stdin.take().expect("it was piped");
        let mut stdout = child.stdout.take().expect("it was piped");
        let mut said = [0; READY.len()];
        match timeout(PATIENCE, stdout.read_exact(&mut said)).await {
            Ok(Ok(_)) if said == READY => Ok(Self { child, stdin }),
            Ok(_) | Err(_) => Err(ReaperError::NotReady { binary: binary.to_owned() }),
        }
    }
}
