//! The frame format: a header of three big-endian `u32`, then the body.
//!
//! The header has the body's length, the CRC-32 of these four length bytes, and the CRC-32 of the body. So one or two
//! changed bits are detected anywhere in a frame, and a corrupt length is never used.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use firesteel_protocol::wire::{self, TooLong};
use futures_util::FutureExt;
use serde::Serialize;
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::codec::Decoder;

use super::encryption::noise::{Decryptor, NotAuthentic};
use super::listener::limits::{PartialBytes, TooMuchArrives};
use super::writer::Writer;
use super::{FRAME_TIMEOUT, LONGEST_SILENCE};

/// The number of bytes in a frame's header.
pub const HEADER: usize = 12;

/// The initial capacity of a buffer for a usual frame, in bytes, so that the buffer does not grow in small steps.
const USUAL: usize = 256;

/// The least number of bytes by which the buffer for an incomplete frame grows.
const STEP: usize = 4096;

/// Appends a message, encoded as a frame, to the frames in this buffer.
///
/// # Errors
///
/// The message is longer than `limit`, which is [`wire::MAX_HELLO`] or [`wire::MAX_FRAME`]. Then nothing is appended.
pub fn append<M: Serialize>(message: &M, frames: &mut BytesMut, limit: usize) -> Result<(), TooLong> {
    let start = frames.len();
    frames.reserve(USUAL);
    frames.extend_from_slice(&[0; HEADER]);
    if let Err(error) = wire::append(message, frames, limit) {
        frames.truncate(start);
        return Err(error);
    }
    let (header, body) = frames[start..].split_at_mut(HEADER);
    header.copy_from_slice(&header_of(body));
    Ok(())
}

fn header_of(body: &[u8]) -> [u8; HEADER] {
    let length = u32::try_from(body.len()).expect("a frame is not that long").to_be_bytes();
    let words = [length, crc32fast::hash(&length).to_be_bytes(), crc32fast::hash(body).to_be_bytes()];
    let mut header = [0; HEADER];
    header.as_chunks_mut().0.copy_from_slice(&words);
    header
}

/// A frame without a body. It is a sign of life, and no message.
pub(super) fn sign_of_life() -> [u8; HEADER] {
    header_of(&[])
}

thread_local! {
    /// A buffer for reading while the number of bytes is unknown. All connections of a thread share the buffer, so an
    /// idle connection needs no memory for one.
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; 64 << 10]);
}

#[derive(Debug)]
pub struct FrameReader {
    half: OwnedReadHalf,
    /// `None`: the connection is not encrypted.
    decryptor: Option<Box<Decryptor>>,
    frames: Frames,
    /// The received bytes that do not form a complete frame yet.
    received: BytesMut,
    /// The time when the incomplete frame began to arrive.
    begun: Option<Instant>,
    /// How long the peer may be silent between frames. `None`: the peer sends no signs of life.
    longest_silence: Option<Duration>,
    /// The account for the memory of an incomplete frame, if this side accepted the connection.
    partial: Option<Box<PartialBytes>>,
}

impl FrameReader {
    /// A reader with the low limit for the frame of a hello.
    pub(super) fn of_hello(half: OwnedReadHalf, decryptor: Option<Box<Decryptor>>) -> Self {
        Self {
            half,
            decryptor,
            frames: Frames::of_hello(),
            received: BytesMut::new(),
            begun: None,
            longest_silence: None,
            partial: None,
        }
    }

    pub(super) fn raise_limit(&mut self) {
        self.frames.raise_limit();
    }

    /// Counts incomplete frames on this account from now on.
    pub(super) fn charge(&mut self, partial: PartialBytes) {
        self.partial = Some(Box::new(partial));
    }

    /// Expects signs of life from the peer from now on.
    pub(super) fn expect_life(&mut self) {
        self.longest_silence = Some(LONGEST_SILENCE);
    }

    /// Moves a connection to another runtime. Received bytes are kept.
    ///
    /// # Errors
    /// The operating system does not let the runtime wait for the socket.
    pub(super) fn moved_to(self, writer: Writer, runtime: &Handle) -> io::Result<(Self, Writer)> {
        let (writing, encryptor) = writer.into_parts();
        let stream = self.half.reunite(writing).expect("both halves are of one connection").into_std()?;
        let _entered = runtime.enter();
        let (half, writing) = TcpStream::from_std(stream)?.into_split();
        Ok((Self { half, ..self }, Writer::new(writing, encryptor)))
    }

    pub(super) fn half(&mut self) -> &mut OwnedReadHalf {
        &mut self.half
    }

    /// The next frame's body, or `None` at a clean end. A peer must not pause within a frame. Between frames a peer may
    /// pause, unless it sends signs of life. The future may be dropped and called again.
    ///
    /// # Errors
    /// The frame is too long or does not come in time, or the connection breaks.
    pub async fn next(&mut self) -> Result<Option<BytesMut>, FrameError> {
        loop {
            if let Some(body) = self.frames.decode(&mut self.received)? {
                self.begun = None;
                // It takes memory until the caller asks for the next one.
                self.count(body.len())?;
                if body.is_empty() && self.longest_silence.is_some() {
                    // A sign of life.
                    continue;
                }
                return Ok(Some(body));
            }
            let record = self.decryptor.as_deref().map_or(0, Decryptor::memory);
            let received = if self.has_partial_frame() {
                self.count(self.received.capacity() + record)?;
                let begun = *self.begun.get_or_insert_with(Instant::now);
                let stalled = || FrameError::Stalled { seconds: FRAME_TIMEOUT.as_secs() };
                timeout_at(begun + FRAME_TIMEOUT, poll_fn(|context| self.poll_receive(context)))
                    .await
                    .map_err(|_| stalled())??
            } else {
                self.received = BytesMut::new();
                self.count(0)?;
                let silence = self.longest_silence;
                let receiving = poll_fn(|context| self.poll_receive(context));
                match silence {
                    None => receiving.await?,
                    Some(silence) => {
                        let silent = || FrameError::Silent { seconds: silence.as_secs() };
                        // On the heap, since most connections do not need it.
                        Box::pin(timeout(silence, receiving)).await.map_err(|_| silent())??
                    }
                }
            };
            if received == 0 {
                let is_half = self.has_partial_frame();
                return match self.frames.decode_eof(&mut self.received)? {
                    None if is_half => Err(FrameError::Half),
                    frame => Ok(frame),
                };
            }
        }
    }

    fn has_partial_frame(&self) -> bool {
        self.frames.has_partial_frame()
            || self.decryptor.as_deref().is_some_and(Decryptor::has_partial_record)
    }

    /// Counts the memory of a frame that is incomplete, or that the caller has not passed on.
    fn count(&mut self, bytes: usize) -> Result<(), FrameError> {
        match &mut self.partial {
            Some(partial) => partial.set(bytes).map_err(|error| FrameError::TooMuchArrives(Box::new(error))),
            None => Ok(()),
        }
    }

    /// Whether the peer has closed its side of the connection. Data from before the end may be unread.
    pub(super) fn is_closed(&self) -> bool {
        let ready = self.half.ready(Interest::READABLE).now_or_never();
        matches!(ready, Some(Ok(ready)) if ready.is_read_closed())
    }

    /// Waits until the peer closes its side of the connection. Never returns if the peer sends something first.
    pub(super) async fn closed(&self) {
        match self.half.ready(Interest::READABLE).await {
            Ok(ready) if !ready.is_read_closed() => std::future::pending().await,
            Ok(_) | Err(_) => {}
        }
    }

    /// Receives some bytes. Returns 0 at the end.
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<usize, FrameError>> {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            ready!(Pin::new(&mut self.half).poll_read(context, &mut buffer))?;
            let arrived = buffer.filled();
            match &mut self.decryptor {
                None => self.received.extend_from_slice(arrived),
                Some(decryptor) => decryptor.decrypt(arrived, &mut self.received)?,
            }
            Poll::Ready(Ok(arrived.len()))
        })
    }
}

/// A codec that splits a byte stream into bodies of frames, and checks them. The limit on the length is raised after
/// the hello. The codec can say whether a frame is incomplete.
#[derive(Debug)]
pub struct Frames {
    limit: usize,
    /// The announced length and checksum of the next body.
    awaited: Option<Awaited>,
    midway: bool,
}

/// The length and checksum of a body whose header was read.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    length: usize,
    checksum: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("it announced a frame of {length} bytes, and at most {limit} are accepted")]
    TooLong {
        /// The length that the frame announces.
        length: usize,
        limit: usize,
    },
    #[error("the checksum of a frame from it is wrong: its bytes were changed on the way")]
    Corrupt,
    /// The connection ended within the frame.
    #[error("it closed the connection in the middle of a frame")]
    Half,
    /// The rest of the frame did not arrive in time.
    #[error("it did not complete a frame within {seconds} s")]
    Stalled { seconds: u64 },
    /// The peer sends signs of life, but none arrived in time.
    #[error("it gave no sign of life for {seconds} s")]
    Silent { seconds: u64 },
    #[error(transparent)]
    TooMuchArrives(Box<TooMuchArrives>),
    #[error(transparent)]
    NotAuthentic(#[from] NotAuthentic),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Frames {
    /// A codec for the frame of a hello, with its low limit.
    #[must_use]
    pub fn of_hello() -> Self {
        Self { limit: wire::MAX_HELLO, awaited: None, midway: false }
    }

    pub fn raise_limit(&mut self) {
        self.limit = wire::MAX_FRAME;
    }

    /// Whether a frame has begun and is incomplete.
    #[must_use]
    pub fn has_partial_frame(&self) -> bool {
        self.midway
    }

    /// Takes a header, if it has arrived completely. A wrong or too large length is refused before memory is allocated
    /// for the body.
    fn begin(&mut self, source: &mut BytesMut) -> Result<(), FrameError> {
        let Some(header) = source.first_chunk::<HEADER>() else { return Ok(()) };
        let mut header = &header[..];
        let [length, of_length, checksum] = std::array::from_fn(|_| header.get_u32());
        if crc32fast::hash(&length.to_be_bytes()) != of_length {
            return Err(FrameError::Corrupt);
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > self.limit {
            return Err(FrameError::TooLong { length, limit: self.limit });
        }
        source.advance(HEADER);
        self.awaited = Some(Awaited { length, checksum });
        Ok(())
    }

    fn end(&mut self, source: &mut BytesMut) -> Result<Option<BytesMut>, FrameError> {
        let Some(Awaited { length, checksum }) = self.awaited else { return Ok(None) };
        if source.len() < length {
            // In steps, so that a length that is only announced takes no memory.
            source.reserve((length - source.len()).min(source.len().max(STEP)));
            return Ok(None);
        }
        self.awaited = None;
        let body = source.split_to(length);
        if crc32fast::hash(&body) != checksum {
            return Err(FrameError::Corrupt);
        }
        Ok(Some(body))
    }
}

impl Decoder for Frames {
    type Item = BytesMut;
    type Error = FrameError;

    fn decode(&mut self, source: &mut BytesMut) -> Result<Option<BytesMut>, FrameError> {
        if self.awaited.is_none() {
            self.begin(source)?;
        }
        let frame = self.end(source)?;
        self.midway = self.awaited.is_some() || !source.is_empty();
        Ok(frame)
    }

    fn decode_eof(&mut self, source: &mut BytesMut) -> Result<Option<BytesMut>, FrameError> {
        match self.decode(source)? {
            None if self.midway => Err(FrameError::Half),
            frame => Ok(frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(bodies: &[&'static [u8]]) -> BytesMut {
        let mut bytes = BytesMut::new();
        for body in bodies {
            bytes.extend_from_slice(&header_of(body));
            bytes.extend_from_slice(body);
        }
        bytes
    }

    /// Splits these bytes into bodies. Also returns the error at which splitting stopped, if there is one.
    fn cut(mut source: BytesMut) -> (Vec<BytesMut>, Option<FrameError>) {
        let (mut frames, mut bodies) = (Frames::of_hello(), Vec::new());
        loop {
            match frames.decode_eof(&mut source) {
                Ok(Some(body)) => bodies.push(body),
                Ok(None) => return (bodies, None),
                Err(error) => return (bodies, Some(error)),
            }
        }
    }

    #[test]
    fn no_one_or_two_changed_bits_make_another_message() {
        let sent: [&[u8]; 4] = [b"one", b"", b"a longer one", b"four"];
        let bytes = encoded(&sent);
        let bits = bytes.len() * 8;
        let check = |first: usize, second: usize| {
            let mut changed = bytes.clone();
            for bit in [first, second] {
                changed[bit / 8] ^= 1 << (bit % 8);
            }
            if first == second {
                changed[first / 8] ^= 1 << (first % 8);
            }
            let (bodies, error) = cut(changed);
            assert!(bodies.len() < sent.len() && error.is_some(), "bits {first} and {second}");
            assert!(bodies.iter().zip(sent).all(|(body, sent)| body == sent), "bits {first} and {second}");
        };
        (0..bits).for_each(|first| (first..bits).for_each(|second| check(first, second)));
    }

    #[test]
    fn a_changed_frame_is_told() {
        let mut bytes = encoded(&[b"body"]);
        bytes[HEADER] ^= 1;
        let (_, error) = cut(bytes);
        let error = error.expect("the body is another one").to_string();
        assert_eq!(error, "the checksum of a frame from it is wrong: its bytes were changed on the way");
    }

    #[test]
    fn the_header_of_a_known_frame() {
        let header = [0, 0, 0, 9, 0x58, 0x98, 0x67, 0xb8, 0xcb, 0xf4, 0x39, 0x26];
        assert_eq!(header_of(b"123456789"), header, "{:02x?}", header_of(b"123456789"));
    }

    #[test]
    fn frames_come_out_whole_however_the_bytes_come_in() {
        let bytes = encoded(&[b"one", b"", b"three"]);
        let mut frames = Frames::of_hello();
        let mut source = BytesMut::new();
        let mut bodies = Vec::new();
        for byte in bytes {
            source.extend_from_slice(&[byte]);
            while let Some(body) = frames.decode(&mut source).expect("the frames are sound") {
                assert!(!frames.has_partial_frame());
                bodies.push(body);
            }
        }
        assert_eq!(bodies, [&b"one"[..], b"", b"three"]);
        assert!(frames.decode_eof(&mut source).expect("nothing is left").is_none());
    }

    #[test]
    fn an_end_inside_a_frame_is_not_a_clean_end() {
        let bytes = encoded(&[b"body"]);
        for length in 1..bytes.len() {
            let mut frames = Frames::of_hello();
            let mut source = BytesMut::from(&bytes[..length]);
            assert!(matches!(frames.decode(&mut source), Ok(None)));
            assert!(frames.has_partial_frame(), "{length} bytes");
            assert!(matches!(frames.decode_eof(&mut source), Err(FrameError::Half)), "{length} bytes");
        }
    }

    #[test]
    fn a_length_is_refused_before_its_body_takes_memory() {
        let mut source = BytesMut::from(&header_of(&[0; wire::MAX_HELLO + 1])[..]);
        let mut frames = Frames::of_hello();
        let error = frames.decode(&mut source).expect_err("it is one byte too long");
        assert_eq!(error.to_string(), "it announced a frame of 4097 bytes, and at most 4096 are accepted");
        frames.raise_limit();
        assert!(matches!(frames.decode(&mut source), Ok(None)));
    }
}
