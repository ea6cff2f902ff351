//! DIGEST-MD5 (RFC 2831) as Hadoop uses it. The user name and the password are base64 texts of a token's
//! identifier and password. Later messages are not wrapped.

use std::collections::BTreeMap;
use std::str;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};

use crate::messages::security::Token;

/// The number of times that a nonce was used. Always 1, because every connection authenticates once.
const COUNT: &str = "00000001";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChallengeError {
    /// The challenge is not a list of names and values.
    #[error("it cannot be read")]
    Malformed,
    #[error("it has no {name}")]
    Missing { name: &'static str },
    /// The server requires that all later messages are signed or encrypted.
    #[error(
        "it wants every message protected (qop {qop}), which is not supported: set hadoop.rpc.protection to authentication"
    )]
    Protection {
        /// The protection that the server requires.
        qop: String,
    },
    /// The server requires another digest algorithm.
    #[error("it wants the algorithm {algorithm}; md5-sess is known")]
    Algorithm { algorithm: String },
}

pub(super) struct Answer {
    pub(super) text: String,
    /// The proof that the server sends back if it knows the password.
    pub(super) proof: String,
}

pub(super) fn answer(
    challenge: &[u8],
    token: &Token,
    uri: &str,
    cnonce: &str,
) -> Result<Answer, ChallengeError> {
    let challenge = str::from_utf8(challenge).map_err(|_| ChallengeError::Malformed)?;
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

    let user = STANDARD.encode(&token.identifier);
    let password = STANDARD.encode(&token.password);
    let secret = Md5::digest(format!("{user}:{realm}:{password}"));
    let mut session = secret.to_vec();
    session.extend(format!(":{nonce}:{cnonce}").into_bytes());
    let session = hex_md5(&session);
    let digest = |request: &str| {
        let request = hex_md5(request.as_bytes());
        hex_md5(format!("{session}:{nonce}:{COUNT}:{cnonce}:auth:{request}").as_bytes())
    };
    let response = digest(&format!("AUTHENTICATE:{uri}"));
    let proof = digest(&format!(":{uri}"));
    let (realm, nonce) = (escaped(realm), escaped(nonce));
    let text = format!(
        "charset=utf-8,username=\"{user}\",realm=\"{realm}\",nonce=\"{nonce}\",nc={COUNT},cnonce=\"{cnonce}\",\
         digest-uri=\"{uri}\",maxbuf=65536,response={response},qop=auth"
    );
    Ok(Answer { text, proof })
}

/// The names and values of a list such as `realm="default",charset=utf-8`. If a name is repeated, its first value
/// counts. `None` if the text is not a list of this form.
fn directives(text: &str) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut rest = text.trim_start();
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

    fn refusal(challenge: &str) -> String {
        let answered = answer(challenge.as_bytes(), &Token::default(), "/default", "c");
        answered.map(|answer| answer.text).expect_err("it cannot be answered").to_string()
    }

    #[test]
    fn a_challenge_is_cut_at_commas_outside_of_quotes() {
        let said =
            directives(r#"realm="a,\"b\"", nonce=x ,qop="auth,auth-int",nonce=y"#).expect("it is a list");
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
}
