//! Pages, JSON and metrics by HTTPS.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use firesteel_testkit::{Daemon, firesteel, http_get, run, wait_for};
use tempfile::TempDir;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/http/tls").join(name)
}

fn certificate(name: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(fixture(&format!("{name}.pem"))).expect("it is a certificate")
}

/// The files of a daemon that serves HTTPS.
struct Files(TempDir);

impl Files {
    fn new(name: &str) -> Self {
        let files = Self(tempfile::tempdir().expect("a temporary directory"));
        files.replace(name);
        files
    }

    /// Puts the certificate and the key with this name in the place of those before.
    fn replace(&self, name: &str) {
        for (from, to) in [("key", "key.pem"), ("pem", "certificate.pem")] {
            let new = self.path("new");
            fs::copy(fixture(&format!("{name}.{from}")), &new).expect("it can be copied");
            fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).expect("it is ours");
            fs::rename(&new, self.path(to)).expect("it can be replaced");
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn conf(&self, more: &[&str]) -> Vec<String> {
        let named = |key: &str, file: &str| format!("{key}={}", self.path(file).display());
        let own = [
            "enabled=true".to_owned(),
            named("certChain", "certificate.pem"),
            named("privateKey", "key.pem"),
            format!("trustStore={}", fixture("authority.pem").display()),
        ];
        let all = own.into_iter().chain(more.iter().map(|pair| (*pair).to_owned()));
        all.flat_map(|pair| ["--conf".to_owned(), format!("spark.ssl.standalone.{pair}")]).collect()
    }
}

/// Sends a request by HTTPS, with the certificate of `client` if there is one. Returns the server's certificate and the
/// whole answer.
fn get(daemon: &Daemon, path: &str, client: Option<&str>) -> io::Result<(CertificateDer<'static>, String)> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate("authority")).expect("it is an authority");
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_root_certificates(roots);
    let config = match client {
        None => builder.with_no_client_auth(),
        Some(name) => {
            let key = PrivateKeyDer::from_pem_file(fixture(&format!("{name}.key"))).expect("it is a key");
            builder.with_client_auth_cert(vec![certificate(name)], key).expect("they belong together")
        }
    };
    let address = daemon.http().trim_start_matches("https://");
    let name = ServerName::try_from("127.0.0.1").expect("an address");
    let connection = ClientConnection::new(Arc::new(config), name).expect("it can be used");
    let mut stream = StreamOwned::new(connection, TcpStream::connect(address)?);
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    match stream.read_to_string(&mut answer) {
        // The server need not say that it closes the connection.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !answer.is_empty() => {}
        read => _ = read?,
    }
    let shown = stream.conn.peer_certificates().and_then(|all| all.first()).expect("it has shown one");
    Ok((shown.clone().into_owned(), answer))
}

fn daemons(files: &Files, more: &[&str]) -> (Daemon, Daemon, TempDir) {
    let conf = files.conf(more);
    let conf: Vec<&str> = conf.iter().map(String::as_str).collect();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let master = Daemon::master(&[&["--webui-port", "0"], &conf[..]].concat());
    let size = [&["--webui-port", "0", "--cores", "1", "--memory", "1g"], &conf[..]].concat();
    let worker = Daemon::worker(&master, &directory.path().join("work"), &size);
    master.wait_for_workers(1);
    (master, worker, directory)
}

#[test]
fn pages_are_served_by_https_alone_and_a_certificate_is_replaced_without_a_restart() {
    let files = Files::new("server");
    let (master, worker, _directory) = daemons(&files, &[]);
    for daemon in [&master, &worker] {
        assert!(daemon.http().starts_with("https://127.0.0.1:"), "{}", daemon.http());
        for path in ["/", "/json/", "/metrics", "/livez"] {
            let (shown, answer) = get(daemon, path, None).expect("it answers");
            assert!(
                shown == certificate("server") && answer.starts_with("HTTP/1.1 200 "),
                "{path}: {answer}"
            );
        }
        let (status, answer) = http_get(daemon.http().trim_start_matches("https://"), "/json/", "");
        assert!(status == 400 && answer.contains("use https://") && !answer.contains("workers"), "{answer}");
        let (status, answer) = http_get(&daemon.address().to_string(), "/json/", "");
        assert!(
            status == 403 && answer.contains(&format!("by HTTPS only, at {}/json/", daemon.http())),
            "{answer}"
        );
    }
    // The Master's page leads to the Worker's.
    wait_for("the Worker's report", || {
        let (_, page) = get(&master, "/json/", None).expect("it answers");
        page.contains(&format!("\"webuiaddress\" : \"{}\"", worker.http())).then_some(())
    });

    files.replace("other");
    let is_replaced = || get(&master, "/livez", None).expect("it answers").0 == certificate("other");
    wait_for("the other certificate", || is_replaced().then_some(()));
    master.wait_for_line(&["read a new certificate"]);
    fs::write(files.path("key.pem"), "nonsense").expect("it is ours");
    wait_for("a word about the broken file", || {
        let _ = get(&master, "/livez", None).expect("it answers");
        master.log().contains("the certificate stays as it was").then_some(())
    });
    assert!(is_replaced());
}

#[test]
fn readers_without_a_certificate_read_nothing_where_one_is_needed() {
    let files = Files::new("server");
    let (master, worker, _directory) = daemons(&files, &["needClientAuth=true"]);
    for daemon in [&master, &worker] {
        assert!(get(daemon, "/json/", None).is_err(), "it has no certificate");
        let (_, answer) = get(daemon, "/json/", Some("client")).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
}

#[test]
fn a_daemon_does_not_start_without_the_files_that_https_needs() {
    let files = Files::new("server");
    let refused = |conf: &[String], words: &str| {
        let done = run(firesteel().args(["master", "--port", "0", "--webui-port", "0"]).args(conf));
        assert!([2, 78].contains(&done.code()) && done.stderr.contains(words), "{done}");
        done.code()
    };
    let only = ["--conf".to_owned(), "spark.ssl.standalone.enabled=true".to_owned()];
    assert_eq!(refused(&only, "spark.ssl.standalone.certChain is not set"), 78);
    let conf = files.conf(&[]);
    fs::set_permissions(files.path("key.pem"), fs::Permissions::from_mode(0o644)).expect("it is ours");
    assert_eq!(refused(&conf, "cannot serve HTTPS: other users can read"), 78);
    files.replace("other");
    fs::copy(fixture("server.pem"), files.path("certificate.pem")).expect("it can be copied");
    assert_eq!(refused(&conf, "cannot be used with the key of"), 78);
    fs::write(files.path("certificate.pem"), "").expect("it is ours");
    assert_eq!(refused(&conf, "has no certificate"), 78);
    fs::remove_file(files.path("key.pem")).expect("it is ours");
    assert_eq!(refused(&conf, "cannot read"), 78);
    let done = run(firesteel()
        .args(["worker", "--port", "0", "--webui-port", "0", "spark://127.0.0.1:1"])
        .args(["--work-dir"])
        .arg(files.path("work"))
        .args(&conf));
    assert_eq!(done.code(), 78, "{done}");
}
