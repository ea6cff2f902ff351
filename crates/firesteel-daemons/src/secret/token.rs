//! Tokens by which those who ask over HTTP prove that the holder of a key has let them: JSON Web Signatures with HS256.
//!
//! Source: Spark's JWSFilter, 4.0.1; RFC 7515 and RFC 7519.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use firesteel_settings::token_key::TokenKey;
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use sha2::Sha256;

#[derive(Deserialize)]
struct Header {
    alg: String,
    /// Extensions that a reader has to understand. Firesteel knows none.
    crit: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Claims {
    /// When the token ends, in seconds since 1970.
    exp: Option<f64>,
    /// When the token begins.
    nbf: Option<f64>,
}

/// Whether the token is signed with this key, and valid at this time, in seconds since 1970.
pub(crate) fn is_right(token: &str, key: &TokenKey, now: f64) -> bool {
    read(token, key).is_some_and(|claims| {
        claims.exp.is_none_or(|end| now < end) && claims.nbf.is_none_or(|begin| now >= begin)
    })
}

/// The claims of a token that is signed with this key.
fn read(token: &str, key: &TokenKey) -> Option<Claims> {
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let mut mac = Hmac::<Sha256>::new_from_slice(key.bytes()).expect("a key may have any length");
    mac.update(signed.as_bytes());
    mac.verify_slice(&decoded(signature)?).ok()?;
    let header: Header = serde_json::from_slice(&decoded(header)?).ok()?;
    if header.alg != "HS256" || header.crit.is_some() {
        return None;
    }
    serde_json::from_slice(&decoded(claims)?).ok()
}

fn decoded(part: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(part).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> TokenKey {
        // Source: RFC 7515, A.1.
        let text = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
        TokenKey::new(text).expect("it is a key")
    }

    /// A token with this header and these claims.
    fn token(header: &str, claims: &str) -> String {
        let signed =
            format!("{}.{}", BASE64_URL_SAFE_NO_PAD.encode(header), BASE64_URL_SAFE_NO_PAD.encode(claims));
        let mut mac = Hmac::<Sha256>::new_from_slice(key().bytes()).expect("a key");
        mac.update(signed.as_bytes());
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
    }

    #[test]
    fn the_example_of_the_standard_is_right_until_its_end_and_in_no_other_form() {
        let example = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6\
                       Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert!(is_right(example, &key(), 1_300_819_379.0));
        assert!(!is_right(example, &key(), 1_300_819_380.0));
        for index in 0..example.len() {
            let mut changed = example.as_bytes().to_vec();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("it is text");
            // The last character has bits that stand for nothing: then it is no base64.
            assert!(!is_right(&changed, &key(), 0.0), "{index}");
        }
        for cut in 0..example.len() {
            assert!(!is_right(&example[..cut], &key(), 0.0), "{cut}");
        }
        let other = TokenKey::new(&"A".repeat(43)).expect("a key");
        assert!(!is_right(example, &other, 0.0));
    }

    #[test]
    fn only_hs256_counts_and_only_within_its_time() {
        for (header, claims, is) in [
            (r#"{"alg":"HS256"}"#, "{}", true),
            (r#"{"alg":"HS256","kid":"1"}"#, r#"{"sub":"ann","exp":101,"nbf":100}"#, true),
            (r#"{"alg":"HS256"}"#, r#"{"exp":100}"#, false),
            (r#"{"alg":"HS256"}"#, r#"{"exp":100.5}"#, true),
            (r#"{"alg":"HS256"}"#, r#"{"nbf":101}"#, false),
            (r#"{"alg":"HS256"}"#, r#"{"exp":"soon"}"#, false),
            (r#"{"alg":"HS256","crit":["x"]}"#, "{}", false),
            (r#"{"alg":"HS512"}"#, "{}", false),
            (r#"{"alg":"none"}"#, "{}", false),
            (r#"{"typ":"JWT"}"#, "{}", false),
            (r#"{"alg":"HS256"}"#, "", false),
            ("", "{}", false),
        ] {
            assert_eq!(is_right(&token(header, claims), &key(), 100.0), is, "{header} {claims}");
        }
        let unsigned = token(r#"{"alg":"none"}"#, "{}");
        let (unsigned, _) = unsigned.rsplit_once('.').expect("three parts");
        for wrong in ["", ".", "..", "...", unsigned, &format!("{unsigned}.")] {
            assert!(!is_right(wrong, &key(), 100.0), "{wrong}");
        }
    }
}
