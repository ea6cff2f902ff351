//! Logs of executors and cluster drivers, requested from their Workers.

use bytes::Bytes;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{AppId, DriverId, ExecutorKey, WorkerId};
use firesteel_protocol::messages::{
    DriverLocation, ExecutorView, LogAuthor, LogPiece, LogRange, LogStart, RefusedLog, Stream, WorkerToClient,
};
use firesteel_protocol::wire::Role;

use crate::worker::header;
use firesteel_host::net::{CallError, Inquiry, Introduction};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogAddress {
    pub author: LogAuthor,
    pub worker: WorkerId,
    pub host: String,
    pub port: u16,
    /// The directory on the Worker's host that contains the log. Empty if the Worker does not report its directories.
    pub directory: String,
}

impl LogAddress {
    #[must_use]
    pub fn of_executor(app: &AppId, executor: &ExecutorView) -> Self {
        let ExecutorView { id, worker, host, port, directory, .. } = executor;
        let author = LogAuthor::Executor(ExecutorKey { app: app.clone(), executor: *id });
        let (worker, host, directory) = (worker.clone(), host.clone(), directory.clone());
        Self { author, worker, host, port: *port, directory }
    }

    /// Whether the Worker is one of Spark's. Only those do not tell their directories.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.directory.is_empty()
    }

    /// The location of a cluster driver's logs, on its present or last Worker.
    #[must_use]
    pub fn of_driver(driver: &DriverId, place: &DriverLocation) -> Self {
        let DriverLocation { worker, host, port, directory } = place.clone();
        Self { author: LogAuthor::Driver(driver.clone()), worker, host, port, directory }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("Worker {worker} does not answer: {error}; the logs are on {host} in {directory}")]
    OutOfReach { worker: WorkerId, error: CallError, host: String, directory: String },
    /// The Worker is one of Spark's own Workers.
    #[error(
        "Worker {worker} is one of Spark's own: its web page and its work directory on {host} have the logs"
    )]
    Foreign { worker: WorkerId, host: String },
    /// The Worker does not have the requested log.
    #[error("Worker {worker} has no such log of {author}: {refusal}")]
    Refused { worker: WorkerId, author: LogAuthor, refusal: RefusedLog },
    /// The response of the Worker belongs to another request.
    #[error("Worker {worker} sent an unexpected answer")]
    OtherAnswer { worker: WorkerId },
}

/// The logs of one executor or cluster driver. The file of standard error starts with a header that says how the log's
/// author was started. The header is left out, so that only the author's own output is shown.
#[derive(Debug)]
pub struct WorkerLog<'a> {
    place: &'a LogAddress,
    worker: Inquiry,
    /// The length of the header in bytes, once it is known.
    header: Option<u64>,
}

impl<'a> WorkerLog<'a> {
    /// Dials the Worker as this client. A name is enough for a client outside of local clusters.
    ///
    /// # Errors
    /// The Worker cannot be reached, or is not a Firesteel Worker.
    pub async fn open(place: &'a LogAddress, client: impl Into<Introduction>) -> Result<Self, LogError> {
        if place.is_foreign() {
            let (worker, host) = (place.worker.clone(), place.host.clone());
            return Err(LogError::Foreign { worker, host });
        }
        let address = Address::new(place.host.clone(), place.port);
        match Inquiry::open(&address, Role::Worker, client).await {
            Ok(worker) => Ok(Self { place, worker, header: None }),
            Err(error) => Err(unreachable(place, error)),
        }
    }

    /// Reads a piece of the log. As on the Worker, positions include the header.
    ///
    /// # Errors
    /// The log does not exist, or the Worker can no longer be reached.
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

    /// The number of bytes that were written to the log so far.
    ///
    /// # Errors
    ///
    /// The same as for [`Self::piece`].
    pub async fn length(&mut self, stream: Stream) -> Result<u64, LogError> {
        let piece = self.piece(stream, LogStart::LastBytes(0)).await?;
        Ok(match stream {
            Stream::Stdout => piece.length,
            Stream::Stderr => piece.length.saturating_sub(self.header.unwrap_or(0)),
        })
    }

    async fn ask(&mut self, stream: Stream, from: LogStart) -> Result<LogPiece, LogError> {
        let LogAddress { author, worker, .. } = self.place;
        let question = LogRange { author: author.clone(), stream, from }.question();
        match self.worker.ask(&question).await {
            Ok(WorkerToClient::LogResponse(piece)) => Ok(piece),
            Ok(WorkerToClient::RequestLogFailed(refusal)) => {
                Err(LogError::Refused { worker: worker.clone(), author: author.clone(), refusal })
            }
            Ok(WorkerToClient::WorkerStateResponse(_) | WorkerToClient::WorkerReportResponse(_)) => {
                Err(LogError::OtherAnswer { worker: worker.clone() })
            }
            Err(error) => Err(unreachable(self.place, error)),
        }
    }
}

fn unreachable(place: &LogAddress, error: CallError) -> LogError {
    let LogAddress { author: _, worker, host, port: _, directory } = place.clone();
    LogError::OutOfReach { worker, error, host, directory }
}

/// The number of header bytes in a log's first piece; 0 if the beginning of the log was removed.
pub(crate) fn header_of(first: &LogPiece) -> u64 {
    if first.start == 0 { header::length(&first.bytes) as u64 } else { 0 }
}

/// The part of a piece after the header.
pub(crate) fn behind(header: u64, piece: LogPiece) -> LogPiece {
    let skipped = header.saturating_sub(piece.start).min(piece.bytes.len() as u64);
    let at = usize::try_from(skipped).expect("no more than there are bytes");
    let bytes: Bytes = piece.bytes.slice(at..);
    LogPiece { start: piece.start + skipped, bytes, ..piece }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_the_authors_own_words_is_left_out() {
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
