//! One connection of a mock peer or of the null master. Frames are queued, and then written together.
//!
//! Connections in the clear have a handshake of their own here. Encrypted ones are those of the product.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use firesteel_host::net::frame::{self, FrameReader, Frames};
use firesteel_host::net::{Conversation, DialError, Introduction, Writer};
use firesteel_protocol::address::Address;
use firesteel_protocol::wire::{self, Hello, PREAMBLE, Role};
use futures_util::{FutureExt, StreamExt};
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::sleep;
use tokio_util::codec::FramedRead;

/// The maximum number of times that the kernel may reset a connection during its handshake.
const MOST_RESETS: u32 = 5;

/// A connection after the handshake.
pub struct Link {
    /// The frames that the peer sends.
    pub incoming: Incoming,
    /// The frames that are sent to the peer.
    pub outgoing: Outgoing,
}

/// The receiving half.
pub struct Incoming(Reader);

enum Reader {
    Clear(FramedRead<OwnedReadHalf, Frames>),
    Encrypted(Box<FrameReader>),
}

/// The sending half, with queued frames.
pub struct Outgoing {
    half: SendingHalf,
    queued: BytesMut,
}

enum SendingHalf {
    Clear(OwnedWriteHalf),
    Encrypted(Writer),
}

impl Link {
    /// Connects and sends the hello. If very many peers connect at the same time, the kernel answers with SYN cookies.
    /// Sometimes it rejects such a cookie and resets the connection. The peer then connects again.
    pub async fn dial(address: &str, role: Role, name: &str) -> io::Result<Self> {
        let mut resets = 0;
        loop {
            match Self::open(TcpStream::connect(address).await?, role, name).await {
                Ok((link, _)) => return Ok(link),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset && resets < MOST_RESETS => {
                    resets += 1;
                    sleep(Duration::from_millis(100)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Connects to a Master with the keys of this introduction.
    ///
    /// # Errors
    /// The Master does not answer, or does not admit them.
    pub async fn dial_encrypted(address: &Address, ours: &Introduction) -> Result<Self, DialError> {
        let conversation = Conversation::dial(address, ours, Role::Master).await?;
        let (reader, writer) = conversation.into_halves();
        let incoming = Incoming(Reader::Encrypted(Box::new(reader)));
        Ok(Self { incoming, outgoing: Outgoing::new(SendingHalf::Encrypted(writer)) })
    }

    /// The handshake, which is the same on both sides. Also returns the peer's role.
    pub async fn open(stream: TcpStream, role: Role, name: &str) -> io::Result<(Self, Role)> {
        stream.set_nodelay(true)?;
        let (mut reader, mut writer) = stream.into_split();
        writer.write_all(&opening(role, name)).await?;
        let mut preamble = [0; PREAMBLE.len()];
        reader.read_exact(&mut preamble).await?;
        wire::read_preamble(preamble).map_err(io::Error::other)?;
        let mut frames = FramedRead::with_capacity(reader, Frames::of_hello(), 4096);
        let body = frames.next().await.ok_or(io::ErrorKind::UnexpectedEof)?.map_err(io::Error::other)?;
        let theirs: Hello = wire::decode(&body).map_err(io::Error::other)?;
        frames.decoder_mut().raise_limit();
        let outgoing = Outgoing::new(SendingHalf::Clear(writer));
        Ok((Self { incoming: Incoming(Reader::Clear(frames)), outgoing }, theirs.role))
    }
}

impl Incoming {
    /// The next frame's body. `None` once the connection has ended. If this future is dropped, the next call loses
    /// nothing.
    pub async fn next(&mut self) -> Option<BytesMut> {
        match &mut self.0 {
            Reader::Clear(frames) => frames.next().await?.ok(),
            Reader::Encrypted(frames) => frames.next().await.ok()?,
        }
    }

    /// The next frame's body, if it has already arrived.
    pub fn next_now(&mut self) -> Option<BytesMut> {
        self.next().now_or_never().flatten()
    }
}

impl Outgoing {
    fn new(half: SendingHalf) -> Self {
        Self { half, queued: BytesMut::new() }
    }

    pub fn push<M: Serialize>(&mut self, message: &M) {
        append(&mut self.queued, message);
    }

    /// Writes the queued frames. Returns `false` if the connection has ended.
    pub async fn flush(&mut self) -> bool {
        let queued = self.queued.split();
        queued.is_empty() || self.write(queued).await
    }

    /// Writes bytes that consist of whole frames.
    pub async fn write(&mut self, frames: BytesMut) -> bool {
        match &mut self.half {
            SendingHalf::Clear(half) => half.write_all(&frames).await.is_ok(),
            SendingHalf::Encrypted(half) => half.write_all(&frames).await.is_ok(),
        }
    }
}

/// The preamble and the hello of a mock.
pub fn opening(role: Role, name: &str) -> BytesMut {
    let ours = Hello::new(role, name);
    let mut bytes = BytesMut::from(&PREAMBLE[..]);
    frame::append(&ours, &mut bytes, wire::MAX_HELLO).expect("a hello is short");
    bytes
}

pub fn append<M: Serialize>(frames: &mut BytesMut, message: &M) {
    frame::append(message, frames, wire::MAX_FRAME).expect("messages of a bench are short");
}
