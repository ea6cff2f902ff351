//! Copies an executor's output from a pipe to the end of its log.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::roller::{Roller, Written};
use firesteel_host::clock::Clock;

/// The number of bytes that are read at once, which is more than a pipe usually holds.
const PIECE: usize = 64 << 10;

/// The number of bytes that are still read after the executor has ended. A user's pipe never holds more. Any later
/// bytes come from a process that could not be found, and such a process may write without end.
const LAST: usize = 1 << 20;

/// How long a disk may take to write the last bytes.
const LAST_WITHIN: Duration = Duration::from_secs(30);

/// The handle of the task that copies one output of an executor into its log. If the handle is dropped, the task
/// continues until the output ends.
#[derive(Debug)]
pub struct Appender {
    name: String,
    finish: CancellationToken,
    task: JoinHandle<()>,
}

impl Appender {
    /// Starts to copy from this read end of a pipe. `name` names the log in messages: `app-1/3 stdout`.
    ///
    /// Call this within the runtime.
    ///
    /// # Errors
    /// The runtime cannot use the pipe.
    pub fn start(pipe: io::PipeReader, roller: Roller, clock: Clock, name: String) -> io::Result<Self> {
        let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(pipe))?;
        let finish = CancellationToken::new();
        let log = Log { roller: Some(roller), clock, name: name.clone(), dropped: 0, troubled: false };
        let task = tokio::spawn(copy(pipe, log, finish.clone()));
        Ok(Self { name, finish, task })
    }

    /// Copies the present contents of the pipe, and ends. All output that the executor wrote before its end is kept.
    /// Does not wait for a process that still holds the pipe open.
    pub async fn finish(self) {
        self.finish.cancel();
        if timeout(LAST_WITHIN, self.task).await.is_err() {
            let seconds = LAST_WITHIN.as_secs();
            tracing::error!("{}: cannot write the last output within {seconds} s", self.name);
        }
    }
}

async fn copy(pipe: pipe::Receiver, mut log: Log, finish: CancellationToken) {
    let mut rest = None;
    loop {
        if rest.is_none() {
            tokio::select! {
                biased;
                () = finish.cancelled() => rest = Some(LAST),
                ready = pipe.readable() => match ready {
                    Ok(()) => {}
                    Err(error) => return log.fail(&error),
                },
            }
        }
        let mut piece = vec![0; PIECE];
        match pipe.try_read(&mut piece) {
            Ok(0) => return log.end(),
            Ok(length) => {
                piece.truncate(length);
                log.append(piece).await;
                rest = rest.map(|left: usize| left.saturating_sub(length));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if rest.is_some() {
                    return log.end();
                }
            }
            Err(error) => return log.fail(&error),
        }
        if rest == Some(0) {
            return log.end();
        }
    }
}

/// The log, and whether a failed write was already reported.
struct Log {
    /// `None` while a thread writes to the log.
    roller: Option<Roller>,
    clock: Clock,
    name: String,
    /// The number of bytes that could not be written since the last successful write.
    dropped: usize,
    troubled: bool,
}

impl Log {
    /// Appends a piece. If the disk is full, the output is dropped and one warning is logged, so the executor is never
    /// held up.
    async fn append(&mut self, piece: Vec<u8>) {
        let mut roller = self.roller.take().expect("one piece is written at a time");
        let now = self.clock.now();
        let writing = tokio::task::spawn_blocking(move || {
            let written = roller.write(now, &piece);
            (roller, written)
        });
        let (roller, Written { dropped, trouble }) = writing.await.expect("writing does not panic");
        self.roller = Some(roller);
        let name = self.name.clone();
        match dropped {
            Some((count, error)) => {
                if self.dropped == 0 {
                    tracing::error!("{name}: dropping output until it can be written again: {error}");
                }
                self.dropped += count;
            }
            None => self.end(),
        }
        match trouble {
            Some(error) if !self.troubled => {
                tracing::warn!("{name}: {error}");
                self.troubled = true;
            }
            Some(_) | None => {}
        }
    }

    fn end(&mut self) {
        if self.dropped > 0 {
            tracing::error!("{}: dropped {} bytes of output", self.name, self.dropped);
            self.dropped = 0;
        }
    }

    fn fail(&mut self, error: &io::Error) {
        self.end();
        tracing::error!("{}: cannot read the output any more: {error}", self.name);
    }
}
