//! Authentication with a token: Hadoop's own steps, and the mechanism DIGEST-MD5 within them. This module does no I/O:
//! it receives the server's step and returns the client's next step.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use firesteel_sasl::{Answer, ChallengeError, Login};

use crate::messages::rpc::{RpcSasl, SaslAuth, SaslState};
use crate::messages::security::Token;

const METHOD: &str = "TOKEN";
const MECHANISM: &str = "DIGEST-MD5";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SaslError {
    /// The server asks for no proof, so the server cannot prove its own identity either.
    #[error("it asks for no authentication, although a token is there")]
    NotAsked,
    /// The server accepts only other methods, such as Kerberos.
    #[error("it takes no tokens, only {offered}")]
    NoTokens {
        /// The methods that the server offers, separated by commas.
        offered: String,
    },
    /// The challenge of the server cannot be answered.
    #[error("its challenge cannot be answered: {0}")]
    Challenge(#[from] ChallengeError),
    /// The server did not prove that it knows the token's password.
    #[error("it does not prove that it knows the token")]
    Unproven,
    /// The server sent a step out of order.
    #[error("it sent step {state} where it was not due")]
    OutOfOrder { state: i32 },
}

/// The state of an authentication.
///
/// ```text
/// Begun --NEGOTIATE--> Answered --SUCCESS with proof------------------------> Done
///                         |---CHALLENGE with proof--> Proven --SUCCESS------> Done
/// ```
pub struct Negotiation {
    token: Token,
    cnonce: String,
    state: State,
}

enum State {
    Begun,
    Answered { proof: String },
    Proven,
    Done,
}

/// The next action of the client.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Send this message and wait for the response.
    Send(RpcSasl),
    /// Both sides are authenticated.
    Done,
}

impl Negotiation {
    /// Begins an authentication. `cnonce` is the client's nonce: a text that was never used before, without quotes or
    /// backslashes.
    #[must_use]
    pub fn begin(token: Token, cnonce: String) -> (Self, RpcSasl) {
        (Self { token, cnonce, state: State::Begun }, step(SaslState::Negotiate))
    }

    /// Handles the server's next step.
    ///
    /// # Errors
    /// The authentication failed; the connection cannot be used any more.
    pub fn on(&mut self, said: &RpcSasl) -> Result<Step, SaslError> {
        let out_of_order = SaslError::OutOfOrder { state: said.state };
        let said_state = SaslState::try_from(said.state).map_err(|_| out_of_order.clone())?;
        match (&self.state, said_state) {
            (State::Begun, SaslState::Negotiate) => self.answer(&said.auths),
            (State::Begun, SaslState::Success) => Err(SaslError::NotAsked),
            (State::Answered { proof }, SaslState::Success) => {
                check(proof, said)?;
                self.state = State::Done;
                Ok(Step::Done)
            }
            (State::Answered { proof }, SaslState::Challenge) => {
                check(proof, said)?;
                self.state = State::Proven;
                Ok(Step::Send(RpcSasl { token: Some(Vec::new()), ..step(SaslState::Response) }))
            }
            (State::Proven, SaslState::Success) => {
                self.state = State::Done;
                Ok(Step::Done)
            }
            (State::Begun | State::Answered { .. } | State::Proven | State::Done, _) => Err(out_of_order),
        }
    }

    fn answer(&mut self, offers: &[SaslAuth]) -> Result<Step, SaslError> {
        let offer = offers.iter().find(|offer| offer.method == METHOD && offer.mechanism == MECHANISM);
        let Some(offer) = offer else {
            let offered: Vec<&str> = offers.iter().map(|offer| offer.method.as_str()).collect();
            return Err(SaslError::NoTokens { offered: offered.join(", ") });
        };
        let uri = format!("{}/{}", offer.protocol(), offer.server_id());
        let [user, password] =
            [&self.token.identifier, &self.token.password].map(|bytes| STANDARD.encode(bytes));
        let login = Login { user: &user, password: &password };
        let Answer { text, proof } = firesteel_sasl::answer(offer.challenge(), login, &uri, &self.cnonce)?;
        self.state = State::Answered { proof };
        // The offer is returned unchanged except for its challenge, even with an empty protocol.
        let chosen = SaslAuth { challenge: None, ..offer.clone() };
        Ok(Step::Send(RpcSasl {
            token: Some(text.into_bytes()),
            auths: vec![chosen],
            ..step(SaslState::Initiate)
        }))
    }
}

fn check(proof: &str, said: &RpcSasl) -> Result<(), SaslError> {
    if said.token() == proof.as_bytes() { Ok(()) } else { Err(SaslError::Unproven) }
}

fn step(state: SaslState) -> RpcSasl {
    RpcSasl { version: None, state: state.into(), token: None, auths: Vec::new() }
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;

    fn begun() -> Negotiation {
        Negotiation::begin(Token::default(), "c".to_owned()).0
    }

    fn offer(method: &str, challenge: &str) -> RpcSasl {
        let auth = SaslAuth {
            method: method.to_owned(),
            mechanism: MECHANISM.to_owned(),
            protocol: Some(String::new()),
            server_id: Some("default".to_owned()),
            challenge: Some(challenge.as_bytes().to_vec()),
        };
        RpcSasl { auths: vec![auth], ..step(SaslState::Negotiate) }
    }

    const CHALLENGE: &str = r#"realm="default",nonce="abc",qop="auth",charset=utf-8,algorithm=md5-sess"#;

    #[test]
    fn a_server_that_asks_for_nothing_is_not_trusted() {
        assert_eq!(begun().on(&step(SaslState::Success)), Err(SaslError::NotAsked));
    }

    #[test]
    fn a_server_without_tokens_is_told_of() {
        let error = begun().on(&offer("KERBEROS", CHALLENGE)).expect_err("there is no token");
        assert_eq!(error.to_string(), "it takes no tokens, only KERBEROS");
    }

    #[test]
    fn a_server_that_does_not_know_the_password_is_not_trusted() {
        for state in [SaslState::Success, SaslState::Challenge] {
            let mut negotiation = begun();
            assert!(matches!(negotiation.on(&offer("TOKEN", CHALLENGE)), Ok(Step::Send(_))));
            let said = RpcSasl { token: Some(b"rspauth=00".to_vec()), ..step(state) };
            assert_eq!(negotiation.on(&said), Err(SaslError::Unproven));
        }
    }

    #[test]
    fn a_step_that_is_not_due_ends_it() {
        for state in [SaslState::Initiate, SaslState::Challenge, SaslState::Response, SaslState::Wrap] {
            let error = SaslError::OutOfOrder { state: state.into() };
            assert_eq!(begun().on(&step(state)), Err(error));
        }
        let unknown = RpcSasl { state: 77, ..step(SaslState::Wrap) };
        assert_eq!(begun().on(&unknown), Err(SaslError::OutOfOrder { state: 77 }));
    }

    quickcheck! {
        fn no_challenge_breaks_it(challenge: String) -> bool {
            let _ = begun().on(&offer("TOKEN", &challenge));
            true
        }
    }
}
