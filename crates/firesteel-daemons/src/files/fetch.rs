//! The Worker's side of an application's files: fetches them one after the other, and verifies each file by its digest.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use firesteel_protocol::address::Address;
use firesteel_protocol::messages::{DriverToWorker, FileDescription, FileKind, Sha256, WorkerToDriver};
use firesteel_protocol::wire::Role;
use sha2::Digest;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::private;
use firesteel_host::net::conversation::{Conversation, ConversationError};
use firesteel_host::net::{DialError, Introduction};

/// How long a Worker waits for a driver that sends nothing. While the Worker waits for its turn, the driver regularly
/// sends a message that asks it to keep waiting.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a broken connection is opened again, for all files together.
const RECONNECTIONS: u32 = 6;

/// The pause before the first reconnection. The pause doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Why a file cannot be fetched. The text is a clause about the file, without the file's name.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The connection to the driver broke too often.
    #[error("lost the connection to the driver: {0}")]
    Conversation(#[from] ConversationError),
    /// The driver closed the connection too often.
    #[error("the driver closed the connection after {received} of {length} bytes")]
    HungUp { received: u64, length: u64 },
    #[error("{reason}")]
    Refused { reason: String },
    /// The bytes received differ from the submitted file.
    #[error("its content differs from what was submitted: it may have changed since")]
    Changed,
    #[error("cannot write {path:?}: {error}")]
    Write { path: PathBuf, error: io::Error },
    /// The fetch was stopped, because the file is no longer needed.
    #[error("it is no longer needed")]
    Stopped,
}

impl FetchError {
    /// Whether a new connection may help.
    fn is_the_connections(&self) -> bool {
        match self {
            Self::Dial(_) | Self::Conversation(_) | Self::HungUp { .. } => true,
            Self::Refused { .. } | Self::Changed | Self::Write { .. } | Self::Stopped => false,
        }
    }
}

/// Fetches files from one driver, over one connection until that connection breaks.
#[derive(Debug)]
pub struct Fetcher {
    source: Address,
    introduction: Introduction,
    conversation: Option<Conversation>,
    reconnections: u32,
    stop: CancellationToken,
}

impl Fetcher {
    /// Makes an unconnected fetcher for the Worker with this introduction.
    #[must_use]
    pub fn new(source: Address, introduction: Introduction, stop: CancellationToken) -> Self {
        Self { source, introduction, conversation: None, reconnections: 0, stop }
    }

    /// Fetches a file and writes it to a path that does not exist yet. The new file is read-only, and only this user
    /// can read it. Succeeds only if the bytes are those of the submitted file.
    ///
    /// # Errors
    /// The file cannot be fetched, or differs from the submitted file. An incomplete file may be left at the path.
    pub async fn fetch(&mut self, file: &FileDescription, path: &Path) -> Result<(), FetchError> {
        let mut download = Download::create(path.to_owned()).await?;
        while download.received < file.length {
            match self.advance(file, &mut download).await {
                Ok(()) => {}
                Err(error) if error.is_the_connections() && self.reconnections < RECONNECTIONS => {
                    self.conversation = None;
                    let pause = FIRST_PAUSE * (1 << self.reconnections);
                    self.reconnections += 1;
                    tracing::info!(
                        "retrying the fetch of {:?} from {} in {pause:?}: {error}",
                        file.name,
                        self.source
                    );
                    let stopped = self.stop.run_until_cancelled(sleep(pause)).await.is_none();
                    if stopped {
                        return Err(FetchError::Stopped);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        download.finish(file).await
    }

    /// Closes the connection before a pause that may be long. The driver closes idle connections, and other Workers
    /// wait for their turn. The next file uses a new connection.
    pub fn hang_up(&mut self) {
        self.conversation = None;
    }

    /// Requests the missing bytes, and receives them until the file is complete or the connection breaks.
    async fn advance(&mut self, file: &FileDescription, download: &mut Download) -> Result<(), FetchError> {
        let Self { source, introduction, stop, conversation, .. } = self;
        let ask = async {
            let open = match conversation.take() {
                Some(open) => open,
                None => Conversation::dial(source, introduction, Role::Driver).await?,
            };
            let open = conversation.insert(open);
            let request = WorkerToDriver::RequestFile { sha256: file.sha256, offset: download.received };
            open.send(&request).await?;
            Ok::<_, FetchError>(open)
        };
        let open = stop.run_until_cancelled(ask).await.ok_or(FetchError::Stopped)??;
        while download.received < file.length {
            let answer =
                stop.run_until_cancelled(open.receive(PATIENCE)).await.ok_or(FetchError::Stopped)??;
            match answer {
                Some(DriverToWorker::FileChunk(bytes)) => {
                    // The driver sent more than it announced, so this is not the file that was submitted.
                    if bytes.is_empty() || bytes.len() as u64 > file.length - download.received {
                        return Err(FetchError::Changed);
                    }
                    download.write(bytes).await?;
                }
                // The timeout starts again.
                Some(DriverToWorker::FileDelayed) => {}
                Some(DriverToWorker::RequestFileFailed { reason }) => {
                    return Err(FetchError::Refused { reason });
                }
                None => {
                    return Err(FetchError::HungUp { received: download.received, length: file.length });
                }
            }
        }
        Ok(())
    }
}

struct Download {
    path: PathBuf,
    received: u64,
    /// `None` while a thread writes.
    sink: Option<(File, sha2::Sha256)>,
}

impl Download {
    async fn create(path: PathBuf) -> Result<Self, FetchError> {
        let at = path.clone();
        let created = spawn_blocking(move || private::create_file(&at)).await;
        let file = created
            .expect("making a file does not panic")
            .map_err(|error| FetchError::Write { path: path.clone(), error })?;
        Ok(Self { path, received: 0, sink: Some((file, sha2::Sha256::new())) })
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), FetchError> {
        let length = bytes.len() as u64;
        let (mut file, mut digest) = self.sink.take().expect("a write that failed was the last");
        let writing = spawn_blocking(move || {
            file.write_all(&bytes)?;
            digest.update(&bytes);
            Ok((file, digest))
        });
        let written: io::Result<_> = writing.await.expect("writing a file does not panic");
        let sink = written.map_err(|error| FetchError::Write { path: self.path.clone(), error })?;
        self.sink = Some(sink);
        self.received += length;
        Ok(())
    }

    async fn finish(self, file: &FileDescription) -> Result<(), FetchError> {
        let (written, digest) = self.sink.expect("a write that failed was the last");
        if Sha256(digest.finalize().into()) != file.sha256 {
            return Err(FetchError::Changed);
        }
        let executable = file.kind == FileKind::Executable;
        let path = self.path;
        let done = spawn_blocking(move || {
            private::seal(&written, executable).map_err(|error| FetchError::Write { path, error })
        });
        done.await.expect("setting a file's mode does not panic")
    }
}
