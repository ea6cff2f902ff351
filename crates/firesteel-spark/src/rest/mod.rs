//! Spark's REST protocol for submissions, without I/O: converts a request to a call, and the Master's answer to JSON.
//!
//! ```text
//!  method, path, body --read--> Call --(the Master)--> answers.rs --> status and JSON
//!                       |
//!                       +-- nothing that can be done: status and JSON at once
//! ```
//!
//! - `path.rs`: the action of a path
//! - `create.rs`: a submitted cluster driver
//! - `fields.rs`: the fields of a JSON object in their order
//! - `answers.rs`: the Master's answers, worded like those of Spark's Master
//!
//! Source: Spark Master, 4.0.1 (`StandaloneRestServer`); its answers are recorded in `fixtures/spark/rest`.

pub mod answers;
mod create;
mod fields;
mod path;

use serde_json::Value;

pub use self::answers::Answer;
pub use self::create::Submission;
use self::path::Action;

/// An HTTP request, unparsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The HTTP method, such as `POST`.
    pub method: &'a str,
    /// The URL's path, with its escapes.
    pub path: &'a str,
    /// The bytes of the body; empty if the request has no body.
    pub body: &'a [u8],
}

/// A request of a client to the Master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Submit a cluster driver.
    Create(Box<Submission>),
    /// End the cluster driver with this id.
    Kill(String),
    /// End all cluster drivers.
    KillAll,
    /// Remove ended cluster drivers and applications from the lists.
    Clear,
    /// Return the state of the cluster driver with this id.
    Status(String),
    /// Return whether the Master is the leader.
    Readyz,
}

/// Whether a path belongs to the protocol: it begins with `/v` and the number of a version.
#[must_use]
pub fn is_path(path: &str) -> bool {
    path::has_version(path)
}

/// Whether this is the path of a submission.
#[must_use]
pub fn is_submission(path: &str) -> bool {
    matches!(path::read("POST", path), Ok((Action::Create, _)))
}

/// Reads a request. `variable` returns the value of one of the Master's own environment variables.
///
/// # Errors
/// The request is not part of the protocol; the error is the answer to send.
pub fn read(asked: Asked<'_>, variable: impl Fn(&str) -> Option<String>) -> Result<Call, Answer> {
    let (action, id) = path::read(asked.method, asked.path)?;
    let id = |called: &str| id.ok_or_else(|| answers::no_id(called));
    Ok(match action {
        Action::Create => Call::Create(Box::new(Submission::read(asked.body, variable)?)),
        Action::Kill => Call::Kill(id("kill")?),
        Action::KillAll => Call::KillAll,
        Action::Clear => Call::Clear,
        Action::Status => Call::Status(id("status")?),
        Action::Readyz => Call::Readyz,
    })
}

impl Answer {
    /// An answer of this kind, such as `ErrorResponse`. Null fields are left out.
    fn of(status: u16, action: &str, fields: &[(&str, Value)]) -> Self {
        let own = [("action", Value::from(action)), ("serverSparkVersion", answers::VERSION.into())];
        let fields = own.iter().chain(fields).filter(|(_, value)| !value.is_null());
        let body = fields.map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Self { status, body }
    }
}
