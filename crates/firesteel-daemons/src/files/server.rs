//! The driver's side of an application's files: sends Workers the files that they request.

use std::io;
use std::os::unix::fs::FileExt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use firesteel_protocol::messages::{DriverToWorker, MAX_CHUNK, Sha256, WorkerToDriver};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use super::offer::OfferedFile;
use firesteel_host::net::conversation::{Conversation, ConversationError};

/// The maximum number of Workers that are served at the same time.
const AT_ONCE: usize = 256;

/// The number of Workers that may wait for their turn. Further Workers wait in the listener, and get no message.
const WAITING: usize = 8192;

/// The interval at which a waiting Worker gets a message to keep waiting. This is well below a Worker's timeout.
const REASSURANCE: Duration = Duration::from_secs(30);

/// How long a Worker may be connected without a request before it is disconnected.
const IDLE: Duration = Duration::from_secs(60);

/// Serves each conversation from the channel, until the channel's sender is dropped.
pub(super) fn start(files: Arc<Vec<OfferedFile>>) -> mpsc::Sender<Conversation> {
    start_with(files, AT_ONCE)
}

/// Like [`start`], but serves at most this number of Workers at the same time.
pub(super) fn start_with(files: Arc<Vec<OfferedFile>>, at_once: usize) -> mpsc::Sender<Conversation> {
    let (sender, mut conversations) = mpsc::channel::<Conversation>(1);
    let places = Arc::new(Semaphore::new(at_once));
    tokio::spawn(async move {
        let mut serving = JoinSet::new();
        loop {
            tokio::select! {
                conversation = conversations.recv(), if serving.len() < at_once + WAITING => {
                    let Some(conversation) = conversation else { return };
                    serving.spawn(serve(conversation, Arc::clone(&files), Arc::clone(&places)));
                }
                Some(_) = serving.join_next() => {}
            }
        }
    });
    sender
}

async fn serve(mut conversation: Conversation, files: Arc<Vec<OfferedFile>>, places: Arc<Semaphore>) {
    let given = async {
        let _place = wait_for_slot(&mut conversation, places).await?;
        while let Some(WorkerToDriver::RequestFile { sha256, offset }) = conversation.receive(IDLE).await? {
            answer(&mut conversation, &files, sha256, offset).await?;
        }
        Ok::<_, ConversationError>(())
    };
    if let Err(error) = given.await {
        let (name, remote) = (conversation.name(), conversation.remote());
        tracing::warn!(%remote, "Worker {name:?} did not get all files: {error}");
    }
}

/// Waits for a permit. Meanwhile sends the Worker messages to keep waiting, so that the Worker's timeout does not pass.
async fn wait_for_slot(
    conversation: &mut Conversation,
    places: Arc<Semaphore>,
) -> Result<OwnedSemaphorePermit, ConversationError> {
    let mut place = pin!(places.acquire_owned());
    loop {
        match timeout(REASSURANCE, &mut place).await {
            Ok(place) => return Ok(place.expect("it is never closed")),
            Err(_) => conversation.send(&DriverToWorker::FileDelayed).await?,
        }
    }
}

async fn answer(
    conversation: &mut Conversation,
    files: &Arc<Vec<OfferedFile>>,
    sha256: Sha256,
    offset: u64,
) -> Result<(), ConversationError> {
    let Some(index) = files.iter().position(|file| file.description.sha256 == sha256) else {
        let reason = "the driver has no such file".to_owned();
        return conversation.send(&DriverToWorker::RequestFileFailed { reason }).await;
    };
    let description = &files[index].description;
    tracing::info!(
        "Worker {:?} fetches {:?} ({} bytes), beginning at byte {offset}",
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
                    io::ErrorKind::UnexpectedEof => {
                        "the file is shorter than when it was submitted".to_owned()
                    }
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
