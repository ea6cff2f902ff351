//! One connection of a mock peer or of the null master. Frames are queued, and then written together.

use std::io;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use firesteel_host::net::frame::{self, Frames};
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
pub struct Incoming(FramedRead<OwnedReadHalf, Frames>);

/// The sending half, with queued frames.
pub struct Outgoing {
    writer: OwnedWriteHalf,
    queued: BytesMut,
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
        let outgoing = Outgoing { writer, queued: BytesMut::new() };
        Ok((Self { incoming: Incoming(frames), outgoing }, theirs.role))
    }
}

impl Incoming {
    /// The next frame's body. `None` once the connection has ended. If this future is dropped, the next call loses
    /// nothing.
    pub async fn next(&mut self) -> Option<BytesMut> {
        self.0.next().await?.ok()
    }

    /// The next frame's body, if it has already arrived.
    pub fn next_now(&mut self) -> Option<BytesMut> {
        self.0.next().now_or_never().flatten()?.ok()
    }
}

impl Outgoing {
    pub fn push<M: Serialize>(&mut self, message: &M) {
        append(&mut self.queued, message);
    }

    /// Writes the queued frames. Returns `false` if the connection has ended.
    pub async fn flush(&mut self) -> bool {
        while self.queued.has_remaining() {
            if self.writer.write_buf(&mut self.queued).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Writes bytes that consist of whole frames.
    pub async fn write(&mut self, frames: BytesMut) -> bool {
        self.writer.write_all(&frames).await.is_ok()
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
