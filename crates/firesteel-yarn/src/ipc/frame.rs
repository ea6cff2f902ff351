//! The frame format: a length of four bytes, and then protocol buffers, each after its own length.

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The length limit of a frame in bytes, as in Hadoop (`ipc.maximum.data.length`).
pub const MAX_FRAME: usize = 128 << 20;

/// The value of the first frame's length if the server speaks another version.
const OTHER_VERSION: u32 = u32::MAX;

#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The frame is longer than the limit. Perhaps the bytes are not a frame.
    #[error(
        "it announced a frame of {length} bytes; {MAX_FRAME} are the most: is this one of Hadoop's ports?"
    )]
    TooLong { length: u32 },
    /// The connection ended within the frame.
    #[error("it closed the connection in the middle of a frame")]
    Half,
    /// The server speaks another version of the protocol.
    #[error("it speaks another version: {message}")]
    OtherVersion { message: String },
    /// A part of the frame cannot be decoded.
    #[error("cannot decode what it sent: {0}")]
    Undecodable(#[from] prost::DecodeError),
    #[error("{0}")]
    Io(#[from] io::Error),
}

pub fn put(parts: &[&dyn Part], target: &mut BytesMut) {
    let at = target.len();
    target.put_u32(0);
    for part in parts {
        part.put(target);
    }
    let length = u32::try_from(target.len() - at - 4).expect("a frame of ours is far shorter");
    target[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// A part of a frame to write.
pub trait Part {
    /// Appends the part's length, and then the part.
    fn put(&self, target: &mut BytesMut);
}

impl<M: Message> Part for M {
    fn put(&self, target: &mut BytesMut) {
        self.encode_length_delimited(target).expect("a buffer grows");
    }
}

/// Takes a part from the front of a frame.
///
/// # Errors
/// The frame has no more parts, or the part is not a message of this type.
pub fn take<M: Message + Default>(frame: &mut Bytes) -> Result<M, prost::DecodeError> {
    M::decode_length_delimited(frame)
}

/// Splits the bytes of a server into frames. Memory grows with the bytes received, and not with the announced length.
#[derive(Debug, Default)]
pub struct FrameReader {
    buffer: BytesMut,
}

impl FrameReader {
    /// Reads the next frame, or `None` if the connection ends between two frames. The future may be dropped
    /// and the method called again.
    ///
    /// # Errors
    /// The bytes are not a frame; the connection cannot be used any more.
    pub async fn next(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> Result<Option<Bytes>, FrameError> {
        loop {
            if let Some(frame) = self.cut()? {
                return Ok(Some(frame));
            }
            if stream.read_buf(&mut self.buffer).await? == 0 {
                return match self.buffer.first_chunk::<4>() {
                    Some(length) if u32::from_be_bytes(*length) == OTHER_VERSION => Err(self.other_version()),
                    _ if self.buffer.is_empty() => Ok(None),
                    _ => Err(FrameError::Half),
                };
            }
        }
    }

    fn cut(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(length) = self.buffer.first_chunk::<4>() else { return Ok(None) };
        let announced = u32::from_be_bytes(*length);
        if announced == OTHER_VERSION {
            // This reply has two such numbers and two texts, after which the connection ends. Reading stops once there
            // is room for them.
            return if self.buffer.len() < 4096 { Ok(None) } else { Err(self.other_version()) };
        }
        let length = usize::try_from(announced).unwrap_or(usize::MAX);
        if length > MAX_FRAME {
            return Err(FrameError::TooLong { length: announced });
        }
        if self.buffer.len() - 4 < length {
            return Ok(None);
        }
        self.buffer.advance(4);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }

    /// The error for a server that speaks another version. The first two texts of the server's reply are a class and a
    /// message.
    fn other_version(&self) -> FrameError {
        let mut rest = self.buffer.get(8..).unwrap_or_default();
        let mut text = || {
            let length = usize::try_from(rest.try_get_u32().ok()?).ok()?;
            let text = String::from_utf8_lossy(rest.get(..length)?).into_owned();
            rest.advance(length);
            Some(text)
        };
        let (_class, message) = (text(), text());
        FrameError::OtherVersion { message: message.unwrap_or_else(|| "it does not say which".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;

    fn frames(bytes: &[u8]) -> Result<Vec<Bytes>, FrameError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let (mut reader, mut source, mut found) = (FrameReader::default(), bytes, Vec::new());
            while let Some(frame) = reader.next(&mut source).await? {
                found.push(frame);
            }
            Ok(found)
        })
    }

    #[test]
    fn frames_are_cut_at_their_lengths() {
        let found = frames(b"\0\0\0\x02ab\0\0\0\0\0\0\0\x01c").expect("they are whole");
        assert_eq!(found, [&b"ab"[..], b"", b"c"]);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert!(matches!(frames(b"\0\0\0\x02a"), Err(FrameError::Half)));
        assert!(matches!(frames(b"\0\0"), Err(FrameError::Half)));
        assert!(matches!(frames(b"HTTP/1.1 404 Not Found\r\n"), Err(FrameError::TooLong { .. })));
        assert!(matches!(frames(b"\x7f\xff\xff\xff"), Err(FrameError::TooLong { length: 0x7fff_ffff })));
        assert!(matches!(frames(b"\xff\xff\xff\xff\xff"), Err(FrameError::OtherVersion { .. })));
    }

    quickcheck! {
        fn no_bytes_break_the_reader(bytes: Vec<u8>) -> bool {
            for mut frame in frames(&bytes).unwrap_or_default() {
                let _ = take::<crate::messages::rpc::RpcResponseHeader>(&mut frame);
                let _ = take::<crate::messages::master::AllocateResponse>(&mut frame);
            }
            true
        }
    }
}
