//! Spark's REST protocol for submissions, without a connection: from a request to a call, and from what the Master says to JSON.
//!
//! ```text
//!  method, path, body --read--> Call --(the Master)--> answers.rs --> status and JSON
//!                       |
//!                       +-- nothing that can be done: status and JSON at once
//! ```
//!
//! - `path.rs`: what a path means
//! - `create.rs`: what a cluster driver is made of
//! - `fields.rs`: the fields of a JSON object in their order
//! - `answers.rs`: what the Master says, in Spark's words
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

/// A request as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The method, such as `POST`.
    pub method: &'a str,
    /// The path, with its escapes.
    pub path: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// What a client wants of the Master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Submit a cluster driver.
    Create(Box<Submission>),
    /// End the cluster driver with this id.
    Kill(String),
    /// End all cluster drivers.
    KillAll,
    /// Forget the cluster drivers and applications that have ended.
    Clear,
    /// Say in which state the cluster driver with this id is.
    Status(String),
    /// Say whether the Master leads.
    Readyz,
}

/// Reads a request. `variable` is the value of one of the Master's own variables.
///
/// # Errors
/// It is none that the protocol has: the answer says why.
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
    /// An answer of this kind: `ErrorResponse`, for instance. Null fields are left out.
    fn of(status: u16, action: &str, fields: &[(&str, Value)]) -> Self {
        let own = [("action", Value::from(action)), ("serverSparkVersion", answers::VERSION.into())];
        let fields = own.iter().chain(fields).filter(|(_, value)| !value.is_null());
        let body = fields.map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Self { status, body }
    }
}
