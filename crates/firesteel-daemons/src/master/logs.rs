//! Reads logs from Workers for clients, which need not reach the Workers themselves.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use firesteel_host::inbox::Inbox;
use firesteel_host::net::{CallError, Inquiry};
use firesteel_master::Event;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{PeerId, WorkerId};
use firesteel_protocol::messages::{LogAddress, LogAuthor, LogPiece, LogRange, RefusedLog, WorkerToClient};
use firesteel_protocol::wire::Role;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use super::reach::{OutOfReach, Reach};

/// The name under which the Master introduces itself to Workers.
const CLIENT: &str = "logs";

/// The maximum number of pieces that are read at the same time. Each may have 1 MiB.
const AT_ONCE: usize = 64;

/// The maximum number of connections to Workers that are kept for the next piece.
const MOST_KEPT: usize = 64;

/// How long a piece may take. Its client waits for 30 s.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How long a Worker is awaited that has not connected since the start of the Master.
const RETURN: Duration = Duration::from_secs(10);

/// The pause between two looks whether it has.
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Logs(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    reach: Arc<Reach>,
    permits: Semaphore,
    /// Connections over which a piece was read.
    kept: Mutex<BTreeMap<WorkerId, Inquiry>>,
}

#[derive(Debug, thiserror::Error)]
enum LogError {
    #[error("Worker {worker} is not asked: {why}")]
    NotAsked { worker: WorkerId, why: OutOfReach },
    #[error(
        "Worker {worker} has not connected to this Master since its start; the logs are on {host} in {directory}"
    )]
    NotHere { worker: WorkerId, host: String, directory: String },
    #[error("Worker {worker} does not answer: {error}; the logs are on {host} in {directory}")]
    NoAnswer { worker: WorkerId, error: CallError, host: String, directory: String },
    #[error("Worker {worker} has no such log of {author}: {refusal}")]
    Refused { worker: WorkerId, author: LogAuthor, refusal: RefusedLog },
    #[error("Worker {worker} sent an unexpected answer")]
    OtherAnswer { worker: WorkerId },
}

impl Logs {
    pub(super) fn new(reach: Arc<Reach>) -> Self {
        Self(Arc::new(Shared { reach, permits: Semaphore::new(AT_ONCE), kept: Mutex::default() }))
    }

    /// Asks the Workers at these addresses for a piece, one after the other, until one has it.
    pub(super) fn read(
        &self,
        peer: PeerId,
        addresses: Vec<LogAddress>,
        range: LogRange,
        inbox: Inbox<Event>,
    ) {
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            let read = timeout(TIMEOUT, shared.first(&addresses, &range)).await;
            let outcome =
                read.unwrap_or_else(|_| Err(format!("no answer came within {} s", TIMEOUT.as_secs())));
            // If the owner is gone, nobody needs the answer.
            let _ = inbox.send(Event::LogRead { peer, outcome }).await;
        });
    }
}

impl Shared {
    async fn first(&self, addresses: &[LogAddress], range: &LogRange) -> Result<LogPiece, String> {
        let _permit = self.permits.acquire().await;
        let mut first = None;
        for address in addresses {
            match self.piece(address, range).await {
                Ok(piece) => return Ok(piece),
                Err(error) => drop(first.get_or_insert(error)),
            }
        }
        Err(first.map(|error| error.to_string()).unwrap_or_default())
    }

    async fn piece(&self, at: &LogAddress, range: &LogRange) -> Result<LogPiece, LogError> {
        let kept = self.kept().remove(&at.worker);
        let (inquiry, answer) = match kept {
            Some(mut inquiry) => match inquiry.ask(&range.clone().question()).await {
                Ok(answer) => (inquiry, answer),
                // The Worker may have been started again since.
                Err(_) => self.ask_anew(at, range).await?,
            },
            None => self.ask_anew(at, range).await?,
        };
        {
            let mut kept = self.kept();
            if kept.len() < MOST_KEPT {
                kept.insert(at.worker.clone(), inquiry);
            }
        }
        let worker = at.worker.clone();
        match answer {
            WorkerToClient::LogResponse(piece) => Ok(piece),
            WorkerToClient::RequestLogFailed(refusal) => {
                Err(LogError::Refused { worker, author: at.author.clone(), refusal })
            }
            WorkerToClient::WorkerStateResponse(_) | WorkerToClient::WorkerReportResponse(_) => {
                Err(LogError::OtherAnswer { worker })
            }
        }
    }

    async fn ask_anew(
        &self,
        at: &LogAddress,
        range: &LogRange,
    ) -> Result<(Inquiry, WorkerToClient), LogError> {
        let found = self.found(at).await?;
        let mut last = None;
        for address in found {
            let address = Address::new(address.ip().to_string(), address.port());
            match Inquiry::open(&address, Role::Worker, self.reach.client(CLIENT)).await {
                Ok(mut inquiry) => match inquiry.ask(&range.clone().question()).await {
                    Ok(answer) => return Ok((inquiry, answer)),
                    Err(error) => last = Some(error),
                },
                Err(error) => last = Some(error),
            }
        }
        let error = last.expect("a Worker that may be asked has an address");
        let LogAddress { worker, host, directory, .. } = at.clone();
        Err(LogError::NoAnswer { worker, error, host, directory })
    }

    /// The addresses of a Worker. A Master that was just started waits for it.
    async fn found(&self, at: &LogAddress) -> Result<Vec<SocketAddr>, LogError> {
        let LogAddress { worker, host, directory, .. } = at;
        let until = Instant::now() + RETURN;
        loop {
            match self.reach.of_worker(worker, host, at.port).await {
                Ok(found) => return Ok(found),
                Err(OutOfReach::Elsewhere { from: None, .. }) if Instant::now() < until => {
                    sleep(PAUSE).await;
                }
                Err(OutOfReach::Elsewhere { from: None, .. }) => {
                    let (worker, host, directory) = (worker.clone(), host.clone(), directory.clone());
                    return Err(LogError::NotHere { worker, host, directory });
                }
                Err(why) => return Err(LogError::NotAsked { worker: worker.clone(), why }),
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<WorkerId, Inquiry>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
