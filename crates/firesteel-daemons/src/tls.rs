//! TLS: the certificate of a server, the handshake with those who connect, and that with those who are dialled.

use std::fmt;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use firesteel_settings::tls::TlsSettings;
use tokio::net::TcpStream;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, ServerConfig,
    SignatureScheme,
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

/// How often the files are looked at.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);

/// The first byte of a connection by TLS.
pub(crate) const HANDSHAKE: u8 = 22;

/// Why the files of a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("{} cannot be used: {error}", path.display())]
    Pem { path: PathBuf, error: pem::Error },
    #[error("{} has no certificate", path.display())]
    Empty { path: PathBuf },
    #[error("other users can read {0}: chmod o= {0}", path.display())]
    Open { path: PathBuf },
    #[error(
        "the certificate of {} cannot be used with the key of {}: {error}{}",
        certificates.display(),
        private_key.display(),
        advice(.error)
    )]
    Pair { certificates: PathBuf, private_key: PathBuf, error: Error },
    #[error("the authorities of {} cannot be used: {error}", path.display())]
    Authorities { path: PathBuf, error: VerifierBuilderError },
}

/// The certificate of a server, which is read again when its files have changed.
pub(crate) struct Tls {
    settings: TlsSettings,
    current: Mutex<Current>,
}

struct Current {
    acceptor: TlsAcceptor,
    versions: Vec<Option<FileVersion>>,
    looked: Instant,
}

/// What changes when a file is written or replaced.
type FileVersion = (u64, u64, Option<SystemTime>);

impl Tls {
    /// # Errors
    /// The files cannot be used.
    pub(crate) fn of(settings: TlsSettings) -> Result<Self, TlsError> {
        let (versions, looked) = (versions(&settings), Instant::now());
        let acceptor = read(&settings)?;
        Ok(Self { settings, current: Mutex::new(Current { acceptor, versions, looked }) })
    }

    /// Performs the handshake with a client.
    ///
    /// # Errors
    /// The client does not speak TLS, has no certificate although it needs one, or is gone.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<server::TlsStream<TcpStream>> {
        let acceptor = self.acceptor();
        acceptor.accept(stream).await
    }

    /// The files as they are now. Files that cannot be used leave everything as it was.
    fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.looked.elapsed() >= BETWEEN_LOOKS {
            current.looked = Instant::now();
            let found = versions(&self.settings);
            if found != current.versions {
                current.versions = found;
                match read(&self.settings) {
                    Ok(acceptor) => {
                        tracing::info!(
                            "read a new certificate from {}",
                            self.settings.certificates.display()
                        );
                        current.acceptor = acceptor;
                    }
                    Err(error) => tracing::warn!("the certificate stays as it was: {error}"),
                }
            }
        }
        current.acceptor.clone()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Whether the peer of a connection begins with TLS. Reads nothing.
///
/// # Errors
/// The connection is broken.
pub(crate) async fn begins_tls(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    // A connection that has ended speaks no protocol at all, and the handshake says so.
    Ok(stream.peek(&mut first).await? == 0 || first == [HANDSHAKE])
}

fn versions(settings: &TlsSettings) -> Vec<Option<FileVersion>> {
    let version = |path: &PathBuf| {
        let about = fs::metadata(path).ok()?;
        Some((about.ino(), about.len(), about.modified().ok()))
    };
    let files = [&settings.certificates, &settings.private_key];
    files.into_iter().chain(&settings.client_authorities).map(version).collect()
}

/// The certificate with those between it and the authorities, and its key.
fn identity(
    settings: &TlsSettings,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let TlsSettings { certificates, private_key, client_authorities: _ } = settings;
    let about =
        fs::metadata(private_key).map_err(|error| TlsError::Read { path: private_key.clone(), error })?;
    if about.mode() & 0o007 != 0 {
        return Err(TlsError::Open { path: private_key.clone() });
    }
    let key = PrivateKeyDer::from_pem_file(private_key)
        .map_err(|error| TlsError::Pem { path: private_key.clone(), error })?;
    Ok((certificates_of(certificates)?, key))
}

/// What helps with a key that cannot be read. Empty if it can be.
fn advice(error: &Error) -> &'static str {
    match error {
        // Java leaves out the public key, which the library needs.
        Error::General(text) if text.contains("parse private key") => {
            "; of a key from a Java keystore openssl ec -in KEY makes one that can be read"
        }
        _ => "",
    }
}

/// The error of a certificate that does not belong to its key.
fn unpaired(settings: &TlsSettings) -> impl FnOnce(Error) -> TlsError {
    let TlsSettings { certificates, private_key, client_authorities: _ } = settings.clone();
    move |error| TlsError::Pair { certificates, private_key, error }
}

fn read(settings: &TlsSettings) -> Result<TlsAcceptor, TlsError> {
    let (chain, key) = identity(settings)?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider has the suites of these versions");
    let builder = match &settings.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let unfit = |error| TlsError::Authorities { path: path.clone(), error };
            let verifier =
                WebPkiClientVerifier::builder_with_provider(authorities_of(path)?, provider).build();
            builder.with_client_cert_verifier(verifier.map_err(unfit)?)
        }
    };
    let config = builder.with_single_cert(chain, key).map_err(unpaired(settings))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates_of(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unfit = |error| TlsError::Pem { path: path.to_owned(), error };
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(unfit)?.collect();
    let all = all.map_err(unfit)?;
    if all.is_empty() { Err(TlsError::Empty { path: path.to_owned() }) } else { Ok(all) }
}

fn authorities_of(path: &Path) -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates_of(path)?);
    Ok(Arc::new(roots))
}

/// Dials servers that have a certificate of these authorities, whichever name it has: Spark's drivers may be on any
/// host, and Spark itself does not compare names.
pub(crate) struct TlsDialler(TlsConnector);

impl TlsDialler {
    /// Dials with the certificate of this server, if it is asked for one.
    ///
    /// # Errors
    /// A file cannot be used.
    pub(crate) fn of(authorities: &Path, server: &TlsSettings) -> Result<Self, TlsError> {
        let (chain, key) = identity(server)?;
        let provider = Arc::new(ring::default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(authorities_of(authorities)?, Arc::clone(&provider));
        let unfit = |error| TlsError::Authorities { path: authorities.to_owned(), error };
        let verifier = AnyName(verifier.build().map_err(unfit)?);
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has the suites of these versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_auth_cert(chain, key)
            .map_err(unpaired(server))?;
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Performs the handshake with a server at this address.
    ///
    /// # Errors
    /// The server does not speak TLS, or has no certificate of these authorities.
    pub(crate) async fn connect(
        &self,
        stream: TcpStream,
        address: IpAddr,
    ) -> io::Result<client::TlsStream<TcpStream>> {
        self.0.connect(ServerName::IpAddress(address.into()), stream).await
    }
}

/// Checks a server's certificate, but not its name.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        status: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The name is compared last.
        match self.0.verify_server_cert(certificate, between, name, status, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tokio::net::TcpListener;
    use tokio_rustls::rustls;

    use super::*;

    fn fixture(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/http/tls").join(name)
    }

    /// Dials a server with the certificate `server`, at this address as far as the dialling side knows, which has the
    /// certificate `client`. Each side asks for a certificate of its authorities.
    async fn dialled(authorities: &str, address: [u8; 4], of_server: &str) -> io::Result<()> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let settings = |name: &str| {
            let private_key = directory.path().join(name);
            fs::copy(fixture(&format!("{name}.key")), &private_key).expect("it can be copied");
            fs::set_permissions(&private_key, fs::Permissions::from_mode(0o600)).expect("it is ours");
            TlsSettings {
                certificates: fixture(&format!("{name}.pem")),
                private_key,
                client_authorities: Some(fixture(of_server)),
            }
        };
        let tls = Tls::of(settings("server")).expect("they belong together");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let stream =
            TcpStream::connect(listener.local_addr().expect("it is bound")).await.expect("it listens");
        let (accepted, _) = listener.accept().await.expect("it is dialled");
        let dialler = TlsDialler::of(&fixture(authorities), &settings("client")).expect("they can be used");
        let (accepted, connected) =
            tokio::join!(tls.accept(accepted), dialler.connect(stream, address.into()));
        // In TLS 1.3 the side that dials is connected before its certificate is looked at.
        connected.and(accepted.map(|_| ()))
    }

    #[test]
    fn a_key_as_java_writes_it_is_refused_with_advice() {
        let error = |error| {
            let path = PathBuf::from("key.pem");
            TlsError::Pair { certificates: path.clone(), private_key: path, error }.to_string()
        };
        let unread = "failed to parse private key as RSA, ECDSA, or EdDSA";
        assert!(error(Error::General(unread.to_owned())).contains("openssl ec -in KEY"));
        assert!(!error(Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)).contains("openssl"));
    }

    #[tokio::test]
    async fn whoever_is_dialled_needs_a_certificate_of_the_authorities_and_no_name() {
        let here = [127, 0, 0, 1];
        assert!(dialled("authority.pem", here, "authority.pem").await.is_ok());
        assert!(
            dialled("authority.pem", [192, 0, 2, 1], "authority.pem").await.is_ok(),
            "the name does not count"
        );
        for [of_client, of_server] in
            [["other.pem", "authority.pem"], ["client.pem", "authority.pem"], ["authority.pem", "other.pem"]]
        {
            let error = dialled(of_client, here, of_server).await.expect_err(of_client).to_string();
            assert!(error.contains("invalid peer certificate"), "{error}");
        }
    }
}
