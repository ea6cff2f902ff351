//! What a peer that speaks Spark's RPC has to prove at the beginning of a connection, before its first message is read.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use firesteel_host::lease::Lease;
use firesteel_host::net::{
    FIRST_MESSAGE_TIMEOUT, Granted, Keyring, OtherProtocolConnection, Purpose, Transition,
};
use firesteel_protocol::messages::Rights;
use firesteel_protocol::secret::Secret;
use firesteel_settings::tls::RpcTlsSettings;
use firesteel_spark::authentication::initiator::{self, Mechanism};
use firesteel_spark::authentication::responder::{self, Accepted};
use firesteel_spark::authentication::{
    Initiator, LONGEST_FRAME, Proven, Random, Refusal, Responder, SECRET_VARIABLE,
};
use firesteel_spark::frame::{Frame, LONGEST};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::frames::{Broken, Frames};
use crate::secret::random;
use crate::tls::{Tls, TlsDialler, TlsError, begins_tls};

/// How long a refused peer may take to read why, and to end the connection.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// What peers at a port have to prove.
#[derive(Clone, Debug)]
pub struct Authentication {
    secrets: Secrets,
    accepted: Accepted,
    /// The time in which peers that show no secret are admitted, too.
    transition: Option<Transition>,
    tls: Option<Arc<SparkTls>>,
}

/// The secrets of which a peer has to know one.
#[derive(Clone, Debug)]
enum Secrets {
    /// Nobody is asked.
    NotAsked,
    Cluster(Keyring),
    Hosted(HostedSecrets),
}

/// Why a connection is not used.
#[derive(Debug, thiserror::Error)]
pub enum NotProven {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Broken(#[from] Broken),
    #[error("it ended before it proved a secret")]
    Ended,
    #[error("it did not prove a secret in time")]
    Late,
    #[error("the connection would not be encrypted: set spark.ssl.rpc.enabled=true where it begins")]
    InTheClear,
    #[error("the handshake of TLS failed: {0}")]
    Tls(#[source] io::Error),
    #[error(transparent)]
    Files(#[from] TlsError),
}

impl Authentication {
    /// At a Master: the secrets of the cluster. Without keys, nobody is asked.
    #[must_use]
    pub fn of_cluster(keyring: Option<&Keyring>, is_encrypted: bool) -> Self {
        let secrets = keyring.map_or(Secrets::NotAsked, |keyring| Secrets::Cluster(keyring.clone()));
        Self { secrets, accepted: accepted(is_encrypted), transition: transition_of(keyring), tls: None }
    }

    /// At a Worker: the secrets of the executors and cluster drivers that it runs. Without keys, nobody is asked.
    #[must_use]
    pub fn of_worker(keyring: Option<&Keyring>, hosted: &HostedSecrets, is_encrypted: bool) -> Self {
        let secrets = keyring.map_or(Secrets::NotAsked, |_| Secrets::Hosted(hosted.clone()));
        Self { secrets, accepted: accepted(is_encrypted), transition: transition_of(keyring), tls: None }
    }

    /// The same, by TLS alone, if there is a certificate. Then nothing else has to encrypt.
    #[must_use]
    pub(crate) fn with_tls(self, tls: Option<Arc<SparkTls>>) -> Self {
        let accepted = if tls.is_some() { Accepted::All } else { self.accepted };
        Self { tls, accepted, ..self }
    }

    pub(crate) fn tls(&self) -> Option<&SparkTls> {
        self.tls.as_deref()
    }

    /// Begins an accepted connection. Nothing is written after the lease has ended. Returns what the peer has proven;
    /// `None`: it is not asked, or is admitted without a secret for a time.
    ///
    /// # Errors
    /// The peer does not speak TLS although it has to, or has proven no secret. It is told so, if the connection still
    /// works.
    pub async fn begin(
        &self,
        connection: OtherProtocolConnection,
        lease: Lease,
    ) -> Result<(Frames, Option<Proven>), NotProven> {
        let mut frames = match &self.tls {
            None => Frames::of(connection, lease),
            Some(tls) => {
                let beginning = tls.begin(connection, lease);
                timeout(FIRST_MESSAGE_TIMEOUT, beginning).await.unwrap_or(Err(NotProven::Late))?
            }
        };
        let proven = self.admit(&mut frames).await?;
        Ok((frames, proven))
    }

    /// Whether peers are asked for a secret.
    pub(crate) fn is_asked(&self) -> bool {
        !matches!(self.secrets, Secrets::NotAsked)
    }

    /// The time in which peers are admitted that show no secret, unless it is over.
    pub(crate) fn transition(&self) -> Option<&Transition> {
        self.transition.as_ref().filter(|transition| !transition.is_over())
    }

    /// Lets the peer of an accepted connection prove a secret. `None`: it is not asked, or is admitted without one for
    /// a time.
    ///
    /// # Errors
    /// The peer has proven none. It is told so, if the connection still works.
    async fn admit(&self, frames: &mut Frames) -> Result<Option<Proven>, NotProven> {
        let known = match &self.secrets {
            Secrets::NotAsked => return Ok(None),
            Secrets::Cluster(keyring) => keyring.granted(Purpose::Spark).into_iter().map(proven).collect(),
            Secrets::Hosted(hosted) => hosted.all(),
        };
        let secrets: Vec<Secret> = known.iter().map(|proven: &Proven| proven.secret.clone()).collect();
        if let Some(transition) = self.transition() {
            let first = timeout(FIRST_MESSAGE_TIMEOUT, next(frames)).await;
            let first = first.unwrap_or(Err(NotProven::Late))?;
            let is_proof = responder::is_proof(&first);
            frames.put_back(first);
            if !is_proof {
                frames.end_with(transition.clone());
                return Ok(None);
            }
        }
        frames.set_longest(LONGEST_FRAME);
        let proving = respond(Responder::new(self.accepted, draw()), &secrets, frames);
        let number = timeout(FIRST_MESSAGE_TIMEOUT, proving).await.unwrap_or(Err(NotProven::Late))?;
        frames.set_longest(LONGEST);
        Ok(known.into_iter().nth(number))
    }
}

/// What somebody has proven who knows this secret.
pub(crate) fn proven(granted: Granted) -> Proven {
    let Granted { user, rights, secret, .. } = granted;
    Proven { user: user.map(|user| user.to_string()), rights, secret }
}

fn transition_of(keyring: Option<&Keyring>) -> Option<Transition> {
    keyring?.transition().cloned()
}

fn accepted(is_encrypted: bool) -> Accepted {
    if is_encrypted { Accepted::Encrypted } else { Accepted::All }
}

/// The number of the secret that the peer knows.
async fn respond(
    mut responder: Responder,
    secrets: &[Secret],
    frames: &mut Frames,
) -> Result<usize, NotProven> {
    loop {
        let frame = next(frames).await?;
        match responder.receive(&frame, secrets) {
            Ok(responder::Step::Next(answer)) => frames.push(&answer),
            Ok(responder::Step::Proven(proof)) => {
                frames.push(&proof.answer);
                if let Some(encryption) = proof.encryption {
                    frames.encrypt(encryption);
                }
                return Ok(proof.secret);
            }
            Err(refusal) => {
                refuse(&frame, refusal.to_string(), frames).await;
                return Err(refusal.into());
            }
        }
    }
}

/// Answers a request with the reason why its peer is refused, and gives it time to read that.
async fn refuse(frame: &Frame, reason: String, frames: &mut Frames) {
    if let Frame::Request { id, .. } = frame {
        frames.push(&Frame::Failure { id: *id, reason });
        // It may already be gone, and nothing depends on it.
        let _ = timeout(REFUSAL_TIMEOUT, frames.wait_for_end()).await;
    }
}

/// TLS of connections with Spark's applications.
#[derive(Debug)]
pub(crate) struct SparkTls {
    settings: RpcTlsSettings,
    server: Tls,
}

impl SparkTls {
    /// # Errors
    /// A file cannot be used.
    pub(crate) fn of(settings: RpcTlsSettings) -> Result<Self, TlsError> {
        let server = Tls::of(settings.server.clone())?;
        let tls = Self { settings, server };
        tls.dialler()?;
        Ok(tls)
    }

    /// Made of the files as they are now. `None`: the daemon does not dial.
    fn dialler(&self) -> Result<Option<TlsDialler>, TlsError> {
        let authorities = self.settings.authorities.as_ref();
        authorities.map(|authorities| TlsDialler::of(authorities, &self.settings.server)).transpose()
    }

    async fn begin(&self, connection: OtherProtocolConnection, lease: Lease) -> Result<Frames, NotProven> {
        if !begins_tls(&connection.stream).await.map_err(NotProven::Tls)? {
            let mut frames = Frames::of(connection, lease);
            frames.set_longest(LONGEST_FRAME);
            let first = next(&mut frames).await?;
            refuse(&first, NotProven::InTheClear.to_string(), &mut frames).await;
            return Err(NotProven::InTheClear);
        }
        let OtherProtocolConnection { stream, remote: _, permit } = connection;
        let stream = self.server.accept(stream).await.map_err(NotProven::Tls)?;
        Ok(Frames::of_tls(stream, lease).with_permit(permit))
    }

    /// The frames of a dialled connection, after the handshake.
    ///
    /// # Errors
    /// The peer has no certificate of the authorities.
    pub(crate) async fn dialled(&self, stream: TcpStream, lease: Lease) -> Result<Frames, NotProven> {
        let dialler = self.dialler()?.expect("only a Master dials");
        let connecting = async {
            let address = stream.peer_addr()?.ip();
            dialler.connect(stream, address).await
        };
        let stream = timeout(FIRST_MESSAGE_TIMEOUT, connecting).await.map_err(|_| NotProven::Late)?;
        Ok(Frames::of_tls(stream.map_err(NotProven::Tls)?, lease))
    }
}

/// Proves a secret to the peer of a dialled connection, which has to prove it, too.
///
/// # Errors
/// The peer does not know the secret, or wants another mechanism.
pub(crate) async fn prove(
    mechanism: Mechanism,
    secret: Secret,
    frames: &mut Frames,
) -> Result<(), NotProven> {
    let proving = async {
        let (mut initiator, first) = Initiator::begin(mechanism, secret, draw());
        frames.push(&first);
        loop {
            match initiator.receive(&next(frames).await?)? {
                initiator::Step::Next(frame) => frames.push(&frame),
                initiator::Step::Proven(encryption) => {
                    if let Some(encryption) = encryption {
                        frames.encrypt(encryption);
                    }
                    return Ok(());
                }
            }
        }
    };
    timeout(FIRST_MESSAGE_TIMEOUT, proving).await.unwrap_or(Err(NotProven::Late))
}

async fn next(frames: &mut Frames) -> Result<Frame, NotProven> {
    loop {
        if let Some(frame) = frames.take()? {
            return Ok(frame);
        }
        if !frames.exchange().await? {
            return Err(NotProven::Ended);
        }
    }
}

fn draw() -> Random {
    Random { nonce: random(), private: random(), salt: random(), iv: random(), seed: random() }
}

/// The secrets of the executors and cluster drivers that run on a Worker.
#[derive(Clone, Debug, Default)]
pub struct HostedSecrets(Arc<Mutex<Hosted>>);

#[derive(Debug, Default)]
struct Hosted {
    secrets: BTreeMap<u64, Secret>,
    next: u64,
}

impl HostedSecrets {
    /// Accepts the secret in these variables until the returned value is dropped. `None`: there is none.
    #[must_use]
    pub fn host(&self, environment: &BTreeMap<String, String>) -> Option<HostedSecret> {
        let secret = environment.get(SECRET_VARIABLE).filter(|secret| !secret.is_empty())?;
        let mut hosted = self.lock();
        let number = hosted.next;
        hosted.next += 1;
        hosted.secrets.insert(number, Secret::new(secret.as_str()));
        Some(HostedSecret { all: self.clone(), number })
    }

    /// Each secret once: many executors of an application have the same one.
    fn all(&self) -> Vec<Proven> {
        let mut all: Vec<Proven> = Vec::new();
        for secret in self.lock().secrets.values() {
            if all.iter().all(|known| known.secret != *secret) {
                all.push(Proven { user: None, rights: Rights::None, secret: secret.clone() });
            }
        }
        all
    }

    fn lock(&self) -> MutexGuard<'_, Hosted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A secret that is accepted until this value is dropped.
#[derive(Debug)]
pub struct HostedSecret {
    all: HostedSecrets,
    number: u64,
}

impl Drop for HostedSecret {
    fn drop(&mut self) {
        self.all.lock().secrets.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_accepts_the_secrets_of_those_that_it_runs_and_of_nobody_else() {
        let hosted = HostedSecrets::default();
        let variables = |secret: &str| BTreeMap::from([(SECRET_VARIABLE.to_owned(), secret.to_owned())]);
        assert!(hosted.host(&BTreeMap::new()).is_none() && hosted.host(&variables("")).is_none());
        let (one, again) = (hosted.host(&variables("hush")), hosted.host(&variables("hush")));
        let other = hosted.host(&variables("hash"));
        let all = || hosted.all().iter().map(|proven| proven.secret.reveal().to_owned()).collect::<Vec<_>>();
        assert_eq!(all(), ["hush", "hash"]);
        drop(one);
        assert_eq!(all(), ["hush", "hash"]);
        drop(again);
        assert_eq!(all(), ["hash"]);
        drop(other);
        assert!(all().is_empty());
    }
}
