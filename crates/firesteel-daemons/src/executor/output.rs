//! Reading one output stream of a task's process.

use bytes::{BufMut, Bytes, BytesMut};
use firesteel_protocol::wire::MAX_OUTPUT;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The size of the first piece. If output comes fast, pieces grow up to [`MAX_OUTPUT`].
const SMALL_PIECE: usize = 4 << 10;

#[derive(Debug)]
pub(super) struct Output<R> {
    pipe: Option<R>,
    buffer: BytesMut,
    piece: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Piece(Bytes),
    End,
}

impl<R: AsyncRead + Unpin> Output<R> {
    pub(super) fn new(pipe: R) -> Self {
        Self { pipe: Some(pipe), buffer: BytesMut::new(), piece: SMALL_PIECE }
    }

    /// Whether the stream has not been read to its end yet.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Closes the stream without reading the rest.
    pub(super) fn close(&mut self) {
        self.pipe = None;
    }

    /// Reads the next piece: at least one byte, at most `at_most`. If the future is dropped while it waits, no byte is
    /// lost.
    pub(super) async fn read(&mut self, at_most: u64) -> Read {
        let Some(pipe) = &mut self.pipe else { return Read::End };
        let limit = usize::try_from(at_most).unwrap_or(usize::MAX).min(self.piece);
        self.buffer.reserve(limit);
        match pipe.read_buf(&mut (&mut self.buffer).limit(limit)).await {
            Ok(1..) => {
                let bytes = self.buffer.split().freeze();
                if bytes.len() == self.piece {
                    self.piece = (self.piece * 2).min(MAX_OUTPUT);
                }
                Read::Piece(bytes)
            }
            Ok(0) => self.end(),
            Err(error) => {
                tracing::warn!("cannot read the output of a task to its end: {error}");
                self.end()
            }
        }
    }

    fn end(&mut self) -> Read {
        self.pipe = None;
        self.buffer = BytesMut::new();
        Read::End
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_keep_to_the_limit_and_grow_where_output_comes_fast() {
        let data = vec![7; 300_000];
        let mut output = Output::new(&data[..]);
        assert_eq!(output.read(3).await, Read::Piece(Bytes::from_static(&[7; 3])));
        let mut sizes = Vec::new();
        while let Read::Piece(bytes) = output.read(u64::MAX).await {
            sizes.push(bytes.len());
        }
        assert_eq!(sizes[..6], [4096, 8192, 16_384, 32_768, 65_536, 65_536]);
        assert_eq!(sizes.iter().sum::<usize>() + 3, data.len());
        assert!(!output.is_open());
    }
}
