//! How two sides prove to each other at the beginning of a connection that they know the same secret.
//!
//! ```text
//!  dialling side                              accepting side
//!  SASL DIGEST-MD5:      begin -------------> challenge         the connection stays in the clear
//!                        response ----------> proof
//!  Spark's AES engine:   public key --------> public key        the connection is encrypted
//! ```
//!
//! - `message`: what the frames of both mechanisms contain
//! - `key_exchange`: public keys, encrypted with a key that is made from the secret
//! - [`encryption`]: the bytes of an encrypted connection
//! - [`responder`], [`initiator`]: the two sides as state machines
//!
//! A proof tells which secret the other side knows, and nothing else. Spark has one secret for a whole cluster. An
//! accepting side here knows several, and finds out which of them the other side has.
//!
//! SASL is in `firesteel-sasl`, with the secret as the password.
//!
//! Source: Spark's network library, 3.3 to 4.3.

pub mod encryption;
pub mod initiator;
mod key_exchange;
mod message;
pub mod responder;

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use firesteel_protocol::messages::Rights;
use firesteel_protocol::secret::Secret;
use firesteel_sasl::{ChallengeError, Login};
use thiserror::Error;

pub use self::initiator::Initiator;
pub use self::responder::Responder;

/// The variable of an executor's or a cluster driver's environment in which Spark looks for the secret.
pub const SECRET_VARIABLE: &str = "_SPARK_AUTH_SECRET";

/// The longest frame that a side reads before the other side has proven itself, in bytes.
pub const LONGEST_FRAME: usize = 4 << 10;

/// Random bytes for one handshake. They are drawn from the operating system's random source, and used once.
#[derive(Clone)]
pub struct Random {
    /// For a nonce of SASL.
    pub nonce: [u8; 30],
    /// A private key.
    pub private: [u8; 32],
    /// The salt of the key that encrypts the public key.
    pub salt: [u8; message::SALT],
    /// The nonce with which the public key is encrypted.
    pub iv: [u8; key_exchange::IV],
    /// What the salts of the connection's messages are made of.
    pub seed: [u8; encryption::SEED],
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random(..)")
    }
}

/// What the other side of a connection has proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven {
    /// The user to whom the secret was granted. `None`: it was granted to nobody in particular.
    pub user: Option<String>,
    /// What the secret allows at a Master.
    pub rights: Rights,
    /// The secret, which the other side's executors and cluster drivers need, too.
    pub secret: Secret,
}

impl Proven {
    /// Puts the secret into the variables of an executor or a cluster driver.
    pub(crate) fn hand_over(&self, environment: &mut BTreeMap<String, String>) {
        environment.insert(SECRET_VARIABLE.to_owned(), self.secret.reveal().to_owned());
    }
}

/// Why a side does not talk to the other side.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The first message is about something else.
    #[error(
        "no secret was proven: set spark.authenticate=true and spark.authenticate.secret where the connection begins"
    )]
    NoProof,
    /// The message ends too early, or is not the one that comes next.
    #[error("the proof of a secret is malformed")]
    Malformed,
    /// The proof was not made with a secret that this side knows.
    #[error("the secret is wrong: spark.authenticate.secret must be one that this side knows")]
    WrongSecret,
    /// The connection would stay in the clear, but this side wants encryption.
    #[error("the connection would not be encrypted: set spark.network.crypto.enabled=true where it begins")]
    InTheClear,
    /// The challenge of the other side cannot be answered.
    #[error("the challenge cannot be answered: {0}")]
    Challenge(#[from] ChallengeError),
    /// The other side has refused this one, for this reason.
    #[error("the other side refused: {0}")]
    Refused(String),
}

/// The user and the password that a secret is for SASL.
struct SaslLogin {
    user: String,
    password: String,
}

/// The length of a line of base64.
const LINE: usize = 76;

impl SaslLogin {
    /// Spark writes both in base64 with Netty, which breaks lines.
    fn of(secret: &Secret) -> Self {
        let password = STANDARD.encode(secret.reveal());
        let lines: Vec<&str> = (0..password.len())
            .step_by(LINE)
            .map(|at| &password[at..password.len().min(at + LINE)])
            .collect();
        Self { user: STANDARD.encode(message::USER), password: lines.join("\n") }
    }

    fn login(&self) -> Login<'_> {
        Login { user: &self.user, password: &self.password }
    }
}

#[cfg(test)]
mod tests;
