//! What an executor wrote, asked of the Worker that keeps it.

use bytes::Bytes;
use firesteel_core::address::Address;
use firesteel_core::ids::{AppId, ExecutorId, ExecutorKey, WorkerId};
use firesteel_core::messages::{
    ClientToWorker, ExecutorView, LogPiece, LogRequest, LogStart, RefusedLog, Stream, WorkerToClient,
};
use firesteel_core::wire::Role;

use crate::worker::header;
use firesteel_host::net::{CallError, Inquiry};

/// Why a log is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The Worker does not answer.
    #[error("Worker {worker} does not answer: {error}; the logs are on {host} in {directory}")]
    OutOfReach {
        /// Which Worker.
        worker: WorkerId,
        /// What went wrong.
        error: CallError,
        /// Its host.
        host: String,
        /// The executor's directory there.
        directory: String,
    },
    /// The Worker has no such log.
    #[error("Worker {worker} has no such log of executor {executor}: {refusal}")]
    Refused {
        /// Which Worker.
        worker: WorkerId,
        /// Which executor.
        executor: ExecutorId,
        /// Its words.
        refusal: RefusedLog,
    },
    /// The Worker speaks of something else.
    #[error("Worker {worker} sent an unexpected answer")]
    OtherAnswer {
        /// Which Worker.
        worker: WorkerId,
    },
}

/// The logs of one executor. How it was started, which stands at the top of its standard error, is left out: only what
/// it wrote itself is shown.
#[derive(Debug)]
pub struct ExecutorLog<'a> {
    app: &'a AppId,
    executor: &'a ExecutorView,
    worker: Inquiry,
    /// How long the top of its standard error is, once that is known.
    header: Option<u64>,
}

impl<'a> ExecutorLog<'a> {
    /// Dials the Worker, as a client of that name.
    ///
    /// # Errors
    /// It cannot be reached.
    pub async fn open(app: &'a AppId, executor: &'a ExecutorView, client: &str) -> Result<Self, LogError> {
        let address = Address::new(executor.host.clone(), executor.port);
        match Inquiry::open(&address, Role::Worker, client).await {
            Ok(worker) => Ok(Self { app, executor, worker, header: None }),
            Err(error) => Err(out_of_reach(executor, error)),
        }
    }

    /// Whose logs they are.
    #[must_use]
    pub fn executor(&self) -> &'a ExecutorView {
        self.executor
    }

    /// A piece of what the executor wrote. Positions are those of the Worker, and so count what is left out.
    ///
    /// # Errors
    /// There is no such log, or its Worker cannot be asked any more.
    pub async fn piece(&mut self, stream: Stream, from: LogStart) -> Result<LogPiece, LogError> {
        match (stream, self.header, from) {
            (Stream::Stdout, _, _) => self.ask(stream, from).await,
            (Stream::Stderr, None, LogStart::Offset(0)) => {
                let piece = self.ask(stream, from).await?;
                self.header = Some(header_of(&piece));
                Ok(behind(header_of(&piece), piece))
            }
            (Stream::Stderr, header, from) => {
                let header = match header {
                    Some(header) => header,
                    None => header_of(&self.ask(stream, LogStart::Offset(0)).await?),
                };
                self.header = Some(header);
                Ok(behind(header, self.ask(stream, from).await?))
            }
        }
    }

    /// How many bytes the executor wrote so far.
    ///
    /// # Errors
    /// As of [`Self::piece`].
    pub async fn length(&mut self, stream: Stream) -> Result<u64, LogError> {
        let piece = self.piece(stream, LogStart::LastBytes(0)).await?;
        Ok(match stream {
            Stream::Stdout => piece.length,
            Stream::Stderr => piece.length.saturating_sub(self.header.unwrap_or(0)),
        })
    }

    async fn ask(&mut self, stream: Stream, from: LogStart) -> Result<LogPiece, LogError> {
        let ExecutorView { id: executor, worker, .. } = self.executor;
        let key = ExecutorKey { app: self.app.clone(), executor: *executor };
        let question = ClientToWorker::RequestLog(LogRequest { executor: key, stream, from });
        match self.worker.ask(&question).await {
            Ok(WorkerToClient::LogResponse(piece)) => Ok(piece),
            Ok(WorkerToClient::RequestLogFailed(refusal)) => {
                Err(LogError::Refused { worker: worker.clone(), executor: *executor, refusal })
            }
            Ok(WorkerToClient::WorkerStateResponse(_)) => {
                Err(LogError::OtherAnswer { worker: worker.clone() })
            }
            Err(error) => Err(out_of_reach(self.executor, error)),
        }
    }
}

fn out_of_reach(executor: &ExecutorView, error: CallError) -> LogError {
    let ExecutorView { worker, host, directory, .. } = executor;
    let (worker, host, directory) = (worker.clone(), host.clone(), directory.clone());
    LogError::OutOfReach { worker, error, host, directory }
}

/// How much of a log's first piece is its header; nothing where the log's beginning is no more.
fn header_of(first: &LogPiece) -> u64 {
    if first.start == 0 { header::length(&first.bytes) as u64 } else { 0 }
}

/// What of a piece stands behind the header.
fn behind(header: u64, piece: LogPiece) -> LogPiece {
    let skipped = header.saturating_sub(piece.start).min(piece.bytes.len() as u64);
    let at = usize::try_from(skipped).expect("no more than there are bytes");
    let bytes: Bytes = piece.bytes.slice(at..);
    LogPiece { start: piece.start + skipped, bytes, ..piece }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_the_executors_own_words_is_left_out() {
        let piece = |start: u64, text: &'static str| LogPiece {
            start,
            bytes: Bytes::from_static(text.as_bytes()),
            length: 9,
            is_over: true,
        };
        assert_eq!(behind(4, piece(0, "how\nwords")), piece(4, "words"));
        assert_eq!(behind(4, piece(2, "w\nwords")), piece(4, "words"));
        assert_eq!(behind(4, piece(6, "rds")), piece(6, "rds"));
        assert_eq!(behind(4, piece(9, "")), piece(9, ""));
        assert_eq!(behind(0, piece(0, "how\nwords")), piece(0, "how\nwords"));
    }
}
