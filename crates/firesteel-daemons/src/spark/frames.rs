//! The frames of a connection with Spark's RPC.

use std::io;

use bytes::BytesMut;
use firesteel_host::lease::Lease;
use firesteel_host::net::{
    ConnectionPermit, OtherProtocolConnection, PartialBytes, TooMuchArrives, Transition,
};
use firesteel_spark::authentication::encryption::{Encryption, NotAuthentic};
use firesteel_spark::frame::{Frame, FrameError, LONGEST};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_rustls::TlsStream;
use tokio_util::either::Either;

/// If this number of bytes waits to be written, nothing more is read from the peer, and no more messages for the peer
/// are taken from the owner's queue. The messages need much less memory in that queue than here.
const ENOUGH: usize = 32 << 10;

/// The number of bytes reserved for a read.
const ROOM: usize = 16 << 10;

/// A connection, split into frames.
#[derive(Debug)]
pub struct Frames {
    reader: Reader,
    writer: Writer,
    /// Whether everything that was written has left.
    is_flushed: bool,
    /// What has arrived, as it came.
    arrived: BytesMut,
    /// What has arrived, decrypted.
    received: BytesMut,
    /// What is to be sent, not encrypted yet.
    to_send: BytesMut,
    to_write: BytesMut,
    encryption: Option<Encryption>,
    /// A frame that was taken too early.
    put_back: Option<Frame>,
    /// How long the peer is admitted that has shown no secret.
    transition: Option<Transition>,
    /// The longest frame that is read, in bytes.
    longest: usize,
    lease: Lease,
    _permit: Option<ConnectionPermit>,
    /// The account for the memory of what has arrived, if this side accepted the connection.
    partial: Option<PartialBytes>,
}

type Writer = Either<OwnedWriteHalf, WriteHalf<TlsStream<TcpStream>>>;

/// Writes as much as possible, or lets leave what was written.
async fn send(writer: &mut Writer, bytes: &mut BytesMut, is_flushed: &mut bool) -> io::Result<()> {
    if bytes.is_empty() {
        writer.flush().await?;
        *is_flushed = true;
    } else {
        if writer.write_buf(bytes).await? == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        *is_flushed = matches!(writer, Either::Left(_));
    }
    Ok(())
}

/// The bytes of a connection, in the clear or by TLS.
#[derive(Debug)]
enum Reader {
    Clear(OwnedReadHalf),
    Tls(ReadHalf<TlsStream<TcpStream>>),
}

impl Reader {
    /// Reads what has arrived. Returns whether the peer may send more.
    async fn read(&mut self, arrived: &mut BytesMut) -> io::Result<bool> {
        match self {
            // An idle connection holds no memory for reading.
            Self::Clear(reader) => {
                reader.readable().await?;
                arrived.reserve(ROOM);
                match reader.try_read_buf(arrived) {
                    Ok(count) => Ok(count > 0),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
                    Err(error) => Err(error),
                }
            }
            Self::Tls(reader) => {
                arrived.reserve(ROOM);
                match reader.read_buf(arrived).await {
                    Ok(count) => Ok(count > 0),
                    // Peers of Spark's end a connection without a word of TLS.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
                    Err(error) => Err(error),
                }
            }
        }
    }
}

/// Why this side ends a connection.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    #[error("it sent {0}")]
    Frame(#[from] FrameError),
    #[error(transparent)]
    NotAuthentic(#[from] NotAuthentic),
    #[error(transparent)]
    TooMuchArrives(#[from] TooMuchArrives),
    /// Peers without a secret were admitted for a time, which is over.
    #[error("it has shown no secret, and has to now")]
    NoSecret,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Frames {
    /// The frames of an accepted connection. Nothing is written after the lease has ended.
    #[must_use]
    pub fn of(connection: OtherProtocolConnection, lease: Lease) -> Self {
        let OtherProtocolConnection { stream, remote: _, permit } = connection;
        Self::of_stream(stream, lease).with_permit(permit)
    }

    /// The frames of a dialled connection. Nothing is written after the lease has ended.
    #[must_use]
    pub fn of_stream(stream: TcpStream, lease: Lease) -> Self {
        let (reader, writer) = stream.into_split();
        Self::of_halves(Reader::Clear(reader), Either::Left(writer), lease)
    }

    /// The same for a connection by TLS.
    pub(super) fn of_tls(stream: impl Into<TlsStream<TcpStream>>, lease: Lease) -> Self {
        let (reader, writer) = split(stream.into());
        Self::of_halves(Reader::Tls(reader), Either::Right(writer), lease)
    }

    fn of_halves(reader: Reader, writer: Writer, lease: Lease) -> Self {
        Self {
            reader,
            writer,
            is_flushed: true,
            arrived: BytesMut::new(),
            received: BytesMut::new(),
            to_send: BytesMut::new(),
            to_write: BytesMut::new(),
            encryption: None,
            put_back: None,
            transition: None,
            longest: LONGEST,
            lease,
            _permit: None,
            partial: None,
        }
    }

    /// The frames of an accepted connection, which has this permit.
    pub(super) fn with_permit(self, permit: ConnectionPermit) -> Self {
        let partial = Some(permit.partial());
        Self { _permit: Some(permit), partial, ..self }
    }

    /// Limits the frames that are read from now on, in bytes.
    pub(super) fn set_longest(&mut self, longest: usize) {
        self.longest = longest;
    }

    /// Ends the connection with this transition.
    pub(super) fn end_with(&mut self, transition: Transition) {
        self.transition = Some(transition);
    }

    /// Lets the next [`take`](Self::take) return this frame.
    pub(super) fn put_back(&mut self, frame: Frame) {
        self.put_back = Some(frame);
    }

    /// Encrypts what is pushed from now on, and decrypts what arrives.
    pub(super) fn encrypt(&mut self, encryption: Encryption) {
        self.seal();
        self.encryption = Some(encryption);
    }

    /// Makes the bytes that are written of those that are to be sent.
    fn seal(&mut self) {
        match &mut self.encryption {
            Some(encryption) => encryption.encrypt(&mut self.to_send, &mut self.to_write),
            None => self.to_write.unsplit(self.to_send.split()),
        }
        if self.to_send.is_empty() {
            self.to_send = BytesMut::new();
        }
    }

    /// Whether nothing more should be pushed, because too many bytes wait to be written.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.to_write.len() + self.to_send.len() >= ENOUGH
    }

    /// Adds a frame to be written by the next [`exchange`](Self::exchange).
    pub fn push(&mut self, frame: &Frame) {
        frame.encode(&mut self.to_send);
    }

    /// A frame that has arrived. `None` if more must be [read](Self::exchange) first.
    ///
    /// # Errors
    /// The received bytes cannot become a frame.
    pub fn take(&mut self) -> Result<Option<Frame>, Broken> {
        if self.put_back.is_some() {
            return Ok(self.put_back.take());
        }
        match &mut self.encryption {
            Some(encryption) => encryption.decrypt(&mut self.arrived, &mut self.received)?,
            None => self.received.unsplit(self.arrived.split()),
        }
        let frame = Frame::decode(&mut self.received, self.longest)?;
        if self.arrived.is_empty() && self.received.is_empty() {
            // An idle connection holds no memory for reading.
            (self.arrived, self.received) = (BytesMut::new(), BytesMut::new());
        }
        if let Some(partial) = &mut self.partial {
            partial.set(self.arrived.capacity() + self.received.capacity())?;
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
        if self.put_back.is_some() {
            return Ok(true);
        }
        match self.transition.clone() {
            Some(transition) => transition.run(self.transfer(is_full)).await.unwrap_or(Err(Broken::NoSecret)),
            None => self.transfer(is_full).await,
        }
    }

    async fn transfer(&mut self, is_full: bool) -> Result<bool, Broken> {
        self.seal();
        tokio::select! {
            sent = send(&mut self.writer, &mut self.to_write, &mut self.is_flushed), if self.is_owed() => {
                sent?;
                if self.to_write.is_empty() {
                    self.to_write = BytesMut::new();
                }
                Ok(true)
            }
            more = self.reader.read(&mut self.arrived), if !is_full => Ok(more?),
        }
    }

    /// Whether something is to be written.
    fn is_owed(&self) -> bool {
        !self.to_write.is_empty() || !self.is_flushed
    }

    /// Writes the remaining bytes, and waits until the peer ends the connection; what it still sends is not kept. When
    /// this side ends it first, Spark may throw away an answer that it has not looked at yet, and names no reason then
    /// but its own `InterruptedException`.
    ///
    /// # Errors
    /// The connection is broken.
    pub(super) async fn wait_for_end(&mut self) -> Result<(), Broken> {
        self.flush().await?;
        while self.exchange().await? {
            self.arrived.clear();
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Broken> {
        self.seal();
        self.writer.write_all_buf(&mut self.to_write).await?;
        Ok(self.writer.flush().await?)
    }

    /// Writes the remaining bytes, and ends this side of the connection.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn finish(mut self) -> Result<(), Broken> {
        self.flush().await?;
        Ok(self.writer.shutdown().await?)
    }
}
