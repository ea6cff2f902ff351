//! What a request gets: a status, a type and a text.

use hyper::StatusCode;

/// What a request gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(super) status: StatusCode,
    pub(super) content_type: &'static str,
    pub(super) body: String,
}

/// A sentence for people.
const PLAIN: &str = "text/plain;charset=utf-8";

/// Spark's type for JSON.
const JSON: &str = "text/json;charset=utf-8";

/// The text format of Prometheus.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

impl Answer {
    /// One line of text.
    pub(super) fn line(status: StatusCode, line: &str) -> Self {
        Self { status, content_type: PLAIN, body: format!("{line}\n") }
    }

    /// JSON.
    pub(super) fn json(body: String) -> Self {
        Self { status: StatusCode::OK, content_type: JSON, body }
    }

    /// JSON of Spark's REST protocol.
    pub(super) fn rest(status: StatusCode, body: String) -> Self {
        Self { status, content_type: "application/json;charset=utf-8", body }
    }

    /// Metrics with their types.
    pub(super) fn metrics(body: String) -> Self {
        Self { status: StatusCode::OK, content_type: METRICS, body }
    }

    /// Metrics as Spark writes them.
    pub(super) fn spark_metrics(body: String) -> Self {
        Self { status: StatusCode::OK, content_type: PLAIN, body }
    }

    /// The daemon cannot answer now, for this reason.
    pub(super) fn unavailable(reason: &str) -> Self {
        Self::line(StatusCode::SERVICE_UNAVAILABLE, reason)
    }

    /// There is nothing at this path.
    pub(super) fn not_found(paths: &[&str]) -> Self {
        let line = format!("Nothing is at this path. Try one of these: {}", paths.join(" "));
        Self::line(StatusCode::NOT_FOUND, &line)
    }
}
