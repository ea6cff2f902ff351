//! TLS of a server: its certificate, and the handshake with those who connect.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use firesteel_settings::tls::TlsSettings;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

/// How often the files are looked at.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);

/// The first byte of a connection by TLS.
const HANDSHAKE: u8 = 22;

/// The answer to a request in the clear.
const IN_THE_CLEAR: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n\
                              This port speaks HTTPS only: use https:// in place of http://.\n";

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
    #[error("the certificate of {} cannot be used with the key of {}: {error}", certificates.display(), private_key.display())]
    Pair { certificates: PathBuf, private_key: PathBuf, error: tokio_rustls::rustls::Error },
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

    /// Performs the handshake with a client. A request in the clear is told to use HTTPS.
    ///
    /// # Errors
    /// The client does not speak TLS, has no certificate although it needs one, or is gone.
    pub(crate) async fn accept(&self, mut stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let mut first = [0];
        if stream.peek(&mut first).await? == 1 && first != [HANDSHAKE] {
            stream.write_all(IN_THE_CLEAR).await?;
            stream.shutdown().await?;
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a request in the clear"));
        }
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

fn versions(settings: &TlsSettings) -> Vec<Option<FileVersion>> {
    let version = |path: &PathBuf| {
        let about = fs::metadata(path).ok()?;
        Some((about.ino(), about.len(), about.modified().ok()))
    };
    let files = [&settings.certificates, &settings.private_key];
    files.into_iter().chain(&settings.client_authorities).map(version).collect()
}

fn read(settings: &TlsSettings) -> Result<TlsAcceptor, TlsError> {
    let TlsSettings { certificates, private_key, client_authorities } = settings;
    let about =
        fs::metadata(private_key).map_err(|error| TlsError::Read { path: private_key.clone(), error })?;
    if about.mode() & 0o007 != 0 {
        return Err(TlsError::Open { path: private_key.clone() });
    }
    let key = PrivateKeyDer::from_pem_file(private_key)
        .map_err(|error| TlsError::Pem { path: private_key.clone(), error })?;
    let chain = certificates_of(certificates)?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider has the suites of these versions");
    let builder = match client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let unfit = |error| TlsError::Authorities { path: path.clone(), error };
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates_of(path)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(unfit)?)
        }
    };
    let config = builder.with_single_cert(chain, key).map_err(|error| TlsError::Pair {
        certificates: certificates.clone(),
        private_key: private_key.clone(),
        error,
    })?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates_of(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let unfit = |error| TlsError::Pem { path: path.to_owned(), error };
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(unfit)?.collect();
    let all = all.map_err(unfit)?;
    if all.is_empty() { Err(TlsError::Empty { path: path.to_owned() }) } else { Ok(all) }
}
