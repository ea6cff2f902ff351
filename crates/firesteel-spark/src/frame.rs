//! The frames of a connection: requests, answers, and messages without an answer.
//!
//! ```text
//!  i64 length, of the whole frame | u8 type | i64 id, but for a one-way message | i32 length of the body | body
//! ```
//!
//! Both sides may send requests, no matter which one opened the connection.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use thiserror::Error;

/// One frame of Spark's RPC on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A request, which expects a response or a failure with the same id.
    Request {
        /// The requester's number for this request, unique in its connection. The answer repeats it.
        id: i64,
        /// An envelope, then one Java object.
        body: Bytes,
    },
    /// A response to the request with the same id.
    Response {
        /// The id of the request that this answers.
        id: i64,
        /// One Java object, without an envelope.
        body: Bytes,
    },
    /// A report that the request with the same id failed.
    Failure {
        /// The id of the request that failed.
        id: i64,
        /// The reason for the failure. Spark sends a stack trace.
        reason: String,
    },
    /// A message that expects no answer.
    OneWay {
        /// An envelope, then one Java object.
        body: Bytes,
    },
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The announced length is below the shortest possible or above the longest allowed length.
    #[error("a frame of {length} bytes, but the allowed range is {least} to {most}")]
    Length {
        /// The announced length, in bytes.
        length: i64,
        /// The shortest possible length, in bytes.
        least: usize,
        /// The longest allowed length, in bytes.
        most: usize,
    },
    /// The type of the frame is not used between Masters and drivers.
    #[error("a frame of type {0}, which is neither a request nor an answer nor a message")]
    Type(u8),
    /// The frame ends within its header.
    #[error("a frame that is too short for its type")]
    Header,
}

/// The longest frame that a side reads, in bytes. An application's description has some ten thousand bytes.
pub const LONGEST: usize = 8 << 20;

/// The first byte of every connection. Lengths are so small that their first byte is always 0.
pub const FIRST_BYTE: u8 = 0;

const REQUEST: u8 = 3;
const RESPONSE: u8 = 4;
const FAILURE: u8 = 5;
const ONE_WAY: u8 = 9;
const TYPES: [u8; 4] = [REQUEST, RESPONSE, FAILURE, ONE_WAY];

/// The size of the length and the type of a frame, in bytes.
const PREFIX: usize = 9;

/// Whether a frame can begin with these bytes.
pub(crate) fn is_header(bytes: [u8; PREFIX]) -> bool {
    let (length, code) = bytes.split_first_chunk().expect("it has 9 bytes");
    let length = usize::try_from(i64::from_be_bytes(*length)).unwrap_or(usize::MAX);
    (PREFIX..=LONGEST).contains(&length) && TYPES.contains(&code[0])
}

impl Frame {
    /// Takes a frame from the beginning of the buffer. `None` if the frame is not complete: the buffer stays unchanged.
    ///
    /// # Errors
    ///
    /// If the bytes cannot become a frame of at most `most` bytes.
    pub fn decode(buffer: &mut BytesMut, most: usize) -> Result<Option<Self>, FrameError> {
        let Some((length, _)) = buffer.split_first_chunk() else { return Ok(None) };
        let length = i64::from_be_bytes(*length);
        let fits = usize::try_from(length).ok().filter(|length| (PREFIX..=most).contains(length));
        let count = fits.ok_or(FrameError::Length { length, least: PREFIX, most })?;
        if buffer.len() < count {
            return Ok(None);
        }
        let mut frame = buffer.split_to(count).freeze();
        frame.advance(size_of::<i64>());
        let code = frame.get_u8();
        if !TYPES.contains(&code) {
            return Err(FrameError::Type(code));
        }
        let id = if code == ONE_WAY { 0 } else { frame.try_get_i64().map_err(|_| FrameError::Header)? };
        // The body is the rest of the frame. Spark writes this length, and ignores it when it reads.
        frame.try_get_i32().map_err(|_| FrameError::Header)?;
        let body = frame;
        Ok(Some(match code {
            REQUEST => Self::Request { id, body },
            RESPONSE => Self::Response { id, body },
            FAILURE => Self::Failure { id, reason: String::from_utf8_lossy(&body).into_owned() },
            _ => Self::OneWay { body },
        }))
    }

    /// The size of the frame's body in bytes. For a failure: the size of its reason.
    pub fn body_length(&self) -> usize {
        match self {
            Self::Request { body, .. } | Self::Response { body, .. } | Self::OneWay { body } => body.len(),
            Self::Failure { reason, .. } => reason.len(),
        }
    }

    /// Appends the frame to the buffer.
    pub fn encode(&self, buffer: &mut BytesMut) {
        let (code, id, body) = match self {
            Self::Request { id, body } => (REQUEST, Some(*id), &body[..]),
            Self::Response { id, body } => (RESPONSE, Some(*id), &body[..]),
            Self::Failure { id, reason } => (FAILURE, Some(*id), reason.as_bytes()),
            Self::OneWay { body } => (ONE_WAY, None, &body[..]),
        };
        let length = PREFIX + id.map_or(0, |_| size_of::<i64>()) + size_of::<i32>() + body.len();
        buffer.reserve(length);
        buffer.put_u64(length as u64);
        buffer.put_u8(code);
        if let Some(id) = id {
            buffer.put_i64(id);
        }
        buffer.put_i32(i32::try_from(body.len()).expect("a body is shorter than two GiB"));
        buffer.put_slice(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 1 << 20;

    #[test]
    fn a_frame_is_taken_when_it_is_there_in_full() {
        let request = Frame::Request { id: -7, body: Bytes::from_static(b"body") };
        let mut whole = BytesMut::new();
        request.encode(&mut whole);
        for count in 0..whole.len() {
            let mut part = BytesMut::from(&whole[..count]);
            assert_eq!((Frame::decode(&mut part, MOST), part.len()), (Ok(None), count));
        }
        whole.put_slice(b"next");
        assert_eq!(Frame::decode(&mut whole, MOST), Ok(Some(request)));
        assert_eq!(&whole[..], b"next");
    }

    #[test]
    fn each_type_has_the_bytes_that_spark_writes() {
        let rows = [
            (Frame::Request { id: 1, body: Bytes::new() }, "00000000000000150300000000000000 0100000000"),
            (
                Frame::Response { id: 2, body: Bytes::from_static(b"\x05") },
                "000000000000001604000000000000000200000001 05",
            ),
            (
                Frame::Failure { id: 3, reason: "no".to_owned() },
                "000000000000001705000000000000000300000002 6e6f",
            ),
            (Frame::OneWay { body: Bytes::from_static(b"\x06") }, "000000000000000e090000000106"),
        ];
        for (frame, expected) in rows {
            let mut buffer = BytesMut::new();
            frame.encode(&mut buffer);
            let hex: String = buffer.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected.replace(' ', ""));
            assert_eq!(Frame::decode(&mut buffer, MOST), Ok(Some(frame)));
        }
    }

    #[test]
    fn what_cannot_become_a_frame_is_refused_at_once() {
        let refused =
            |bytes: &[u8]| Frame::decode(&mut BytesMut::from(bytes), MOST).expect_err("it is refused");
        for length in [i64::MIN, -1, 0, 8, MOST as i64 + 1, i64::MAX] {
            assert_eq!(refused(&length.to_be_bytes()), FrameError::Length { length, least: 9, most: MOST });
        }
        assert_eq!(refused(&[0, 0, 0, 0, 0, 0, 0, 9, 6]), FrameError::Type(6));
        assert_eq!(refused(&[0, 0, 0, 0, 0, 0, 0, 9, 9]), FrameError::Header);
        assert_eq!(
            refused(b"GET / HTTP/1.1").to_string(),
            "a frame of 5135603447292250196 bytes, but the allowed range is 9 to 1048576"
        );
    }
}
