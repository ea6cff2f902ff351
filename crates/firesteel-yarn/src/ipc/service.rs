//! A server that callers use without managing connections. It connects when a call is made, and reconnects after a
//! loss. If several servers can be active, calls go to the active one.

use std::time::Duration;

use prost::Message;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::connection::{Connection, Timeouts};
use super::error::{CallError, Delivery, IpcError, Kind};
use super::greeting::{ClientId, Greeting, Identity, Protocol};

/// The retry policy for a server that cannot be reached or is not active.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// The first pause; each further pause is twice the previous one.
    pub first: Duration,
    /// The longest pause between two attempts.
    pub longest: Duration,
    /// The time limit for retries, from the first failure.
    pub within: Duration,
}

impl Default for Retry {
    /// Retries for a quarter of an hour, like Hadoop's clients of a ResourceManager, which pause 30 s each time.
    fn default() -> Self {
        Self {
            first: Duration::from_millis(200),
            longest: Duration::from_secs(10),
            within: Duration::from_secs(900),
        }
    }
}

/// Whether a call that may have been processed may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idempotence {
    /// A repetition of the call does no harm.
    Idempotent,
    /// A repetition would count as a second call, so the caller decides.
    NotIdempotent,
}

/// A server, or several servers of which only one is active.
#[derive(Debug)]
pub struct Service {
    addresses: Vec<String>,
    protocol: Protocol,
    client: ClientId,
    retry: Retry,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    identity: Identity,
    /// The index of the address that is used for calls.
    index: usize,
    connection: Option<Connection>,
}

impl Service {
    /// Makes a service for these addresses (`host:port`), which are tried in turn. The service does not connect before
    /// the first call.
    #[must_use]
    pub fn new(addresses: Vec<String>, protocol: Protocol, identity: Identity, retry: Retry) -> Self {
        assert!(!addresses.is_empty(), "a service is somewhere");
        Self {
            addresses,
            protocol,
            client: ClientId::random(),
            retry,
            current: Mutex::new(Current { identity, index: 0, connection: None }),
        }
    }

    /// Sets the caller's identity for new connections. An open connection keeps its identity.
    pub async fn identify(&self, identity: Identity) {
        self.current.lock().await.identity = identity;
    }

    /// Calls a method, with retries if necessary.
    ///
    /// # Errors The server sends a final error, or cannot be reached within the retry limit. Or a call that must not be
    /// repeated may have been processed.
    pub async fn call<A: Message + Default>(
        &self,
        method: &'static str,
        request: &impl Message,
        idempotence: Idempotence,
    ) -> Result<A, CallError> {
        let begun = Instant::now();
        let mut pause = self.retry.first;
        let mut tried = 0;
        loop {
            let index = self.current.lock().await.index;
            let failure = match self.try_call(method, request).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let next = after(&failure, idempotence);
            if next == Next::GiveUp || begun.elapsed() + pause > self.retry.within {
                return Err(failure);
            }
            if next == Next::TryAnother {
                self.switch(index).await;
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
        let connection = self.connection().await.map_err(|error| CallError {
            method,
            delivery: Delivery::NotDelivered,
            error,
        })?;
        connection.call(method, request).await
    }

    async fn connection(&self) -> Result<Connection, IpcError> {
        let mut current = self.current.lock().await;
        if let Some(connection) = current.connection.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        let (address, timeouts) = (&self.addresses[current.index], Timeouts::default());
        let unreachable =
            |why: std::io::Error| IpcError::Unreachable { address: address.clone(), why: why.into() };
        let stream = timeout(timeouts.opening, TcpStream::connect(address))
            .await
            .map_err(|_| unreachable(std::io::ErrorKind::TimedOut.into()))?
            .map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        let greeting =
            Greeting { protocol: self.protocol, identity: current.identity.clone(), client: self.client };
        let connection = Connection::open(stream, &greeting, timeouts).await?;
        current.connection = Some(connection.clone());
        Ok(connection)
    }

    /// Switches from this address to the next one, unless another call has already switched.
    async fn switch(&self, index: usize) {
        let mut current = self.current.lock().await;
        if current.index == index {
            current.index = (index + 1) % self.addresses.len();
            current.connection = None;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GiveUp,
    TryAgain,
    TryAnother,
}

fn after(failure: &CallError, idempotence: Idempotence) -> Next {
    match (&failure.error, failure.delivery) {
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
        (IpcError::Sasl(_), _) | (_, Delivery::Answered) => Next::GiveUp,
        (_, Delivery::NotDelivered) => Next::TryAnother,
        (_, Delivery::Unknown) => match idempotence {
            Idempotence::Idempotent => Next::TryAnother,
            Idempotence::NotIdempotent => Next::GiveUp,
        },
    }
}
