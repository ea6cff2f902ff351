//! The output of containers, read from the web pages of their NodeManagers.
//!
//! A NodeManager serves the logs of a container while the application runs. Afterwards the cluster aggregates the logs,
//! if it is configured to do so. Otherwise they stay on the NodeManager's disk for some time.

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::time::Duration;

use firesteel_protocol::messages::Stream;
use firesteel_yarn::messages::application::ContainerReport;

/// The timeout for a NodeManager that sends nothing.
const SILENCE: Duration = Duration::from_secs(30);

/// A container, and the NodeManager that has its logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLocation {
    pub container: String,
    /// The address of the NodeManager's web pages: `host:port`.
    pub pages: String,
}

/// Why a log cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The NodeManager does not answer, or answers with an error.
    #[error("{container}: the NodeManager's pages at {pages}: {error}")]
    Http { container: String, pages: String, error: Box<ureq::Error> },
    /// The NodeManager no longer has the container.
    #[error("{container}: the NodeManager at {pages} no longer has its logs")]
    Gone { container: String, pages: String },
    /// The connection broke, or the output cannot be written.
    #[error("{container}: {error}")]
    Io { container: String, error: io::Error },
}

impl LogLocation {
    /// The location of the logs, from a container's report. `None` if the report does not contain the location.
    #[must_use]
    pub fn of(report: &ContainerReport) -> Option<Self> {
        let pages = report.node_http_address().trim_start_matches("http://").trim_end_matches('/');
        let container = report.container_id?.to_string();
        Some(Self { container, pages: pages.to_owned() }).filter(|location| !location.pages.is_empty())
    }

    /// The location of the logs, from a link that an ApplicationMaster reports:
    /// `http://host:port/node/containerlogs/container_1_2_3_4/ann`.
    #[must_use]
    pub fn of_link(link: &str) -> Option<Self> {
        let (pages, path) = link.split_once("://")?.1.split_once("/node/containerlogs/")?;
        let container = path.split('/').next().filter(|container| container.starts_with("container_"))?;
        Some(Self { container: container.to_owned(), pages: pages.to_owned() })
    }

    /// Copies the whole log.
    ///
    /// # Errors
    /// The NodeManager does not send the log, or the output cannot be written.
    pub fn copy(&self, stream: Stream, out: &mut dyn Write) -> Result<(), LogError> {
        let Self { container, pages } = self;
        let url = format!("http://{pages}/ws/v1/node/containers/{container}/logs/{}", file_name(stream));
        let agent = ureq::Agent::config_builder()
            .timeout_connect(Some(SILENCE))
            .timeout_recv_response(Some(SILENCE))
            .build();
        let answer = ureq::Agent::new_with_config(agent).get(&url).call().map_err(|error| match error {
            ureq::Error::StatusCode(404) => {
                LogError::Gone { container: container.clone(), pages: pages.clone() }
            }
            error => {
                LogError::Http { container: container.clone(), pages: pages.clone(), error: Box::new(error) }
            }
        })?;
        let mut body = BufReader::new(answer.into_body().into_reader());
        copy_contents(&mut body, out).map_err(|error| LogError::Io { container: container.clone(), error })
    }
}

/// The line that a NodeManager writes before a log, with its length.
const LENGTH: &str = "LogLength:";
/// The last line before the log.
const BEGIN: &str = "LogContents:";
/// The maximum length of the NodeManager's own lines.
const LONGEST: u64 = 64 << 10;

/// Copies the log, without the NodeManager's own lines around it. Copies the announced number of bytes, or fewer if the
/// source ends earlier.
fn copy_contents(source: &mut dyn BufRead, out: &mut dyn Write) -> io::Result<()> {
    let mut length = 0;
    loop {
        let mut line = Vec::new();
        (&mut *source).take(LONGEST).read_until(b'\n', &mut line)?;
        let line = String::from_utf8_lossy(&line);
        if let Some(digits) = line.strip_prefix(LENGTH) {
            length = digits.trim().parse().unwrap_or(0);
        }
        if line.is_empty() || line.trim_end() == BEGIN {
            break;
        }
    }
    io::copy(&mut source.take(length), out)?;
    Ok(())
}

/// The name of an output's file in a container's log directory.
fn file_name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    /// A log as Hadoop 3.5.0's NodeManagers show it.
    fn shown(log: &str) -> String {
        let length = log.len();
        format!(
            "Container: container_1_0005_01_000001 on 127.0.0.3:46635\nLogAggregationType: LOCAL\n====\n\
             LogType:stdout\nLogLastModifiedTime:Sat Nov 21 10:58:54 +0000 2026\nLogLength:{length}\nLogContents:\n\
             {log}\nEnd of LogType:stdout.This log file belongs to a running container.\n****\n\n"
        )
    }

    fn copied(text: &str) -> String {
        let mut out = Vec::new();
        copy_contents(&mut text.as_bytes(), &mut out).expect("memory can be written");
        String::from_utf8(out).expect("it is text")
    }

    #[test]
    fn a_log_is_shown_without_the_words_around_it() {
        let tricky = "LogContents:\nLogLength:3\nEnd of LogType:stdout\n";
        for log in ["", "hello\n", "no end of line", tricky] {
            assert_eq!(copied(&shown(log)), log);
        }
        assert_eq!(copied("something else"), "");
    }

    #[test]
    fn a_place_is_read_off_a_link_to_a_log() {
        let location =
            LogLocation::of_link("http://127.0.0.3:40769/node/containerlogs/container_1_0005_01_000001/ann");
        let expected = LogLocation {
            container: "container_1_0005_01_000001".to_owned(),
            pages: "127.0.0.3:40769".to_owned(),
        };
        assert_eq!(location, Some(expected));
        for other in ["", "/work/app-1/0", "http://h/node/containerlogs/", "http://h/x/container_1"] {
            assert_eq!(LogLocation::of_link(other), None, "{other}");
        }
    }

    /// A server that answers one request and returns what was requested.
    fn answering(answer: String) -> (String, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let asked = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("somebody asks");
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a request ends with an empty line");
                request.push(byte[0]);
            }
            stream.write_all(answer.as_bytes()).expect("it is read");
            String::from_utf8_lossy(&request).lines().next().unwrap_or_default().to_owned()
        });
        (address, asked)
    }

    #[test]
    fn a_node_manager_is_asked_for_a_containers_log() {
        let log = shown("hello\n");
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{log}", log.len());
        let (pages, asked) = answering(answer);
        let location = LogLocation { container: "container_1_0005_01_000001".to_owned(), pages };
        let mut out = Vec::new();
        location.copy(Stream::Stderr, &mut out).expect("it answers");
        assert_eq!(out, b"hello\n");
        let asked = asked.join().expect("it does not panic");
        assert_eq!(asked, "GET /ws/v1/node/containers/container_1_0005_01_000001/logs/stderr HTTP/1.1");
    }

    #[test]
    fn a_container_that_is_not_known_any_more_is_told() {
        let (pages, asked) = answering("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned());
        let location =
            LogLocation { container: "container_1_0005_01_000001".to_owned(), pages: pages.clone() };
        let error = location.copy(Stream::Stdout, &mut Vec::new()).expect_err("it is gone").to_string();
        asked.join().expect("it does not panic");
        assert_eq!(
            error,
            format!("container_1_0005_01_000001: the NodeManager at {pages} no longer has its logs")
        );
        let nobody = LogLocation {
            container: "container_1_0005_01_000001".to_owned(),
            pages: "127.0.0.1:1".to_owned(),
        };
        let error = nobody.copy(Stream::Stdout, &mut Vec::new()).expect_err("nobody is there").to_string();
        assert!(
            error.starts_with("container_1_0005_01_000001: the NodeManager's pages at 127.0.0.1:1: "),
            "{error}"
        );
    }
}
