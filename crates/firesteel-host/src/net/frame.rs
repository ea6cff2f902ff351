//! The frame format: a big-endian `u32` length, then a body of that many bytes.

use std::io;

use bytes::{Bytes, BytesMut};
use firesteel_core::wire;
use tokio_util::codec::{Decoder, Encoder, LengthDelimitedCodec};

/// A codec that cuts a byte stream into bodies of frames, and writes bodies as frames. It wraps
/// tokio-util's codec. It adds a limit that is raised after the hello, and it knows whether a frame has
/// begun and is incomplete.
#[derive(Debug)]
pub struct Frames {
    codec: LengthDelimitedCodec,
    limit: usize,
    in_body: bool,
    midway: bool,
}

/// A frame that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The frame is longer than the limit.
    #[error("it announced a frame of {length} bytes, and at most {limit} are accepted")]
    TooLong {
        /// The length that the frame announces.
        length: usize,
        /// The limit on the length.
        limit: usize,
    },
    /// The connection ended within the frame.
    #[error("it closed the connection in the middle of a frame")]
    Half,
    /// The rest of the frame did not come in time.
    #[error("it did not complete a frame within {seconds} s")]
    Stalled {
        /// The timeout that passed, in seconds.
        seconds: u64,
    },
    /// The operating system reported an error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Frames {
    /// A codec for the frame of a hello, with its low limit.
    #[must_use]
    pub fn of_hello() -> Self {
        let codec = LengthDelimitedCodec::builder()
            .big_endian()
            .length_field_type::<u32>()
            .max_frame_length(wire::MAX_FRAME)
            .new_codec();
        Self { codec, limit: wire::MAX_HELLO, in_body: false, midway: false }
    }

    /// Raises the limit to that of messages.
    pub fn raise_limit(&mut self) {
        self.limit = wire::MAX_FRAME;
    }

    /// Whether a frame has begun and is incomplete.
    #[must_use]
    pub fn has_partial_frame(&self) -> bool {
        self.midway
    }
}

impl Decoder for Frames {
    type Item = BytesMut;
    type Error = FrameError;

    fn decode(&mut self, source: &mut BytesMut) -> Result<Option<BytesMut>, FrameError> {
        if !self.in_body
            && let Some(header) = source.first_chunk::<4>()
        {
            let length = usize::try_from(u32::from_be_bytes(*header)).unwrap_or(usize::MAX);
            if length > self.limit {
                return Err(FrameError::TooLong { length, limit: self.limit });
            }
            self.in_body = true;
        }
        let frame = self.codec.decode(source)?;
        if frame.is_some() {
            self.in_body = false;
        }
        self.midway = self.in_body || !source.is_empty();
        Ok(frame)
    }

    fn decode_eof(&mut self, source: &mut BytesMut) -> Result<Option<BytesMut>, FrameError> {
        match self.decode(source)? {
            None if self.midway => Err(FrameError::Half),
            frame => Ok(frame),
        }
    }
}

impl Encoder<Bytes> for Frames {
    type Error = io::Error;

    fn encode(&mut self, body: Bytes, target: &mut BytesMut) -> io::Result<()> {
        self.codec.encode(body, target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(bodies: &[&'static [u8]]) -> BytesMut {
        let mut bytes = BytesMut::new();
        for body in bodies {
            Frames::of_hello().encode(Bytes::from_static(body), &mut bytes).expect("the body is short");
        }
        bytes
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
        let announced = u32::try_from(wire::MAX_HELLO + 1).expect("it is small");
        let mut source = BytesMut::from(&announced.to_be_bytes()[..]);
        let mut frames = Frames::of_hello();
        let error = frames.decode(&mut source).expect_err("it is one byte too long");
        assert_eq!(error.to_string(), "it announced a frame of 4097 bytes, and at most 4096 are accepted");
        frames.raise_limit();
        assert!(matches!(frames.decode(&mut source), Ok(None)));
    }
}
