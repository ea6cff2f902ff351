//! The dialling side of a handshake.

use bytes::Bytes;
use firesteel_protocol::secret::Secret;
use firesteel_sasl::Answer;

use super::encryption::{Cipher, Encryption, Engine, Version};
use super::message::{self, Message};
use super::{Random, Refusal, SaslLogin, key_exchange};
use crate::frame::Frame;

/// How a dialling side proves its secret. Both sides must be set to the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// SASL, after which the connection stays in the clear.
    Sasl,
    /// A key exchange, after which the connection is encrypted.
    Aes(Engine),
}

impl Mechanism {
    /// The mechanism of an application whose executors have these options of the JVM. A driver passes its settings on
    /// in them.
    ///
    /// Source: Spark's `isExecutorStartupConf` and `TransportConf`, 4.0.1.
    #[must_use]
    pub fn of(java_options: &[String]) -> Self {
        let set = |name: &str| {
            let value = |option: &String| {
                Some(option.strip_prefix("-D")?.strip_prefix(name)?.strip_prefix('=')?.to_owned())
            };
            java_options.iter().find_map(value).unwrap_or_default()
        };
        if !set("spark.network.crypto.enabled").eq_ignore_ascii_case("true") {
            return Self::Sasl;
        }
        let version =
            if set("spark.network.crypto.authEngineVersion") == "2" { Version::V2 } else { Version::V1 };
        let is_gcm = set("spark.network.crypto.cipher").eq_ignore_ascii_case("AES/GCM/NoPadding");
        Self::Aes(Engine { version, cipher: if is_gcm { Cipher::Gcm } else { Cipher::Ctr } })
    }
}

/// The dialling side of a handshake. After a refusal the connection must be closed.
#[derive(Debug)]
pub struct Initiator {
    secret: Secret,
    random: Random,
    expected: Expected,
}

/// What Spark's clients say in SASL: they have no name for the service.
const URI: &str = "null/default";

/// The answer that comes next.
#[derive(Debug)]
enum Expected {
    Challenge,
    Proof(Secret),
    Key(Engine, Bytes),
}

/// What a side does after an answer of the other side.
#[derive(Debug)]
pub enum Step {
    /// Sends this frame, and waits for the next.
    Next(Frame),
    /// Both sides know the same secret. Everything that follows is encrypted, or nothing is.
    Proven(Option<Encryption>),
}

impl Initiator {
    /// A side that begins a handshake, and its first frame.
    #[must_use]
    pub fn begin(mechanism: Mechanism, secret: Secret, random: Random) -> (Self, Frame) {
        let (expected, body) = match mechanism {
            Mechanism::Sasl => (Expected::Challenge, message::sasl(b"")),
            Mechanism::Aes(engine) => {
                let mine = key_exchange::message(&secret, &random, &[]);
                (Expected::Key(engine, mine.clone()), mine)
            }
        };
        (Self { secret, random, expected }, Frame::Request { id: 1, body })
    }

    /// Handles the other side's answer.
    ///
    /// # Errors
    /// The other side does not know the secret, or does not want this mechanism.
    pub fn receive(&mut self, frame: &Frame) -> Result<Step, Refusal> {
        let body = match frame {
            Frame::Response { body, .. } => body,
            Frame::Failure { reason, .. } => {
                return Err(Refusal::Refused(reason.lines().next().unwrap_or_default().to_owned()));
            }
            Frame::Request { .. } | Frame::OneWay { .. } => return Err(Refusal::NoProof),
        };
        match &self.expected {
            Expected::Challenge => {
                let nonce: String = self.random.nonce.iter().map(|byte| format!("{byte:02x}")).collect();
                let answered = firesteel_sasl::answer(body, SaslLogin::of(&self.secret).login(), URI, &nonce);
                let Answer { text, proof } = answered?;
                self.expected = Expected::Proof(Secret::new(proof));
                Ok(Step::Next(Frame::Request { id: 2, body: message::sasl(text.as_bytes()) }))
            }
            Expected::Proof(proof) => {
                let shown = std::str::from_utf8(body).map_err(|_| Refusal::Malformed)?;
                if Secret::new(shown.trim()) == *proof {
                    Ok(Step::Proven(None))
                } else {
                    Err(Refusal::WrongSecret)
                }
            }
            Expected::Key(engine, mine) => {
                let Message::Key { salt, encrypted, whole } = Message::decode(body)? else {
                    return Err(Refusal::Malformed);
                };
                let public = key_exchange::public_key(&self.secret, &salt, &encrypted, mine)?;
                let transcript = [&mine[..], &whole].concat();
                let keys = key_exchange::connection_keys(&self.random, public, &transcript)?;
                Ok(Step::Proven(Some(Encryption::of_initiator(&keys, *engine, self.random.seed))))
            }
        }
    }
}
