//! One connection after its handshake: reading, writing and ending it.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use firesteel_core::ids::PeerId;
use firesteel_core::wire::{DecodeError, TooLong};
use firesteel_placement::words::counted;
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_util::codec::{Encoder, FramedRead};

use super::frame::{FrameError, Frames};
use super::handshake::Introduced;
use super::outbound::{CloseMode, FrameQueue};
use super::{Decode, FLUSH_TIMEOUT, FRAME_TIMEOUT, PeerInfo, WRITE_TIMEOUT};
use crate::inbox::Inbox;

/// Why a connection ended. Worded as a sentence about the peer, without its name.
#[derive(Debug, thiserror::Error)]
pub enum Disconnect {
    /// The peer closed it.
    #[error("it closed the connection")]
    ByPeer,
    /// This side closed it, after everything queued was sent.
    #[error("this side closed the connection")]
    Here,
    /// This side closed it, and the peer did not take everything that was queued.
    #[error(
        "this side closed the connection before everything was sent, after {} s",
        FLUSH_TIMEOUT.as_secs()
    )]
    HereUnflushed,
    /// The peer reads too slowly: its queue is full.
    #[error("it reads too slowly: {} with {} bytes are queued for it", counted(*.frames, "message"), .bytes)]
    Slow {
        /// The number of frames in the queue.
        frames: usize,
        /// The number of bytes in the queue.
        bytes: usize,
    },
    /// The peer reads nothing at all.
    #[error("it read nothing for {} s", WRITE_TIMEOUT.as_secs())]
    Blocked,
    /// A frame from the peer cannot be read.
    #[error(transparent)]
    Frame(FrameError),
    /// A message from the peer cannot be decoded.
    #[error(transparent)]
    Message(#[from] DecodeError),
    /// A message for the peer does not fit into a frame.
    #[error("a message for it cannot be sent: {0}")]
    TooLong(#[from] TooLong),
    /// The operating system reported an error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Disconnect {
    /// Whether this is an ordinary way for a connection to end.
    #[must_use]
    pub fn is_ordinary(&self) -> bool {
        match self {
            Self::ByPeer | Self::Here => true,
            Self::Io(error) | Self::Frame(FrameError::Io(error)) => matches!(
                error.kind(),
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted
            ),
            Self::HereUnflushed
            | Self::Slow { .. }
            | Self::Blocked
            | Self::Frame(_)
            | Self::Message(_)
            | Self::TooLong(_) => false,
        }
    }
}

/// Logs the end of a connection in one line: as a warning, unless it is an ordinary end.
pub(super) fn log_end(peer: &PeerInfo, why: &Disconnect) {
    let PeerInfo { id, role, name, remote } = peer;
    if why.is_ordinary() {
        tracing::debug!(peer = %id, %remote, "{role} {name:?} disconnected: {why}");
    } else {
        tracing::warn!(peer = %id, %remote, "connection of {role} {name:?} closed: {why}");
    }
}

/// Serves a connection until it ends. Messages from the peer go to the inbox; queued messages go to the
/// peer.
pub(super) async fn serve<E: Send + 'static>(
    peer: PeerId,
    introduced: Introduced,
    mut queue: FrameQueue,
    ended: oneshot::Receiver<CloseMode>,
    decode: Decode<E>,
    inbox: &Inbox<E>,
) -> Disconnect {
    let Introduced { mut reader, mut writer, .. } = introduced;
    // The owner's reason takes precedence, even if the owner's request is what makes the writer finish.
    let why = tokio::select! {
        biased;
        why = close_request(ended) => why,
        why = write(&mut writer, &mut queue) => why,
        why = read(peer, &mut reader, decode, inbox) => why,
    };
    if matches!(why, Disconnect::Here) {
        linger(reader.get_mut()).await;
    }
    why
}

/// Reads until the connection ends. Waiting for room in the inbox slows down a fast peer.
async fn read<E: Send + 'static>(
    peer: PeerId,
    reader: &mut FramedRead<OwnedReadHalf, Frames>,
    decode: Decode<E>,
    inbox: &Inbox<E>,
) -> Disconnect {
    loop {
        let body = match next_frame(reader).await {
            Ok(Some(body)) => body,
            Ok(None) => return Disconnect::ByPeer,
            Err(FrameError::Io(error)) => return Disconnect::Io(error),
            Err(error) => return Disconnect::Frame(error),
        };
        let permit = inbox.reserve(body.len()).await;
        let event = match decode(peer, &body) {
            Ok(event) => event,
            Err(error) => return Disconnect::Message(error),
        };
        if inbox.message(peer, event, permit).await.is_err() {
            // The owner has ended; its last messages may still be on their way.
            std::future::pending().await
        }
    }
}

/// The next frame's body, or `None` at a clean end. A peer may be silent between frames, but not within
/// one.
pub(super) async fn next_frame(
    reader: &mut FramedRead<OwnedReadHalf, Frames>,
) -> Result<Option<BytesMut>, FrameError> {
    let mut stalled = false;
    loop {
        match timeout(FRAME_TIMEOUT, reader.next()).await {
            Ok(frame) => return frame.transpose(),
            Err(_) if stalled && reader.decoder().has_partial_frame() => {
                return Err(FrameError::Stalled { seconds: FRAME_TIMEOUT.as_secs() });
            }
            Err(_) => stalled = reader.decoder().has_partial_frame(),
        }
    }
}

/// The number of bytes that are gathered for one write.
const GATHER: usize = 256 << 10;

/// Writes queued frames until the owner's end of the queue is dropped.
async fn write(writer: &mut OwnedWriteHalf, queue: &mut FrameQueue) -> Disconnect {
    let mut frames = Frames::of_hello();
    while let Some(body) = queue.frames.recv().await {
        let (mut buffer, bodies) = gather(body, queue, &mut frames);
        while buffer.has_remaining() {
            match timeout(WRITE_TIMEOUT, writer.write_buf(&mut buffer)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Disconnect::Io(error),
                Err(_) => return Disconnect::Blocked,
            }
        }
        queue.written(bodies);
    }
    match writer.shutdown().await {
        Ok(()) => Disconnect::Here,
        Err(error) => Disconnect::Io(error),
    }
}

/// Gathers this frame and the frames queued behind it into one write of at most [`GATHER`] bytes. Also
/// returns the number of bytes in their bodies.
fn gather(first: Bytes, queue: &mut FrameQueue, frames: &mut Frames) -> (BytesMut, usize) {
    let mut buffer = BytesMut::with_capacity(first.len() + 64);
    let mut bodies = 0;
    let mut next = Some(first);
    while let Some(body) = next {
        bodies += body.len();
        frames.encode(body, &mut buffer).expect("a body that is longer than a frame may be is never queued");
        next = if buffer.len() < GATHER { queue.frames.try_recv().ok() } else { None };
    }
    (buffer, bodies)
}

/// Waits until the owner asks to end the connection.
async fn close_request(ended: oneshot::Receiver<CloseMode>) -> Disconnect {
    match ended.await {
        Ok(CloseMode::Now(why)) => why,
        // The sending end of the queue is gone too: the writer finishes, or fails.
        Ok(CloseMode::AfterFlush) | Err(_) => {
            sleep(FLUSH_TIMEOUT).await;
            Disconnect::HereUnflushed
        }
    }
}

/// Reads and discards what the peer still sends. If a socket with unread bytes were closed, the system
/// would discard what was sent to the peer and not yet received.
async fn linger(reader: &mut OwnedReadHalf) {
    let mut scrap = [0; 4096];
    let drain = async { while matches!(reader.read(&mut scrap).await, Ok(1..)) {} };
    let _ = timeout(Duration::from_secs(1), drain).await;
}
