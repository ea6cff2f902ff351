//! The sending half of a connection, which encrypts what it sends if the connection is encrypted.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio_util::io::poll_write_buf;

use super::encryption::noise::Encryptor;

#[derive(Debug)]
pub struct Writer {
    half: OwnedWriteHalf,
    encryptor: Option<Box<Encryptor>>,
}

impl Writer {
    pub(super) fn new(half: OwnedWriteHalf, encryptor: Option<Box<Encryptor>>) -> Self {
        Self { half, encryptor }
    }

    pub(super) fn into_parts(self) -> (OwnedWriteHalf, Option<Box<Encryptor>>) {
        (self.half, self.encryptor)
    }

    /// Writes the beginning of this connection, which is in the clear, and then these bytes, in one write.
    pub(super) async fn open(&mut self, opening: &[u8], bytes: &[u8]) -> io::Result<()> {
        match &mut self.encryptor {
            None => self.half.write_all(&[opening, bytes].concat()).await,
            Some(encryptor) => {
                encryptor.encrypted.extend_from_slice(opening);
                self.write_all(bytes).await
            }
        }
    }

    /// Writes all of these bytes.
    ///
    /// # Errors
    /// The connection breaks.
    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(encryptor) = &mut self.encryptor else { return self.half.write_all(bytes).await };
        encryptor.encrypt_all(bytes);
        self.half.write_all_buf(&mut encryptor.encrypted).await
    }

    /// Writes some of these bytes, or of those that were taken before and are not written yet.
    pub(super) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &mut impl Buf,
    ) -> Poll<io::Result<()>> {
        let half = Pin::new(&mut self.half);
        let written = match &mut self.encryptor {
            None => ready!(poll_write_buf(half, context, bytes)),
            Some(encryptor) => {
                if encryptor.encrypted.is_empty() {
                    encryptor.encrypt(bytes);
                }
                ready!(poll_write_buf(half, context, &mut encryptor.encrypted))
            }
        };
        Poll::Ready(written.and_then(|written| match written {
            0 => Err(io::ErrorKind::WriteZero.into()),
            _ => Ok(()),
        }))
    }

    /// Whether all bytes that were taken are written.
    pub(super) fn is_flushed(&self) -> bool {
        self.encryptor.as_ref().is_none_or(|encryptor| encryptor.encrypted.is_empty())
    }

    pub(super) async fn shutdown(&mut self) -> io::Result<()> {
        self.half.shutdown().await
    }
}
