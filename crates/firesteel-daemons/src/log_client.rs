//! Reads logs of executors and cluster drivers as their authors wrote them: without the header.
//!
//! The file of standard error starts with a header that says how the log's author was started.

use bytes::Bytes;
use firesteel_protocol::messages::{LogAuthor, LogPiece, LogRange, LogStart, Requester, Stream};

use crate::master_client::{Carrier, MasterClient};
use crate::worker::header;

/// Where logs with their headers are read.
pub trait LogSource {
    /// Why a piece cannot be read.
    type Error;

    /// Asks for a piece of a log. Positions include the header.
    ///
    /// # Errors
    /// The log cannot be read.
    fn ask(&mut self, range: LogRange) -> impl Future<Output = Result<LogPiece, Self::Error>> + Send;
}

/// The logs of one executor or cluster driver.
#[derive(Clone, Debug)]
pub struct Log {
    author: LogAuthor,
    /// The length of the header in bytes, once it is known.
    header: Option<u64>,
}

impl Log {
    #[must_use]
    pub fn of(author: LogAuthor) -> Self {
        Self { author, header: None }
    }

    #[must_use]
    pub fn author(&self) -> &LogAuthor {
        &self.author
    }

    /// Reads a piece of the log. Positions include the header, which is left out.
    ///
    /// # Errors
    /// The log cannot be read.
    pub async fn piece<S: LogSource>(
        &mut self,
        source: &mut S,
        stream: Stream,
        from: LogStart,
    ) -> Result<LogPiece, S::Error> {
        let range = |from| LogRange { author: self.author.clone(), stream, from };
        let header = match (stream, self.header, from) {
            (Stream::Stdout, _, _) => return source.ask(range(from)).await,
            (Stream::Stderr, Some(header), _) => header,
            (Stream::Stderr, None, LogStart::Offset(0)) => {
                let piece = source.ask(range(from)).await?;
                self.header = Some(header_of(&piece));
                return Ok(behind(header_of(&piece), piece));
            }
            (Stream::Stderr, None, _) => header_of(&source.ask(range(LogStart::Offset(0))).await?),
        };
        let piece = source.ask(range(from)).await?;
        self.header = Some(header);
        Ok(behind(header, piece))
    }

    /// The number of bytes that were written to the log so far.
    ///
    /// # Errors
    /// The log cannot be read.
    pub async fn length<S: LogSource>(&mut self, source: &mut S, stream: Stream) -> Result<u64, S::Error> {
        let piece = self.piece(source, stream, LogStart::LastBytes(0)).await?;
        Ok(match stream {
            Stream::Stdout => piece.length,
            Stream::Stderr => piece.length.saturating_sub(self.header.unwrap_or(0)),
        })
    }
}

/// The logs of a cluster, read through its Master for this requester.
#[derive(Debug)]
pub struct MasterLogs<C> {
    pub client: MasterClient<C>,
    pub by: Requester,
}

/// Why a Master's client has no piece of a log.
#[derive(Debug, thiserror::Error)]
pub enum LogError<E> {
    /// The Master does not answer.
    #[error("{0}")]
    Call(E),
    #[error("{0}")]
    Forbidden(String),
    #[error("{0}")]
    None(String),
}

impl<C: Carrier<Error: Send> + Send> LogSource for MasterLogs<C> {
    type Error = LogError<C::Error>;

    async fn ask(&mut self, range: LogRange) -> Result<LogPiece, Self::Error> {
        self.client.log(range, self.by.clone()).await
    }
}

/// The number of header bytes in a log's first piece; 0 if the beginning of the log was removed.
fn header_of(first: &LogPiece) -> u64 {
    if first.start == 0 { header::length(&first.bytes) as u64 } else { 0 }
}

/// The part of a piece after the header.
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
