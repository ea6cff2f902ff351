//! The Worker's side: one file after the other, each held against its digest.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use firesteel_core::address::Address;
use firesteel_core::messages::{DriverToWorker, FileDescription, FileKind, Sha256, WorkerToDriver};
use firesteel_core::wire::{Hello, Role};
use sha2::Digest;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use firesteel_host::net::DialError;
use firesteel_host::net::conversation::{Conversation, ConversationError};

/// A driver that sends nothing for so long is given up. To those who wait for their turn it says so.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a broken connection is made anew, over all files together.
const RECONNECTIONS: u32 = 6;

/// The pause before the first of them; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Why a file cannot be had. A clause about the file, without its name.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The driver cannot be reached.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The connection to the driver broke again and again.
    #[error("lost the connection to the driver: {0}")]
    Conversation(#[from] ConversationError),
    /// The driver hung up again and again.
    #[error("the driver closed the connection after {received} of {length} bytes")]
    HungUp {
        /// Bytes that came.
        received: u64,
        /// Bytes that should have come.
        length: u64,
    },
    /// The driver has its reasons.
    #[error("{reason}")]
    Refused {
        /// In its words.
        reason: String,
    },
    /// What came is something else.
    #[error("its content differs from what was submitted: it may have changed since")]
    Changed,
    /// It cannot be put on the disk.
    #[error("cannot write {path:?}: {error}")]
    Write {
        /// Where to.
        path: PathBuf,
        /// The operating system's words.
        error: io::Error,
    },
    /// Nobody needs it any more.
    #[error("it is no longer needed")]
    Stopped,
}

impl FetchError {
    /// Whether another connection may help.
    fn is_the_connections(&self) -> bool {
        match self {
            Self::Dial(_) | Self::Conversation(_) | Self::HungUp { .. } => true,
            Self::Refused { .. } | Self::Changed | Self::Write { .. } | Self::Stopped => false,
        }
    }
}

/// Fetches files from one driver, over one connection as long as it holds.
#[derive(Debug)]
pub struct Fetcher {
    source: Address,
    hello: Hello,
    conversation: Option<Conversation>,
    reconnections: u32,
    stop: CancellationToken,
}

impl Fetcher {
    /// Nothing is dialled yet. `worker` is who asks.
    #[must_use]
    pub fn new(source: Address, worker: &str, stop: CancellationToken) -> Self {
        let hello =
            Hello { role: Role::Worker, name: worker.to_owned(), challenge: Default::default(), epoch: 0 };
        Self { source, hello, conversation: None, reconnections: 0, stop }
    }

    /// Puts a file at a path where there is none, read-only, once it is known to be what was submitted.
    ///
    /// # Errors
    /// It cannot be had, or is something else. What came of it may be left at the path.
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

    /// Ends the connection, for a pause that may be long: the driver lets nobody wait for ever, and others want
    /// their turn. The next file is fetched over another one.
    pub fn hang_up(&mut self) {
        self.conversation = None;
    }

    /// Asks for what is missing, and takes it as long as it comes.
    async fn advance(&mut self, file: &FileDescription, download: &mut Download) -> Result<(), FetchError> {
        let Self { source, hello, stop, conversation, .. } = self;
        let ask = async {
            let open = match conversation.take() {
                Some(open) => open,
                None => Conversation::dial(source, hello, Role::Driver).await?,
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
                    // More than was announced: then it is not what was submitted.
                    if bytes.is_empty() || bytes.len() as u64 > file.length - download.received {
                        return Err(FetchError::Changed);
                    }
                    download.write(bytes).await?;
                }
                // The patience begins anew.
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

/// A file that comes.
struct Download {
    path: PathBuf,
    received: u64,
    /// `None` while a thread writes.
    sink: Option<(File, sha2::Sha256)>,
}

impl Download {
    async fn create(path: PathBuf) -> Result<Self, FetchError> {
        let at = path.clone();
        let created = spawn_blocking(move || File::create_new(at)).await;
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
        let mode = match file.kind {
            FileKind::Executable => 0o555,
            FileKind::Plain | FileKind::Archive(_) => 0o444,
        };
        let path = self.path;
        let done = spawn_blocking(move || {
            written
                .set_permissions(fs::Permissions::from_mode(mode))
                .map_err(|error| FetchError::Write { path, error })
        });
        done.await.expect("setting a file's mode does not panic")
    }
}
