//! A server that is called by what it does, not by a connection: connected when it is called, again after a loss, and
//! where several can be in charge, the one that is.

use std::time::Duration;

use prost::Message;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::connection::{Connection, Patience};
use super::error::{CallError, Fate, IpcError, Kind};
use super::greeting::{ClientId, Greeting, Identity, Protocol};

/// How long, and how often, a server is tried that cannot be reached or is not in charge.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// The first pause; each is twice the one before.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// From the first failure on.
    pub within: Duration,
}

impl Default for Retry {
    /// A quarter of an hour, as Hadoop's clients of a ResourceManager, which pause 30 s each time.
    fn default() -> Self {
        Self {
            first: Duration::from_millis(200),
            longest: Duration::from_secs(10),
            within: Duration::from_secs(900),
        }
    }
}

/// Whether a call may be made again that may have been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It does no harm.
    Harmless,
    /// It would be another one; the caller decides.
    Harmful,
}

/// A server, or several of which one is in charge.
#[derive(Debug)]
pub struct Service {
    addresses: Vec<String>,
    protocol: Protocol,
    client: ClientId,
    retry: Retry,
    line: Mutex<Line>,
}

#[derive(Debug)]
struct Line {
    identity: Identity,
    /// Which address is called.
    current: usize,
    connection: Option<Connection>,
}

impl Service {
    /// One at these addresses (`host:port`), tried in turn. Nothing is connected before the first call.
    #[must_use]
    pub fn new(addresses: Vec<String>, protocol: Protocol, identity: Identity, retry: Retry) -> Self {
        assert!(!addresses.is_empty(), "a service is somewhere");
        Self {
            addresses,
            protocol,
            client: ClientId::random(),
            retry,
            line: Mutex::new(Line { identity, current: 0, connection: None }),
        }
    }

    /// Who calls from the next connection on; the one that is open goes on.
    pub async fn identify(&self, identity: Identity) {
        self.line.lock().await.identity = identity;
    }

    /// Calls a method, again if need be.
    ///
    /// # Errors
    /// When the server objects for good, when it is not reached within the time of retries, or when it is unknown
    /// whether a call was done that does harm when repeated.
    pub async fn call<A: Message + Default>(
        &self,
        method: &'static str,
        request: &impl Message,
        repeat: Repeat,
    ) -> Result<A, CallError> {
        let begun = Instant::now();
        let mut pause = self.retry.first;
        let mut tried = 0;
        loop {
            let called = self.line.lock().await.current;
            let failure = match self.try_call(method, request).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let next = after(&failure, repeat);
            if next == Next::GiveUp || begun.elapsed() + pause > self.retry.within {
                return Err(failure);
            }
            if next == Next::TryAnother {
                self.turn(called).await;
            }
            tried += 1;
            // All addresses are tried once before there is a pause.
            if tried % self.addresses.len() == 0 {
                sleep(pause).await;
                pause = (pause * 2).min(self.retry.longest);
            }
        }
    }

    async fn try_call<A: Message + Default>(
        &self,
        method: &'static str,
        request: &impl Message,
    ) -> Result<A, CallError> {
        let connection =
            self.connection().await.map_err(|error| CallError { method, fate: Fate::NotCalled, error })?;
        connection.call(method, request).await
    }

    async fn connection(&self) -> Result<Connection, IpcError> {
        let mut line = self.line.lock().await;
        if let Some(connection) = line.connection.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        let (address, patience) = (&self.addresses[line.current], Patience::default());
        let unreachable =
            |why: std::io::Error| IpcError::Unreachable { address: address.clone(), why: why.into() };
        let stream = timeout(patience.opening, TcpStream::connect(address))
            .await
            .map_err(|_| unreachable(std::io::ErrorKind::TimedOut.into()))?
            .map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        let greeting =
            Greeting { protocol: self.protocol, identity: line.identity.clone(), client: self.client };
        let connection = Connection::open(stream, &greeting, patience).await?;
        line.connection = Some(connection.clone());
        Ok(connection)
    }

    /// Has the next address called instead of that one, unless another call has seen to it already.
    async fn turn(&self, called: usize) {
        let mut line = self.line.lock().await;
        if line.current == called {
            line.current = (called + 1) % self.addresses.len();
            line.connection = None;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GiveUp,
    TryAgain,
    TryAnother,
}

fn after(failure: &CallError, repeat: Repeat) -> Next {
    match (&failure.error, failure.fate) {
        (IpcError::Remote(remote), _) => match remote.kind() {
            Kind::Standby => Next::TryAnother,
            Kind::Retriable => Next::TryAgain,
            Kind::ApplicationNotFound
            | Kind::ApplicationAttemptNotFound
            | Kind::NotRegistered
            | Kind::InvalidApplicationMasterRequest
            | Kind::InvalidResourceRequest
            | Kind::InvalidBlacklist
            | Kind::InvalidRelease
            | Kind::NodeManagerNotYetReady
            | Kind::InvalidToken
            | Kind::AccessDenied
            | Kind::NotSpoken
            | Kind::Other => Next::GiveUp,
        },
        (IpcError::Sasl(_), _) | (_, Fate::Answered) => Next::GiveUp,
        (_, Fate::NotCalled) => Next::TryAnother,
        (_, Fate::Unknown) => match repeat {
            Repeat::Harmless => Next::TryAnother,
            Repeat::Harmful => Next::GiveUp,
        },
    }
}
