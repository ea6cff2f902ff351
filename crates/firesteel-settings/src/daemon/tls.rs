//! TLS of a daemon's pages and data, and of its connections with Spark's applications. Source: Spark SSLOptions, 4.0.1,
//! for the keys; files are in PEM format here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use firesteel_protocol::byte_text;
use firesteel_protocol::secret::Secret;

use crate::key::Reader;
use crate::keys;
use crate::properties::{Properties, SettingError};

/// The files of a daemon that accepts connections by TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// The daemon's certificate, followed by those of the authorities between it and the one that clients know.
    pub certificates: PathBuf,
    pub private_key: PathBuf,
    /// The authorities of which each client must have a certificate. `None`: clients need none.
    pub client_authorities: Option<PathBuf>,
}

/// The keys of a family, in which each port of a daemon has its own.
struct Family {
    enabled: &'static str,
    certificates: &'static str,
    private_key: &'static str,
    needs_clients: &'static str,
    authorities: &'static str,
}

const PAGES: Family = Family {
    enabled: keys::TLS,
    certificates: keys::TLS_CERTIFICATES,
    private_key: keys::TLS_PRIVATE_KEY,
    needs_clients: keys::TLS_CLIENTS,
    authorities: keys::TLS_AUTHORITIES,
};

const RPC: Family = Family {
    enabled: keys::RPC_TLS,
    certificates: keys::RPC_TLS_CERTIFICATES,
    private_key: keys::RPC_TLS_PRIVATE_KEY,
    needs_clients: keys::RPC_TLS_CLIENTS,
    authorities: keys::RPC_TLS_AUTHORITIES,
};

impl Family {
    /// `None`: the port is served in the clear.
    fn server(&self, properties: &Properties) -> Result<Option<TlsSettings>, SettingError> {
        let needs_certificates = properties.boolean(self.needs_clients)? == Some(true);
        if properties.boolean(self.enabled)? != Some(true) {
            return Ok(None);
        }
        let named = |key| self.pem_file(properties, key);
        Ok(Some(TlsSettings {
            certificates: named(self.certificates)?,
            private_key: named(self.private_key)?,
            client_authorities: needs_certificates.then(|| named(self.authorities)).transpose()?,
        }))
    }

    fn pem_file(&self, properties: &Properties, key: &'static str) -> Result<PathBuf, SettingError> {
        match properties.get(key).filter(|path| !path.is_empty()) {
            Some(path) => Ok(byte_text::path(path)),
            None => Err(SettingError::NoPemFile { key, needed_by: self.enabled }),
        }
    }
}

impl TlsSettings {
    /// Of the pages. `None`: the daemon serves HTTP in the clear.
    ///
    /// # Errors
    /// A value cannot be used, or a file is not named.
    pub fn of_pages(properties: &Properties) -> Result<Option<Self>, SettingError> {
        PAGES.server(properties)
    }
}

/// TLS of a daemon's connections with Spark's applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcTlsSettings {
    pub server: TlsSettings,
    /// The authorities of the drivers' certificates. `None`: the daemon does not dial them.
    pub authorities: Option<PathBuf>,
}

impl RpcTlsSettings {
    /// `None`: connections are in the clear, or encrypted by Spark's AES engine.
    ///
    /// # Errors
    /// A value cannot be used, or a file is not named.
    pub fn of(properties: &Properties, reader: Reader) -> Result<Option<Self>, SettingError> {
        let Some(server) = RPC.server(properties)? else { return Ok(None) };
        let dials = reader == Reader::Master;
        let authorities = dials.then(|| RPC.pem_file(properties, RPC.authorities)).transpose()?;
        Ok(Some(Self { server, authorities }))
    }
}

/// The passwords of the files of Spark's applications, and the variables in which executors find them.
///
/// Source: Spark SSLOptions, 4.0.1.
const PASSWORDS: [(&str, &str); 4] = [
    (keys::KEY_STORE_PASSWORD, "_SPARK_SSL_RPC_KEY_STORE_PASSWORD"),
    (keys::KEY_PASSWORD, "_SPARK_SSL_RPC_KEY_PASSWORD"),
    (keys::TRUST_STORE_PASSWORD, "_SPARK_SSL_RPC_TRUST_STORE_PASSWORD"),
    (keys::PRIVATE_KEY_PASSWORD, "_SPARK_SSL_RPC_PRIVATE_KEY_PASSWORD"),
];

/// The variables with the passwords of the files of Spark's applications. A key without a password has that of its key
/// store, since files in the usual format, PKCS 12, have one for both.
#[must_use]
pub fn password_variables(properties: &Properties) -> BTreeMap<String, Secret> {
    let of = |key: &'static str| match key {
        keys::KEY_PASSWORD => properties.get(key).or_else(|| properties.get(keys::KEY_STORE_PASSWORD)),
        _ => properties.get(key),
    };
    let variable = |(key, variable): (&'static str, &str)| Some((variable.to_owned(), Secret::new(of(key)?)));
    PASSWORDS.into_iter().filter_map(variable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_encrypted_with_the_files_that_are_named() {
        let of = |pairs: &[&str]| {
            let pairs: Vec<_> = pairs.iter().map(|pair| format!("spark.ssl.standalone.{pair}")).collect();
            TlsSettings::of_pages(
                &Properties::parse(pairs.iter().map(String::as_str)).expect("they are pairs"),
            )
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

    #[test]
    fn only_a_master_needs_the_authorities_of_drivers() {
        let of = |pairs: &[&str], reader| {
            let pairs: Vec<_> = pairs.iter().map(|pair| format!("spark.ssl.rpc.{pair}")).collect();
            let properties = Properties::parse(pairs.iter().map(String::as_str)).expect("they are pairs");
            RpcTlsSettings::of(&properties, reader)
        };
        let [on, cert, key] = ["enabled=true", "certChain=/etc/cert.pem", "privateKey=/etc/key.pem"];
        let server = TlsSettings {
            certificates: "/etc/cert.pem".into(),
            private_key: "/etc/key.pem".into(),
            client_authorities: None,
        };
        let settings = |authorities: Option<&str>| RpcTlsSettings {
            server: server.clone(),
            authorities: authorities.map(PathBuf::from),
        };
        assert_eq!(of(&[cert, key], Reader::Master), Ok(None));
        assert_eq!(of(&[on, cert, key], Reader::Worker), Ok(Some(settings(None))));
        let all = [on, cert, key, "trustStore=/etc/ca.pem"];
        assert_eq!(of(&all, Reader::Master), Ok(Some(settings(Some("/etc/ca.pem")))));
        let mutual = [on, cert, key, "trustStore=/etc/ca.pem", "needClientAuth=true"];
        let client_authorities = Some("/etc/ca.pem".into());
        let mutual_settings = TlsSettings { client_authorities, ..server.clone() };
        let found = of(&mutual, Reader::Worker).map(|found| found.map(|found| found.server));
        assert_eq!(found, Ok(Some(mutual_settings)));
        assert!(of(&[on, cert, key, "needClientAuth=true"], Reader::Worker).is_err());
        let error = of(&all[..3], Reader::Master).expect_err("it has to dial").to_string();
        assert!(
            error.starts_with("spark.ssl.rpc.trustStore is not set, which spark.ssl.rpc.enabled needs"),
            "{error}"
        );
    }

    #[test]
    fn executors_find_passwords_in_variables() {
        for (given, expected) in [
            (&[][..], &[][..]),
            (&["keyStore"], &[("KEY", "keyStore!"), ("KEY_STORE", "keyStore!")]),
            (&["keyStore", "key"], &[("KEY", "key!"), ("KEY_STORE", "keyStore!")]),
            (&["trustStore"], &[("TRUST_STORE", "trustStore!")]),
            (&["privateKey"], &[("PRIVATE_KEY", "privateKey!")]),
        ] {
            let pairs: Vec<_> =
                given.iter().map(|name| format!("spark.ssl.rpc.{name}Password={name}!")).collect();
            let properties = Properties::parse(pairs.iter().map(String::as_str)).expect("they are pairs");
            let found: Vec<_> = password_variables(&properties).into_iter().collect();
            let expected = expected
                .iter()
                .map(|(name, word)| (format!("_SPARK_SSL_RPC_{name}_PASSWORD"), Secret::new(*word)));
            assert_eq!(found, expected.collect::<Vec<_>>(), "{given:?}");
        }
    }
}
