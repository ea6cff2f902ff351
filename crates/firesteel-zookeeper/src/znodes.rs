//! The leader's journal, which is split into pieces. Each piece is a node.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use firesteel_host::journal::{END_MARK, JournalError, Storage};
use firesteel_host::lease::Lease;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use tokio::time::sleep;
use zookeeper_client::{CheckWriteError, CheckWriter, CreateMode, Error};

use crate::ensemble::{Ensemble, Session, ZooKeeperError};

/// The maximum length of a piece, in bytes. Servers accept requests of up to 1 MiB.
const PIECE: usize = 512 << 10;

/// The memory that a node needs in the servers in addition to its data, in bytes.
const NODE: u64 = 1 << 10;

/// The maximum number of requests in flight.
const AT_ONCE: usize = 64;

/// The pause before a request is repeated that was lost with its connection.
const PAUSE: Duration = Duration::from_millis(50);

/// The journal of the leading Master. Writes fail as soon as another Master has begun to lead.
#[derive(Debug)]
pub struct Znodes {
    session: Session,
    epoch: i32,
    lease: Lease,
    /// The number of generations that this Master has begun, and the number of pieces in the current one.
    generations: u64,
    pieces: u64,
}

/// Why a write failed for good.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("another Master leads")]
    Deposed,
    #[error("the ensemble does not answer")]
    Silent,
    #[error("the session has ended")]
    Ended,
    #[error(transparent)]
    ZooKeeper(Error),
}

impl Znodes {
    pub(crate) fn new(session: Session, epoch: i32, lease: Lease) -> Self {
        Self { session, epoch, lease, generations: 0, pieces: 0 }
    }

    /// Reads the contents of the latest generation, with its path. `None` if no generation exists yet.
    ///
    /// # Errors
    /// The servers do not answer.
    pub async fn read(&self) -> Result<Option<(PathBuf, Vec<u8>)>, ZooKeeperError> {
        read_latest(&self.session).await
    }

    /// The node of the current generation. No other Master uses this name.
    fn generation(&self) -> String {
        format!("{}/{:010}-{:010}", self.session.journal(), self.epoch, self.generations)
    }

    /// Appends bytes to the current generation.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        for piece in bytes.chunks(PIECE) {
            let path = format!("{}/{:010}", self.generation(), self.pieces);
            self.create(&path, piece).await?;
            self.pieces += 1;
        }
        Ok(())
    }

    /// Creates a node that no other Master creates.
    async fn create(&self, path: &str, data: &[u8]) -> Result<(), Failure> {
        let options = CreateMode::Persistent.with_acls(self.session.acls());
        match self.transaction(|writer| writer.add_create(path, data, &options)).await {
            // An attempt whose answer was lost has created it.
            Err(Failure::ZooKeeper(Error::NodeExists)) => Ok(()),
            made => made,
        }
    }

    /// Performs a write, on the condition that no other Master has begun to lead. Repeats requests that were lost with
    /// their connection.
    async fn transaction(
        &self,
        write: impl Fn(&mut CheckWriter<'_>) -> Result<(), Error>,
    ) -> Result<(), Failure> {
        while self.lease.holds() {
            let written = async {
                let leader = self.session.leader();
                let mut writer = self.session.client.new_check_writer(&leader, Some(self.epoch))?;
                write(&mut writer)?;
                writer.commit().await
            };
            match written.await {
                Ok(_) => return Ok(()),
                Err(CheckWriteError::CheckFailed { .. }) => {
                    self.lease.end();
                    return Err(Failure::Deposed);
                }
                Err(error) => match Error::from(error) {
                    // A broken connection gives the error of its socket, or an error about its silence.
                    Error::ConnectionLoss | Error::Timeout | Error::NoHosts | Error::Custom(_) => {
                        sleep(PAUSE).await;
                    }
                    Error::SessionExpired | Error::SessionMoved | Error::ClientClosed => {
                        self.lease.end();
                        return Err(Failure::Ended);
                    }
                    error => return Err(Failure::ZooKeeper(error)),
                },
            }
        }
        Err(Failure::Silent)
    }

    /// Makes a new generation with these bytes the current one.
    async fn begin_generation(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        (self.generations, self.pieces) = (self.generations + 1, 0);
        let generation = self.generation();
        self.create(&generation, &[]).await?;
        self.write(bytes).await?;
        let (name, journal) = (last_name(&generation), self.session.journal());
        self.transaction(|writer| writer.add_set_data(&journal, name.as_bytes(), None)).await?;
        self.session.runtime().spawn(remove_others(self.session.clone(), name.to_owned()));
        Ok(())
    }

    fn failed(&self, failure: Failure) -> JournalError {
        let path = shown(&self.session.ensemble, &self.generation());
        JournalError::Io { action: "write", path, error: io::Error::other(failure) }
    }
}

/// The storage of the journal. Its methods block, so they must run on a thread that may wait. It has no end marks,
/// because a piece cannot be replaced; a piece is there as a whole, or not at all.
impl Storage for Znodes {
    fn begin(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let runtime = self.session.runtime().clone();
        runtime
            .block_on(self.begin_generation(without_end_mark(bytes)))
            .map_err(|failure| self.failed(failure))
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let runtime = self.session.runtime().clone();
        runtime.block_on(self.write(without_end_mark(bytes))).map_err(|failure| self.failed(failure))
    }

    fn cost(&self, bytes: u64) -> u64 {
        bytes + NODE
    }
}

fn without_end_mark(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() - END_MARK]
}

/// Reads the contents of an ensemble's latest generation, with its path. `None` if no generation exists yet.
///
/// # Errors
/// The servers cannot be reached, or do not answer.
pub async fn read(ensemble: &Ensemble) -> Result<Option<(PathBuf, Vec<u8>)>, ZooKeeperError> {
    read_latest(&ensemble.connect().await?).await
}

async fn read_latest(session: &Session) -> Result<Option<(PathBuf, Vec<u8>)>, ZooKeeperError> {
    let failed = session.failed("read the journal");
    let Session { client, ensemble, .. } = session;
    // A server may be behind the others until a sync.
    client.sync(&session.journal()).await.map_err(&failed)?;
    let name = match client.get_data(&session.journal()).await {
        Ok((name, _)) if !name.is_empty() => name,
        Ok(_) | Err(Error::NoNode) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let generation = format!("{}/{}", session.journal(), String::from_utf8_lossy(&name));
    let mut pieces = client.list_children(&generation).await.map_err(&failed)?;
    pieces.sort_unstable();
    let paths = pieces.into_iter().map(|piece| format!("{generation}/{piece}"));
    let reading = paths.map(|path| async move { Ok(client.get_data(&path).await?.0) });
    let pieces: Result<Vec<_>, Error> = stream::iter(reading).buffered(AT_ONCE).try_collect().await;
    let pieces = pieces.map_err(&failed)?;
    Ok(Some((shown(ensemble, &generation), pieces.concat())))
}

/// Removes all generations except this one. If some remain, the next generation removes them.
async fn remove_others(session: Session, current: String) {
    let Session { client, .. } = &session;
    let Ok(generations) = client.list_children(&session.journal()).await else { return };
    for generation in generations.into_iter().filter(|name| *name != current) {
        let generation = format!("{}/{generation}", session.journal());
        let Ok(pieces) = client.list_children(&generation).await else { continue };
        let paths = pieces.into_iter().map(|piece| format!("{generation}/{piece}"));
        let removing = paths.map(|path| async move { client.delete(&path, None).await });
        let removed: Vec<Result<(), Error>> = stream::iter(removing).buffered(AT_ONCE).collect().await;
        if removed.iter().all(Result::is_ok) {
            // If this fails, the next generation tries again.
            let _ = client.delete(&generation, None).await;
        }
    }
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The path of a node, in the form in which messages show it.
fn shown(ensemble: &Ensemble, node: &str) -> PathBuf {
    format!("zookeeper://{}{node}", ensemble.servers).into()
}
