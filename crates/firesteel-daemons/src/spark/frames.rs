//! The frames of a connection with Spark's RPC.

use std::io;

use bytes::{Buf, BytesMut};
use firesteel_host::lease::Lease;
use firesteel_host::net::{ConnectionPermit, OtherProtocolConnection};
use firesteel_spark::frame::{Frame, FrameError};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// The longest frame that is read, in bytes. An application's description has some ten thousand bytes.
const MOST: usize = 8 << 20;

/// If this number of bytes waits to be written, nothing more is read from the peer, and no more messages for the peer
/// are taken from the owner's queue. The messages need much less memory in that queue than here.
const ENOUGH: usize = 32 << 10;

/// The number of bytes reserved for a read.
const ROOM: usize = 16 << 10;

/// A connection, split into frames.
#[derive(Debug)]
pub struct Frames {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    received: BytesMut,
    to_write: BytesMut,
    lease: Lease,
    _permit: Option<ConnectionPermit>,
}

/// Why this side ends a connection.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    #[error("it sent {0}")]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Frames {
    /// The frames of an accepted connection. Nothing is written after the lease has ended.
    #[must_use]
    pub fn of(connection: OtherProtocolConnection, lease: Lease) -> Self {
        let OtherProtocolConnection { stream, remote: _, permit } = connection;
        Self { _permit: Some(permit), ..Self::of_stream(stream, lease) }
    }

    /// The frames of a dialled connection. Nothing is written after the lease has ended.
    #[must_use]
    pub fn of_stream(stream: TcpStream, lease: Lease) -> Self {
        let (reader, writer) = stream.into_split();
        let (received, to_write) = (BytesMut::new(), BytesMut::new());
        Self { reader, writer, received, to_write, lease, _permit: None }
    }

    /// Whether nothing more should be pushed, because too many bytes wait to be written.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.to_write.len() >= ENOUGH
    }

    /// Adds a frame to be written by the next [`exchange`](Self::exchange).
    pub fn push(&mut self, frame: &Frame) {
        frame.encode(&mut self.to_write);
    }

    /// A frame that has arrived. `None` if more must be [read](Self::exchange) first.
    ///
    /// # Errors
    /// The received bytes cannot become a frame.
    pub fn take(&mut self) -> Result<Option<Frame>, Broken> {
        let frame = Frame::decode(&mut self.received, MOST)?;
        if self.received.is_empty() {
            // An idle connection holds no memory for reading.
            self.received = BytesMut::new();
        }
        Ok(frame)
    }

    /// Writes and reads as much as possible. Returns whether the peer may send more. The future may be dropped and
    /// called again.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn exchange(&mut self) -> Result<bool, Broken> {
        let is_full = self.is_full();
        if !self.lease.holds() {
            return Ok(false);
        }
        tokio::select! {
            written = self.writer.write_buf(&mut self.to_write), if self.to_write.has_remaining() => {
                if written? == 0 {
                    return Err(io::Error::from(io::ErrorKind::WriteZero).into());
                }
                if self.to_write.is_empty() {
                    self.to_write = BytesMut::new();
                }
                Ok(true)
            }
            readable = self.reader.readable(), if !is_full => {
                readable?;
                self.received.reserve(ROOM);
                match self.reader.try_read_buf(&mut self.received) {
                    Ok(count) => Ok(count > 0),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
                    Err(error) => Err(error.into()),
                }
            }
        }
    }

    /// Writes the remaining bytes, and ends this side of the connection.
    ///
    /// # Errors
    ///
    /// The connection is broken.
    pub async fn finish(mut self) -> Result<(), Broken> {
        self.writer.write_all_buf(&mut self.to_write).await?;
        Ok(self.writer.shutdown().await?)
    }
}
