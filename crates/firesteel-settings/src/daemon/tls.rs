//! TLS of a daemon's pages and data. Source: Spark SSLOptions, 4.0.1, for the keys; files are in PEM format here.

use std::path::PathBuf;

use firesteel_protocol::byte_text;

use crate::keys;
use crate::properties::{Properties, SettingError};

/// The files of a daemon that serves HTTPS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// The daemon's certificate, followed by those of the authorities between it and the one that clients know.
    pub certificates: PathBuf,
    pub private_key: PathBuf,
    /// The authorities of which each client must have a certificate. `None`: clients need none.
    pub client_authorities: Option<PathBuf>,
}

impl TlsSettings {
    /// `None`: the daemon serves HTTP in the clear.
    ///
    /// # Errors
    /// A value cannot be used, or a file is not named.
    pub fn of(properties: &Properties) -> Result<Option<Self>, SettingError> {
        let needs_certificates = properties.boolean(keys::TLS_CLIENTS)? == Some(true);
        if properties.boolean(keys::TLS)? != Some(true) {
            return Ok(None);
        }
        let named = |key| match properties.get(key).filter(|path| !path.is_empty()) {
            Some(path) => Ok(byte_text::path(path)),
            None => Err(SettingError::NoPemFile { key }),
        };
        Ok(Some(Self {
            certificates: named(keys::TLS_CERTIFICATES)?,
            private_key: named(keys::TLS_PRIVATE_KEY)?,
            client_authorities: needs_certificates.then(|| named(keys::TLS_AUTHORITIES)).transpose()?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_encrypted_with_the_files_that_are_named() {
        let of = |pairs: &[&str]| {
            let pairs: Vec<_> = pairs.iter().map(|pair| format!("spark.ssl.standalone.{pair}")).collect();
            TlsSettings::of(&Properties::parse(pairs.iter().map(String::as_str)).expect("they are pairs"))
        };
        let files = ["certChain=/etc/cert.pem", "privateKey=/etc/key.pem", "trustStore=/etc/ca.pem"];
        assert_eq!(of(&files), Ok(None));
        let [cert, key, trust] = files;
        let on = "enabled=true";
        let settings = |authorities: Option<&str>| TlsSettings {
            certificates: "/etc/cert.pem".into(),
            private_key: "/etc/key.pem".into(),
            client_authorities: authorities.map(PathBuf::from),
        };
        assert_eq!(of(&[on, cert, key, trust]), Ok(Some(settings(None))));
        let mutual = of(&[on, cert, key, trust, "needClientAuth=true"]);
        assert_eq!(mutual, Ok(Some(settings(Some("/etc/ca.pem")))));
        for (pairs, missing) in [
            (&[on, key][..], "certChain"),
            (&[on, cert, "privateKey="], "privateKey"),
            (&[on, cert, key, "needClientAuth=true"], "trustStore"),
        ] {
            let error = of(pairs).expect_err(missing).to_string();
            assert!(error.starts_with(&format!("spark.ssl.standalone.{missing} is not set")), "{error}");
        }
        assert!(of(&["enabled=maybe"]).is_err());
    }
}
