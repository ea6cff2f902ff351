//! Fetches the jar of a Spark cluster driver into the driver's directory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use firesteel_protocol::process::{StartFailure, StartStep};
use firesteel_spark::jar::Jar;

use crate::files::private;

/// How long an HTTP server may take to accept a connection, and to begin its response.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a jar may take to arrive completely.
const WHOLE: Duration = Duration::from_secs(600);

/// Fetches the jar at this URL into a directory. Does nothing if the jar is already there: a restarted driver keeps its
/// jar. Returns the jar's path, or `None` if there is no jar. Blocks the thread.
///
/// Source: Spark Worker, 4.0.1 (`DriverRunner`).
///
/// # Errors
/// The jar cannot be fetched.
pub(super) fn fetch(url: &str, directory: &Path) -> Result<Option<PathBuf>, StartFailure> {
    let failed = |error: &dyn std::fmt::Display| StartFailure {
        step: StartStep::Files,
        error: format!("the driver's jar {}: {error}", firesteel_settings::secrets::shown("jar", url)),
    };
    let jar = Jar::of(url).map_err(|error| failed(&error))?;
    let (Jar::File { name, .. } | Jar::Http { name, .. }) = &jar else { return Ok(None) };
    let path = directory.join(name);
    if path.exists() {
        return Ok(Some(path));
    }
    // It gets its name when it is complete.
    let part = directory.join(format!(".{name}.part"));
    let mut file = new_file(&part).map_err(|error| failed(&error))?;
    let copied = match &jar {
        Jar::None => return Ok(None),
        Jar::File { path, .. } => copy(path, &mut file).map_err(|error| failed(&error)),
        Jar::Http { url, .. } => download(url, &mut file).map_err(|error| failed(&error)),
    };
    copied?;
    fs::rename(&part, &path).map_err(|error| failed(&error))?;
    Ok(Some(path))
}

/// Why a jar cannot be fetched from an HTTP server.
#[derive(Debug, thiserror::Error)]
enum DownloadError {
    #[error("{0}")]
    Http(Box<ureq::Error>),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Makes a new file, in the place of a file or a link of this name.
fn new_file(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => private::create_file(path),
    }
}

fn copy(from: &str, to: &mut File) -> io::Result<()> {
    io::copy(&mut File::open(from)?, to).map(drop)
}

fn download(url: &str, to: &mut File) -> Result<(), DownloadError> {
    let settings = ureq::Agent::config_builder()
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .timeout_global(Some(WHOLE))
        // Workers reach the servers of their cluster directly, as JVMs do.
        .proxy(None)
        .build();
    let answer = ureq::Agent::new_with_config(settings).get(url).call();
    let answer = answer.map_err(|error| DownloadError::Http(Box::new(error)))?;
    io::copy(&mut answer.into_body().into_reader(), to)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server that responds to one request with these bytes.
    fn serving(answer: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("somebody comes");
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer);
        });
        format!("http://127.0.0.1:{port}/jars/pi.jar?token=x")
    }

    #[test]
    fn a_jar_is_copied_once_from_a_file_or_a_server() {
        let (from, to) =
            (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let original = from.path().join("a b.jar");
        fs::write(&original, "one").expect("it is written");
        let url = format!("file:{}", original.display().to_string().replace(' ', "%20"));
        let path = to.path().join("a b.jar");
        assert_eq!(fetch(&url, to.path()), Ok(Some(path.clone())));
        fs::write(&original, "two").expect("it is written");
        assert_eq!(fetch(&url, to.path()), Ok(Some(path.clone())));
        assert_eq!(fs::read(&path).expect("it is there"), b"one");
        let url = serving(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\njar");
        assert_eq!(fetch(&url, to.path()), Ok(Some(to.path().join("pi.jar"))));
        assert_eq!(fs::read(to.path().join("pi.jar")).expect("it is there"), b"jar");
        assert_eq!(fetch("", to.path()), Ok(None));
    }

    #[test]
    fn a_jar_that_cannot_be_fetched_is_named_and_leaves_nothing() {
        let to = tempfile::tempdir().expect("a directory");
        let broken = serving(b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\nConnection: close\r\n\r\njar");
        let missing = serving(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        for (url, why) in [
            ("file:/nowhere/x.jar", "No such file"),
            ("hdfs://n/x.jar", "cannot be fetched from hdfs:"),
            (&missing, "404"),
            (&broken, ""),
        ] {
            let failure = fetch(url, to.path()).expect_err(url).to_string();
            let begin = "cannot get the application's files: the driver's jar ";
            assert!(failure.starts_with(begin) && failure.contains(why), "{failure}");
        }
        assert!(!to.path().join("pi.jar").exists());
    }
}
