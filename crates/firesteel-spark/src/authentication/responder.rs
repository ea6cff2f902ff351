//! The accepting side of a handshake.

use firesteel_protocol::secret::Secret;
use firesteel_sasl::ResponseError;

use super::encryption::Encryption;
use super::message::Message;
use super::{Random, Refusal, SaslLogin, key_exchange};
use crate::frame::Frame;

/// What an accepting side accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// A proof by either mechanism.
    All,
    /// Only a proof after which the connection is encrypted.
    Encrypted,
}

/// The accepting side of a handshake.
///
/// ```text
///  BEGUN --SASL begins--> CHALLENGED --response--> proven
///    +---- public key ---------------------------> proven
/// ```
///
/// After a refusal the connection must be closed.
#[derive(Debug)]
pub struct Responder {
    accepted: Accepted,
    random: Random,
    is_challenged: bool,
}

/// What a side does after a message of the other side.
#[derive(Debug)]
pub enum Step {
    /// Sends this frame, and waits for the next.
    Next(Frame),
    /// Sends this frame, and then talks as usual.
    Proven(Proof),
}

/// What the accepting side knows after the handshake.
#[derive(Debug)]
pub struct Proof {
    /// The last frame of the handshake, which is sent in the clear.
    pub answer: Frame,
    /// The number of the secret that the other side knows, counted from 0.
    pub secret: usize,
    /// The encryption of everything that follows.
    pub encryption: Option<Encryption>,
}

/// Whether the first frame of a connection begins a handshake.
#[must_use]
pub fn is_proof(first: &Frame) -> bool {
    matches!(first, Frame::Request { body, .. } if !matches!(Message::decode(body), Err(Refusal::NoProof)))
}

impl Responder {
    /// A side that waits for the first message.
    #[must_use]
    pub fn new(accepted: Accepted, random: Random) -> Self {
        Self { accepted, random, is_challenged: false }
    }

    /// Handles the next frame from the dialling side, which may have been made with each of these secrets.
    ///
    /// # Errors
    /// The other side has not proven that it knows one of them.
    pub fn receive(&mut self, frame: &Frame, secrets: &[Secret]) -> Result<Step, Refusal> {
        let Frame::Request { id, body } = frame else { return Err(Refusal::NoProof) };
        let answer = |body| Frame::Response { id: *id, body };
        match (Message::decode(body)?, std::mem::take(&mut self.is_challenged)) {
            (Message::Sasl(_), _) if self.accepted == Accepted::Encrypted => Err(Refusal::InTheClear),
            (Message::Sasl(_), false) => {
                self.is_challenged = true;
                Ok(Step::Next(answer(firesteel_sasl::challenge(&self.random.nonce).into())))
            }
            (Message::Sasl(response), true) => {
                let logins: Vec<SaslLogin> = secrets.iter().map(SaslLogin::of).collect();
                let logins = logins.iter().map(SaslLogin::login);
                let checked = firesteel_sasl::check(&response, &self.random.nonce, logins);
                let (secret, proof) = checked.map_err(|error| match error {
                    ResponseError::Malformed => Refusal::Malformed,
                    ResponseError::WrongPassword => Refusal::WrongSecret,
                })?;
                Ok(Step::Proven(Proof { answer: answer(proof.into()), secret, encryption: None }))
            }
            (Message::Key { salt, encrypted, whole }, false) => {
                let opened = secrets.iter().enumerate().find_map(|(number, secret)| {
                    Some((number, key_exchange::public_key(secret, &salt, &encrypted, &[]).ok()?))
                });
                let (secret, public) = opened.ok_or(Refusal::WrongSecret)?;
                let mine = key_exchange::message(&secrets[secret], &self.random, &whole);
                let transcript = [&whole[..], &mine].concat();
                let keys = key_exchange::connection_keys(&self.random, public, &transcript)?;
                let encryption = Some(Encryption::of_responder(keys, self.random.seed));
                Ok(Step::Proven(Proof { answer: answer(mine), secret, encryption }))
            }
            (Message::Key { .. }, true) => Err(Refusal::Malformed),
        }
    }
}
