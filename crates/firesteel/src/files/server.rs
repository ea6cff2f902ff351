//! The driver's side: Workers are given the files that they ask for.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use firesteel_core::messages::{DriverToWorker, MAX_CHUNK, Sha256, WorkerToDriver};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinSet, spawn_blocking};

use super::offer::OfferedFile;
use crate::net::conversation::{Conversation, ConversationError};

/// Workers that are served at one time. More wait until one is done.
const AT_ONCE: usize = 256;

/// Workers that may wait. More wait in the listener.
const WAITING: usize = 64;

/// A Worker that asks for nothing for so long is let go.
const IDLE: Duration = Duration::from_secs(60);

/// Serves whoever comes through the channel, until its other end is gone.
pub(super) fn start(files: Arc<Vec<OfferedFile>>) -> mpsc::Sender<Conversation> {
    let (sender, mut conversations) = mpsc::channel::<Conversation>(WAITING);
    let places = Arc::new(Semaphore::new(AT_ONCE));
    tokio::spawn(async move {
        let mut serving = JoinSet::new();
        while let Some(conversation) = conversations.recv().await {
            while serving.try_join_next().is_some() {}
            let place = Arc::clone(&places).acquire_owned().await.expect("it is never closed");
            let files = Arc::clone(&files);
            serving.spawn(async move {
                let (name, remote) = (conversation.name().to_owned(), conversation.remote());
                if let Err(error) = serve(conversation, &files).await {
                    tracing::warn!(%remote, "Worker {name:?} was not given all files: {error}");
                }
                drop(place);
            });
        }
    });
    sender
}

async fn serve(
    mut conversation: Conversation,
    files: &Arc<Vec<OfferedFile>>,
) -> Result<(), ConversationError> {
    while let Some(WorkerToDriver::RequestFile { sha256, offset }) = conversation.receive(IDLE).await? {
        answer(&mut conversation, files, sha256, offset).await?;
    }
    Ok(())
}

async fn answer(
    conversation: &mut Conversation,
    files: &Arc<Vec<OfferedFile>>,
    sha256: Sha256,
    offset: u64,
) -> Result<(), ConversationError> {
    let Some(index) = files.iter().position(|file| file.description.sha256 == sha256) else {
        let reason = "the driver there brings no such file".to_owned();
        return conversation.send(&DriverToWorker::RequestFileFailed { reason }).await;
    };
    let description = &files[index].description;
    tracing::info!(
        "Worker {:?} fetches {:?}, {} bytes from byte {offset}",
        conversation.name(),
        description.name,
        description.length
    );
    let mut at = offset;
    while at < description.length {
        let left = usize::try_from(description.length - at).unwrap_or(usize::MAX);
        let (files, length) = (Arc::clone(files), left.min(MAX_CHUNK));
        let chunk = spawn_blocking(move || piece(&files[index], at, length)).await;
        match chunk.expect("reading a file does not panic") {
            Ok(bytes) => {
                at += bytes.len() as u64;
                conversation.send(&DriverToWorker::FileChunk(bytes)).await?;
            }
            Err(error) => {
                let reason = match error.kind() {
                    io::ErrorKind::UnexpectedEof => "it is shorter than when it was submitted".to_owned(),
                    _ => format!("the driver cannot read it: {error}"),
                };
                return conversation.send(&DriverToWorker::RequestFileFailed { reason }).await;
            }
        }
    }
    Ok(())
}

fn piece(file: &OfferedFile, offset: u64, length: usize) -> io::Result<Bytes> {
    let mut bytes = vec![0; length];
    file.file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes.into())
}
