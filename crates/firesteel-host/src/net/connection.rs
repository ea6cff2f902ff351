//! One connection after its handshake: reading, writing and ending it.

use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Duration;

use bytes::Buf;
use firesteel_protocol::fair_queue::Urgency;
use firesteel_protocol::ids::PeerId;
use firesteel_protocol::messages::Rights;
use firesteel_protocol::wire::{DecodeError, TooLong};
use futures_util::FutureExt;
use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::encryption::keyring::UserName;
use super::frame::{FrameError, FrameReader, sign_of_life};
use super::listener::limits::ConnectionPermit;
use super::outbound::{CloseMode, Load, LoadQueue, Next};
use super::pace::Pace;
use super::writer::Writer;
use super::{
    Arrival, Decode, FIRST_MESSAGE_TIMEOUT, FLUSH_TIMEOUT, PAUSED_BYTES, PeerInfo, SIGN_OF_LIFE,
    WRITE_TIMEOUT,
};
use crate::inbox::{Inbox, OwnerGone};
use crate::lease::Lease;

/// Why a connection ended. The text is a sentence about the peer, without the peer's name.
#[derive(Debug, thiserror::Error)]
pub enum Disconnect {
    #[error("it closed the connection")]
    ByPeer,
    /// This side closed the connection, after everything queued was sent.
    #[error("this side closed the connection")]
    Here,
    /// This side closed the connection, and the peer did not read everything that was queued.
    #[error(
        "this side closed the connection before everything was sent, after {} s",
        FLUSH_TIMEOUT.as_secs()
    )]
    HereUnflushed,
    #[error("it reads too slowly: {bytes} bytes are queued for it")]
    Slow { bytes: usize },
    /// The peer reads nothing at all.
    #[error("it read nothing for {} s", WRITE_TIMEOUT.as_secs())]
    Blocked,
    /// The peer has completed the handshake, but has not sent a message.
    #[error("it sent nothing within {} s after the handshake", FIRST_MESSAGE_TIMEOUT.as_secs())]
    Mute,
    /// A frame from the peer cannot be read.
    #[error(transparent)]
    Frame(FrameError),
    #[error(transparent)]
    Message(#[from] DecodeError),
    /// A message for the peer does not fit into a frame.
    #[error("a message for it cannot be sent: {0}")]
    TooLong(#[from] TooLong),
    /// Peers without a secret were admitted for a time, which is over.
    #[error("it has shown no secret, and has to now")]
    NoSecret,
    /// The lease of this side has ended, so this side may not send any more.
    #[error("this side's lease is over")]
    LeaseOver,
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Disconnect {
    #[must_use]
    pub fn is_ordinary(&self) -> bool {
        match self {
            Self::ByPeer | Self::Here | Self::Mute | Self::LeaseOver => true,
            Self::Io(error) | Self::Frame(FrameError::Io(error)) => matches!(
                error.kind(),
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted
            ),
            Self::HereUnflushed
            | Self::NoSecret
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
    let PeerInfo { id, role, name, remote, version: _, has_proven_user: _ } = peer;
    if why.is_ordinary() {
        tracing::debug!(peer = %id, %remote, "{role} {name:?} disconnected: {why}");
    } else {
        tracing::warn!(peer = %id, %remote, "connection of {role} {name:?} closed: {why}");
    }
}

/// The functions and limits for reading the messages of a peer.
#[derive(Debug)]
pub(super) struct Reading<E> {
    pub(super) peer: PeerId,
    pub(super) user: Option<UserName>,
    pub(super) rights: Rights,
    pub(super) decode: Decode<E>,
    pub(super) urgency: Urgency,
    /// The pace of a peer whose next message is read only after the last one was handled.
    pub(super) pace: Option<Box<Pace>>,
    /// The time limit for the peer's first message. `None`: no limit.
    pub(super) first_within: Option<Duration>,
}

/// Serves a connection, and keeps its permit, until the connection ends. Messages from the peer go to the inbox, with
/// the end of the connection as the last entry. Queued messages go to the peer.
///
/// This function and [`read`] are not `async fn`: an `async fn` stores its arguments twice, and there are many
/// connections.
pub(super) fn serve<E: Send + 'static>(
    (mut reader, mut writer): (FrameReader, Writer),
    (queue, lease): (LoadQueue, Lease),
    reading: Reading<E>,
    inbox: Inbox<E>,
    permit: Option<ConnectionPermit>,
) -> impl Future<Output = ()> + Send {
    let peer = reading.peer;
    async move {
        // The owner's reason takes precedence, even if the owner's request makes the writer finish.
        let why = tokio::select! {
            biased;
            why = close_request(&queue) => why,
            why = write(&mut writer, &queue, &lease) => why,
            why = read(&mut reader, reading, &inbox, &queue) => why,
        };
        if matches!(why, Disconnect::Here) {
            linger(reader.half()).await;
        }
        drop((reader, writer, queue));
        inbox.closed(peer, why);
        drop(permit);
    }
}

/// Reads until the connection ends. While the inbox is full, nothing is read, which slows down a fast peer. A client's
/// next message is read only after the answer to the last one was sent, and a driver's after the last one was handled.
fn read<E: Send + 'static>(
    reader: &mut FrameReader,
    reading: Reading<E>,
    inbox: &Inbox<E>,
    queue: &LoadQueue,
) -> impl Future<Output = Disconnect> + Send {
    let Reading { peer, user, rights, decode, urgency, mut pace, mut first_within } = reading;
    async move {
        loop {
            let body = match first_within.take() {
                // On the heap, because otherwise a connection's task would be larger by this all the time.
                Some(time) => match Box::pin(timeout(time, reader.next())).await {
                    Ok(body) => body,
                    Err(_) => return Disconnect::Mute,
                },
                None => reader.next().await,
            };
            let body = match body {
                Ok(Some(body)) => body,
                Ok(None) => return Disconnect::ByPeer,
                Err(FrameError::Io(error)) => return Disconnect::Io(error),
                Err(error) => return Disconnect::Frame(error),
            };
            let user = user.as_ref().map(UserName::as_str);
            let arrival = Arrival { peer, user, rights, at: inbox.now() };
            let event = match decode(arrival, &body) {
                Ok(event) => event,
                Err(error) => return Disconnect::Message(error),
            };
            let bytes = body.len();
            drop(body);
            let put = match urgency {
                Urgency::Ordinary => match &mut pace {
                    Some(pace) => Box::pin(inbox.message_in_turn(arrival, bytes, event, pace)).await,
                    None => inbox.message(arrival, urgency, bytes, (event, None)).await,
                },
                // On the heap, since most connections do not need it.
                Urgency::Urgent => match Box::pin(ask(inbox, arrival, bytes, event, queue, reader)).await {
                    Ok(true) => return Disconnect::ByPeer,
                    Ok(false) => Ok(()),
                    Err(gone) => Err(gone),
                },
            };
            if put.is_err() {
                // The owner has ended; its last messages may still be on their way.
                std::future::pending().await
            }
        }
    }
}

/// Puts a client's message into the inbox and waits until it was handled and the answer was sent. Returns whether the
/// client has closed the connection. Then it waits for no answer, so what else it has sent is not read.
async fn ask<E>(
    inbox: &Inbox<E>,
    arrival: Arrival<'_>,
    bytes: usize,
    event: E,
    queue: &LoadQueue,
    reader: &FrameReader,
) -> Result<bool, OwnerGone> {
    let (turn, handled) = oneshot::channel();
    inbox.message(arrival, Urgency::Urgent, bytes, (event, Some(turn))).await?;
    let answered = async {
        let _ = handled.await;
        // The same task writes what is queued, so it is awake when the last byte was written.
        poll_fn(|_| if queue.owed() == 0 { Poll::Ready(()) } else { Poll::Pending }).await;
    };
    Ok(tokio::select! {
        biased;
        () = answered => reader.is_closed(),
        () = reader.closed() => true,
    })
}

/// Writes queued frames until the owner has closed the queue. Writes nothing after the lease has ended. If the lease
/// can end, sends signs of life while nothing else is sent.
async fn write(writer: &mut Writer, queue: &LoadQueue, lease: &Lease) -> Disconnect {
    loop {
        let next = poll_fn(|context| queue.poll_next(context));
        let next = match lease.has_end() {
            false => Ok(next.await),
            true => Box::pin(timeout(SIGN_OF_LIFE, next)).await,
        };
        let load = match next {
            Ok(Next::Load(load)) => load,
            Ok(Next::End) => break,
            Err(_) if !lease.holds() => return Disconnect::LeaseOver,
            // On the heap, since most connections do not need it.
            Err(_) => match Box::pin(writer.write_all(&sign_of_life())).await {
                Ok(()) => continue,
                Err(error) => return Disconnect::Io(error),
            },
        };
        let Load::Frames(mut frames) = load else { unreachable!("a connection has a queue of frames") };
        while frames.has_remaining() || !writer.is_flushed() {
            if !lease.holds() {
                return Disconnect::LeaseOver;
            }
            let weight = frames.weight();
            let mut writing = poll_fn(|context| writer.poll_write(context, &mut frames));
            let written = match (&mut writing).now_or_never() {
                Some(written) => written,
                // On the heap, since most connections do not need it.
                None => match Box::pin(timeout(WRITE_TIMEOUT, writing)).await {
                    Ok(written) => written,
                    // A peer that pauses is kept while little is queued for it.
                    Err(_) if queue.owed() <= PAUSED_BYTES => Ok(()),
                    Err(_) => return Disconnect::Blocked,
                },
            };
            match written {
                Ok(()) => queue.written(weight - frames.weight()),
                Err(error) => return Disconnect::Io(error),
            }
        }
    }
    match writer.shutdown().await {
        Ok(()) => Disconnect::Here,
        Err(error) => Disconnect::Io(error),
    }
}

/// Waits until the owner asks to end the connection.
async fn close_request(queue: &LoadQueue) -> Disconnect {
    match poll_fn(|context| queue.poll_close(context)).await {
        CloseMode::Now(why) => why,
        // The writer finishes, or fails.
        CloseMode::AfterFlush => {
            sleep(FLUSH_TIMEOUT).await;
            Disconnect::HereUnflushed
        }
    }
}

/// Reads and discards the remaining data from the peer. If a socket with unread bytes were closed, the operating system
/// would also discard sent bytes that the peer has not yet received.
async fn linger(reader: &mut OwnedReadHalf) {
    // On the heap, because otherwise a connection's task would be larger by this all the time.
    let mut scrap = vec![0; 4096];
    let drain = async { while matches!(reader.read(&mut scrap).await, Ok(1..)) {} };
    let _ = timeout(Duration::from_secs(1), drain).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_future<A, B, C, D, E, F>(_: fn(A, B, C, D, E) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_task_of_a_connection_is_small() {
        let size = size_of_future(serve::<()>);
        assert!(size <= 1280, "{size} bytes, for each of many connections");
    }
}
