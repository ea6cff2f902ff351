//! The key of the tokens by which those who ask over HTTP prove that they may. Source: Spark's JWSFilter, 4.0.1.

use std::fmt;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::keys;
use crate::properties::{Properties, Property, SettingError};

/// The filter of Spark's that Firesteel has, too.
pub const JWS_FILTER: &str = "org.apache.spark.ui.JWSFilter";

/// The fewest bytes of a key. Source: RFC 7518, 3.2.
const FEWEST: usize = 32;

/// Base64url, with padding or without.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A key of at least 256 bits. `Debug` output does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenKey(Vec<u8>);

impl TokenKey {
    /// `None`: the text is no key of at least 256 bits in base64url.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        BASE64URL.decode(text.trim()).ok().filter(|bytes| bytes.len() >= FEWEST).map(Self)
    }

    /// The key of the filter before a service. `None`: no filter is wanted.
    ///
    /// # Errors
    /// The property asks for another filter, or the key is missing or cannot be used.
    pub(super) fn of(
        properties: &Properties,
        filters: &'static str,
        (served, instead): (&'static str, &'static str),
    ) -> Result<Option<Self>, SettingError> {
        let text = |wanted| properties.family(keys::TOKEN_KEY).find(|(name, _)| *name == wanted);
        let text = text("secretKey").or_else(|| text("key")).map_or("", |(_, text)| text);
        let key = match text {
            "" => None,
            text => Some(Self::new(text).ok_or(SettingError::NoTokenKey)?),
        };
        match properties.all(filters).next() {
            Some(Property { value, .. }) if value.trim() == JWS_FILTER => {
                key.map(Some).ok_or(SettingError::NoTokenKey)
            }
            Some(Property { value, origin }) if !value.trim().is_empty() => {
                let (value, origin) = (value.clone(), origin.clone());
                Err(SettingError::Unprotected { key: filters, value, origin, served, instead })
            }
            Some(_) | None => Ok(None),
        }
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "VGhpcyBpcyBhIGtleSBvZiAyNTYgYml0cywgbm8gbW9yZS4";

    #[test]
    fn a_key_has_at_least_256_bits_in_base64url() {
        assert!(TokenKey::new(KEY).is_some_and(|key| key.bytes().len() == 35));
        for (text, is_key) in [
            (&"A".repeat(43)[..], true),
            (&format!("{}=", "A".repeat(43)), true),
            (&format!(" {}\n", "-_".repeat(30)), true),
            (&"A".repeat(42), false),
            (&"+/".repeat(30), false),
            ("", false),
            ("a key", false),
        ] {
            assert_eq!(TokenKey::new(text).is_some(), is_key, "{text}");
        }
        assert_eq!(format!("{:?}", TokenKey::new(KEY)), "Some(TokenKey(..))");
    }

    #[test]
    fn tokens_are_wanted_where_the_filter_is_named_with_a_key_and_no_other_filter_will_do() {
        let of = |pairs: &[&str]| {
            let properties = Properties::parse(pairs.iter().copied()).expect("they are pairs");
            TokenKey::of(&properties, keys::UI_FILTERS, ("the pages", "remove it"))
        };
        let filter = format!("spark.ui.filters={JWS_FILTER}");
        let key = format!("spark.org.apache.spark.ui.JWSFilter.param.secretKey={KEY}");
        let old = format!("spark.org.apache.spark.ui.JWSFilter.param.key={KEY}");
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[&key]), Ok(None));
        assert_eq!(of(&["spark.ui.filters="]), Ok(None));
        for named in [&key, &old] {
            assert_eq!(of(&[&filter, named]), Ok(TokenKey::new(KEY)));
        }
        let error = |pairs: &[&str]| of(pairs).expect_err("it cannot be used").to_string();
        assert!(error(&[&filter]).contains("param.secretKey is no key of at least 256 bits"));
        let short = error(&[&filter, "spark.org.apache.spark.ui.JWSFilter.param.key=hush"]);
        assert!(short.contains("is no key of at least") && !short.contains("hush"), "{short}");
        assert!(error(&[&format!("{filter},org.example.Filter")]).contains("its filters are Java classes"));
    }
}
