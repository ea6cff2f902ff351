//! SASL's mechanism DIGEST-MD5 (RFC 2831), as Hadoop and Spark use it: for authentication alone (`qop=auth`). Later
//! messages are not wrapped.
//!
//! ```text
//!  challenge  realm="default",nonce="..",qop="auth",charset=utf-8,algorithm=md5-sess
//!  response   charset=utf-8,username="..",realm="default",nonce="..",nc=00000001,cnonce="..",
//!             digest-uri="null/default",maxbuf=65536,response=<32 digits>,qop=auth
//!  proof      rspauth=<32 digits>
//! ```
//!
//! MD5 is old, and the mechanism protects a secret only as far as nobody can guess it. Use random secrets.

#![warn(missing_docs)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::str;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use thiserror::Error;

/// The number of times that a nonce was used. Always 1, because every connection authenticates once.
const COUNT: &str = "00000001";

/// The realm of a challenge that this crate makes.
const REALM: &str = "default";

/// What stands before the URI in the digest of the client, and in that of the server.
const CLIENT: &str = "AUTHENTICATE:";
const SERVER: &str = ":";

/// A user and the password that only the user and the server know. Hadoop and Spark write both in base64, in different
/// ways.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// The user's name, without quotes or backslashes.
    pub user: &'a str,
    /// The password, of which only digests are sent.
    pub password: &'a str,
}

/// Why a challenge cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChallengeError {
    /// The challenge is not a list of names and values.
    #[error("it cannot be read")]
    Malformed,
    /// The challenge lacks a value.
    #[error("it has no {name}")]
    Missing {
        /// The name of the value.
        name: &'static str,
    },
    /// The server requires that all later messages are signed or encrypted.
    #[error(
        "it wants every message protected (qop {qop}), which is not supported: let it offer authentication alone"
    )]
    Protection {
        /// The protection that the server requires.
        qop: String,
    },
    /// The server requires another digest algorithm.
    #[error("it wants the algorithm {algorithm}; md5-sess is known")]
    Algorithm {
        /// The required algorithm.
        algorithm: String,
    },
}

/// Why a response proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ResponseError {
    /// The response is not a list of names and values, or does not answer this challenge.
    #[error("it does not answer the challenge")]
    Malformed,
    /// The response was made with another login.
    #[error("its password is wrong")]
    WrongPassword,
}

/// A client's answer to a challenge.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// The response.
    pub text: String,
    /// What the server sends back if it knows the password.
    pub proof: String,
}

/// The challenge of a server. `nonce`: random bytes that were never used before.
#[must_use]
pub fn challenge(nonce: &[u8]) -> String {
    let nonce = STANDARD.encode(nonce);
    format!("realm=\"{REALM}\",nonce=\"{nonce}\",qop=\"auth\",charset=utf-8,algorithm=md5-sess")
}

/// The answer of a client. `client_nonce` is a text that was never used before, without quotes or backslashes.
///
/// # Errors
/// The challenge is malformed, or wants what is not supported.
pub fn answer(
    challenge: &[u8],
    login: Login<'_>,
    uri: &str,
    client_nonce: &str,
) -> Result<Answer, ChallengeError> {
    let said = directives(challenge).ok_or(ChallengeError::Malformed)?;
    let nonce = said.get("nonce").ok_or(ChallengeError::Missing { name: "nonce" })?;
    let realm = said.get("realm").map_or("", String::as_str);
    match said.get("algorithm").map(String::as_str) {
        Some("md5-sess") => {}
        Some(algorithm) => return Err(ChallengeError::Algorithm { algorithm: algorithm.to_owned() }),
        None => return Err(ChallengeError::Missing { name: "algorithm" }),
    }
    let qop = said.get("qop").map_or("auth", String::as_str);
    if !qop.split(',').any(|offered| offered.trim() == "auth") {
        return Err(ChallengeError::Protection { qop: qop.to_owned() });
    }
    let session = Session { realm, nonce, client_nonce, uri };
    let response = session.digest(login, CLIENT);
    let proof = session.proof(login);
    let user = login.user;
    let (realm, nonce) = (escaped(realm), escaped(nonce));
    let text = format!(
        "charset=utf-8,username=\"{user}\",realm=\"{realm}\",nonce=\"{nonce}\",nc={COUNT},cnonce=\"{client_nonce}\",\
         digest-uri=\"{uri}\",maxbuf=65536,response={response},qop=auth"
    );
    Ok(Answer { text, proof })
}

/// Finds the login with which a client has answered the [challenge] with this nonce. Returns the login's number,
/// counted from 0, and what the server sends to prove that it knows the password, too.
///
/// # Errors
/// The response answers something else, or was made with another login.
pub fn check<'a>(
    response: &[u8],
    nonce: &[u8],
    logins: impl IntoIterator<Item = Login<'a>>,
) -> Result<(usize, String), ResponseError> {
    let said = directives(response).ok_or(ResponseError::Malformed)?;
    let get = |name| said.get(name).map(String::as_str).ok_or(ResponseError::Malformed);
    let nonce = STANDARD.encode(nonce);
    let is_plain = said.get("qop").is_none_or(|qop| qop == "auth");
    if !is_plain || get("realm")? != REALM || get("nonce")? != nonce || get("nc")? != COUNT {
        return Err(ResponseError::Malformed);
    }
    let session =
        Session { realm: REALM, nonce: &nonce, client_nonce: get("cnonce")?, uri: get("digest-uri")? };
    let (user, shown) = (get("username")?, get("response")?);
    let fits = |login: &Login<'a>| user == login.user && are_equal(shown, &session.digest(*login, CLIENT));
    let found = logins.into_iter().enumerate().find(|(_, login)| fits(login));
    let (number, login) = found.ok_or(ResponseError::WrongPassword)?;
    Ok((number, session.proof(login)))
}

/// What both sides put into their digests.
struct Session<'a> {
    realm: &'a str,
    nonce: &'a str,
    client_nonce: &'a str,
    uri: &'a str,
}

impl Session<'_> {
    fn digest(&self, login: Login<'_>, side: &str) -> String {
        let Self { realm, nonce, client_nonce, uri } = self;
        let Login { user, password } = login;
        let mut session = Md5::digest(format!("{user}:{realm}:{password}")).to_vec();
        session.extend(format!(":{nonce}:{client_nonce}").into_bytes());
        let (session, request) = (hex_md5(&session), hex_md5(format!("{side}{uri}").as_bytes()));
        hex_md5(format!("{session}:{nonce}:{COUNT}:{client_nonce}:auth:{request}").as_bytes())
    }

    fn proof(&self, login: Login<'_>) -> String {
        format!("rspauth={}", self.digest(login, SERVER))
    }
}

/// Compares two texts in a time that depends only on their lengths.
fn are_equal(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && black_box(differing) == 0
}

/// The names and values of a list such as `realm="default",charset=utf-8`. If a name is repeated, its first value
/// counts. `None` if the text is not a list of this form.
fn directives(text: &[u8]) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut rest = str::from_utf8(text).ok()?.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted_value(quoted)?,
            None => match after.split_once(',') {
                Some((value, _)) => (value.trim().to_owned(), &after[value.len()..]),
                None => (after.trim().to_owned(), ""),
            },
        };
        found.entry(name.trim().to_owned()).or_insert(value);
        let after = after.trim_start();
        rest = if after.is_empty() { after } else { after.strip_prefix(',')?.trim_start() };
    }
    Some(found)
}

/// The text before the closing quote, and the text after the quote.
fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(letters.next()?.1),
            letter => value.push(letter),
        }
    }
    None
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn hex_md5(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(password: &str) -> Login<'_> {
        Login { user: "ann", password }
    }

    fn response() -> Answer {
        let answered = answer(challenge(b"nonce").as_bytes(), login("hush"), "null/default", "client");
        answered.unwrap_or_else(|error| panic!("{error}"))
    }

    fn refusal(challenge: &str) -> String {
        let answered = answer(challenge.as_bytes(), login(""), "/default", "c");
        answered.map(|answer| answer.text).expect_err("it cannot be answered").to_string()
    }

    #[test]
    fn a_challenge_is_cut_at_commas_outside_of_quotes() {
        let said = directives(br#"realm="a,\"b\"", nonce=x ,qop="auth,auth-int",nonce=y"#);
        let said = said.expect("it is a list");
        let said: Vec<(&str, &str)> =
            said.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(said, [("nonce", "x"), ("qop", "auth,auth-int"), ("realm", "a,\"b\"")]);
    }

    #[test]
    fn what_cannot_be_answered_is_told() {
        let rows = [
            ("", "it has no nonce"),
            ("nonce", "it cannot be read"),
            ("nonce=\"x", "it cannot be read"),
            ("nonce=\"x\"y", "it cannot be read"),
            ("nonce=x", "it has no algorithm"),
            ("nonce=x,algorithm=md5", "it wants the algorithm md5; md5-sess is known"),
        ];
        for (challenge, expected) in rows {
            assert_eq!(refusal(challenge), expected, "{challenge}");
        }
        assert!(refusal("nonce=x,algorithm=md5-sess,qop=\"auth-conf\"").contains("(qop auth-conf)"));
    }

    #[test]
    fn both_sides_prove_the_password_to_each_other() {
        let Answer { text, proof } = response();
        let checked = |passwords: &[&str]| {
            let logins = passwords.iter().map(|password| login(password));
            check(text.as_bytes(), b"nonce", logins)
        };
        assert_eq!(checked(&["other", "hush"]), Ok((1, proof)));
        assert_eq!(checked(&["other", "hus", "hushh", ""]), Err(ResponseError::WrongPassword));
        assert_eq!(checked(&[]), Err(ResponseError::WrongPassword));
    }

    #[test]
    fn each_value_of_a_response_counts() {
        let Answer { text, .. } = response();
        let check = |text: &str| check(text.as_bytes(), b"nonce", [login("hush")]).map(|(number, _)| number);
        assert_eq!(check(&text), Ok(0));
        for (one, other, expected) in [
            ("nc=00000001", "nc=00000002", ResponseError::Malformed),
            ("nonce=\"bm9u", "nonce=\"Bm9u", ResponseError::Malformed),
            ("realm=\"default\"", "realm=\"other\"", ResponseError::Malformed),
            ("qop=auth", "qop=auth-conf", ResponseError::Malformed),
            (",response=", ",answer=", ResponseError::Malformed),
            ("charset=utf-8", "charset", ResponseError::Malformed),
            ("username=\"a", "username=\"A", ResponseError::WrongPassword),
            ("null/default", "null/other", ResponseError::WrongPassword),
            ("cnonce=\"client", "cnonce=\"clienT", ResponseError::WrongPassword),
            (",response=", ",response=0", ResponseError::WrongPassword),
        ] {
            let changed = text.replacen(one, other, 1);
            assert_ne!(changed, text, "{one}");
            assert_eq!(check(&changed), Err(expected), "{other}");
        }
    }
}
