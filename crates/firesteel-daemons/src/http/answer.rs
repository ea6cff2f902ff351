//! The response to a request: a status, a type and a text.

use firesteel_host::plain;
use hyper::StatusCode;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    pub(super) body: String,
    /// The address of a redirect.
    pub(super) location: Option<String>,
    /// The version of a file. A browser sends the version back to find out whether the browser's copy is current.
    pub(super) version: Option<String>,
    /// The value of `Set-Cookie`.
    pub(super) cookie: Option<String>,
}

/// Plain text, such as a sentence for people.
const PLAIN: &str = "text/plain;charset=utf-8";

/// Spark's type for JSON.
const JSON: &str = "text/json;charset=utf-8";

const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The type of pages for browsers.
pub(super) const HTML: &str = "text/html; charset=utf-8";

impl Answer {
    fn of(status: StatusCode, content_type: &'static str, body: String) -> Self {
        Self { status, content_type, body, location: None, version: None, cookie: None }
    }

    /// A page. Hidden characters in the page are replaced.
    pub(super) fn page(status: StatusCode, document: &str) -> Self {
        Self::of(status, HTML, plain::clean_lines(document))
    }

    /// Text of many lines. Hidden characters in the text are replaced.
    pub(super) fn text(text: &str) -> Self {
        Self::of(StatusCode::OK, PLAIN, plain::clean_lines(text))
    }

    /// A file that does not change while the daemon runs.
    pub(super) fn file(content_type: &'static str, body: String, version: String) -> Self {
        Self { version: Some(version), ..Self::of(StatusCode::OK, content_type, body) }
    }

    /// Reports to the browser that its version of a file is current.
    pub(super) fn not_modified(version: String) -> Self {
        Self { version: Some(version), ..Self::of(StatusCode::NOT_MODIFIED, PLAIN, String::new()) }
    }

    /// Redirects the browser to this address.
    pub(super) fn see(location: String) -> Self {
        Self { location: Some(location), ..Self::of(StatusCode::FOUND, PLAIN, String::new()) }
    }

    /// Plain text in one line.
    pub(super) fn line(status: StatusCode, line: &str) -> Self {
        Self::of(status, PLAIN, format!("{line}\n"))
    }

    pub(super) fn json(body: String) -> Self {
        Self::of(StatusCode::OK, JSON, body)
    }

    /// JSON of Spark's REST protocol.
    pub(super) fn rest(status: StatusCode, body: String) -> Self {
        Self::of(status, "application/json;charset=utf-8", body)
    }

    pub(super) fn metrics(body: String) -> Self {
        Self::of(StatusCode::OK, METRICS, body)
    }

    /// Metrics as Spark writes them.
    pub(super) fn spark_metrics(body: String) -> Self {
        Self::of(StatusCode::OK, PLAIN, body)
    }

    /// The daemon cannot respond now, for this reason.
    pub(super) fn unavailable(reason: &str) -> Self {
        Self::line(StatusCode::SERVICE_UNAVAILABLE, reason)
    }

    /// Nothing is served at this path. The response lists the valid paths.
    pub(super) fn not_found(paths: &[&str]) -> Self {
        let line = format!("Nothing is at this path. Try one of these: {}", paths.join(" "));
        Self::line(StatusCode::NOT_FOUND, &line)
    }
}
