//! The answers of the REST protocol, worded like the answers of Spark's Master.

use firesteel_protocol::address::Address;
use firesteel_protocol::messages::{DriverState, DriverView, KillDriverAnswer, SubmitDriverAnswer};
use serde_json::{Map, Value};

use super::Call;
use crate::translate::clients::{NotAlive, exception, killed, submitted};

/// The version of Spark in the answers. Clients of other releases accept it.
pub const VERSION: &str = "4.0.1";

/// An answer: an HTTP status and JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The HTTP status code.
    pub status: u16,
    /// The fields of a JSON object.
    pub body: Map<String, Value>,
}

/// Answers a submission.
#[must_use]
pub fn created(answer: &SubmitDriverAnswer, unknown_fields: &[String]) -> Answer {
    let (driver, message) = submitted(answer);
    let success = driver.is_some();
    creation(driver, success, message, unknown_fields)
}

fn creation(driver: Option<String>, success: bool, message: String, unknown_fields: &[String]) -> Answer {
    let unknown = match unknown_fields {
        [] => Value::Null,
        fields => fields.into(),
    };
    let fields = [
        ("message", message.into()),
        ("submissionId", driver.into()),
        ("success", success.into()),
        ("unknownFields", unknown),
    ];
    Answer::of(200, "CreateSubmissionResponse", &fields)
}

/// Refuses a submission before the Master was asked.
#[must_use]
pub fn refused(sentence: String, unknown_fields: &[String]) -> Answer {
    creation(None, false, sentence, unknown_fields)
}

/// Answers the request to end a cluster driver.
#[must_use]
pub fn kill(id: &str, answer: &KillDriverAnswer) -> Answer {
    let (success, message) = killed(id, answer);
    killing(id, success, message)
}

fn killing(id: &str, success: bool, message: String) -> Answer {
    let fields = [("message", message.into()), ("submissionId", id.into()), ("success", success.into())];
    Answer::of(200, "KillSubmissionResponse", &fields)
}

/// Answers the request to end all cluster drivers.
#[must_use]
pub fn killed_all() -> Answer {
    killing_all(true, "Kill request for all drivers submitted".to_owned())
}

fn killing_all(success: bool, message: String) -> Answer {
    Answer::of(200, "KillAllSubmissionResponse", &[("message", message.into()), ("success", success.into())])
}

/// Answers the request to remove ended entries from the lists.
#[must_use]
pub fn cleared() -> Answer {
    Answer::of(200, "ClearResponse", &[("message", "".into()), ("success", true.into())])
}

/// Answers with the state of a cluster driver. `view` is `None` if the Master does not know the driver.
#[must_use]
pub fn status(id: &str, view: Option<&DriverView>) -> Answer {
    let message = view.and_then(|view| exception(&view.state));
    let place = view.and_then(|view| view.worker.as_ref());
    let fields = [
        ("driverState", view.map(|view| view.state.name()).into()),
        ("message", message.map(from_the_cluster).into()),
        ("submissionId", id.into()),
        ("success", view.is_some().into()),
        (
            "workerHostPort",
            place.map(|place| Address::new(place.host.as_str(), place.port).to_string()).into(),
        ),
        ("workerId", place.map(|place| place.worker.to_string()).into()),
    ];
    Answer::of(200, "SubmissionStatusResponse", &fields)
}

fn from_the_cluster(message: String) -> String {
    format!("Exception from the cluster:\n{message}")
}

/// Answers that the Master is the leader.
#[must_use]
pub fn ready() -> Answer {
    Answer::of(200, "ReadyzResponse", &[("message", "".into()), ("success", true.into())])
}

/// The answer of a Master that is not the leader. The client then tries the next Master.
#[must_use]
pub fn not_leading(call: &Call, state: NotAlive) -> Answer {
    match call {
        Call::Create(submission) => creation(None, false, state.no_submissions(), &submission.unknown_fields),
        Call::Kill(id) => killing(id, false, state.no_kills()),
        Call::KillAll => killing_all(false, state.no_kills()),
        Call::Clear => cleared(),
        // No other Master leads, and whatever reads this must not believe that the driver is gone. Spark's Master
        // answers with an error.
        Call::Status(id) if state == NotAlive::Recovering => {
            let fields = [
                ("driverState", DriverState::Unknown.name().into()),
                ("submissionId", id.as_str().into()),
                ("success", true.into()),
            ];
            Answer::of(200, "SubmissionStatusResponse", &fields)
        }
        Call::Status(id) => {
            let message = from_the_cluster(format!("java.lang.Exception: {}", state.no_status()));
            let fields = [
                ("message", message.into()),
                ("submissionId", id.as_str().into()),
                ("success", false.into()),
            ];
            Answer::of(200, "SubmissionStatusResponse", &fields)
        }
        Call::Readyz => error(503, "Master is not ready."),
    }
}

/// Answers that the submitter may not change this, for this reason.
#[must_use]
pub fn forbidden(why: &str) -> Answer {
    error(403, why)
}

/// Answers that the Master did not respond, for this reason.
#[must_use]
pub fn unanswered(reason: &str) -> Answer {
    error(503, reason)
}

/// Answers a request that cannot be read.
#[must_use]
pub fn unreadable(why: &str) -> Answer {
    malformed(why)
}

/// Refuses a request that a web page sent through a browser. Spark's Master would perform the request.
#[must_use]
pub fn of_a_page() -> Answer {
    error(
        403,
        "Pages may not submit: a browser sent this request (it has Origin or Sec-Fetch-Site). Use spark-submit.",
    )
}

pub(super) fn no_id(called: &str) -> Answer {
    error(400, &format!("Submission ID is missing in {called} request."))
}

pub(super) fn misdirected(what: &str) -> Answer {
    error(400, &directed(what))
}

pub(super) fn unknown_version(version: &str) -> Answer {
    let message = directed(&format!("Unknown protocol version '{version}'."));
    Answer::of(468, "ErrorResponse", &[("message", message.into()), ("highestProtocolVersion", "v1".into())])
}

fn directed(what: &str) -> String {
    format!("{what} Please submit requests through http://[host]:[port]/v1/submissions/...")
}

pub(super) fn wrong_method(method: &str) -> Answer {
    error(405, &format!("HTTP method {method} is not supported by this URL"))
}

pub(super) fn malformed(why: &str) -> Answer {
    error(400, &format!("Malformed request: {why}"))
}

pub(super) fn missing(what: &str) -> Answer {
    malformed(&format!("org.apache.spark.deploy.rest.SubmitRestMissingFieldException: {what}"))
}

pub(super) fn invalid(kind: &str, why: &str) -> Answer {
    let class = "org.apache.spark.deploy.rest.SubmitRestProtocolException";
    malformed(&format!("{class}: Validation of message {kind} failed!\n\t{why}"))
}

fn error(status: u16, message: &str) -> Answer {
    Answer::of(status, "ErrorResponse", &[("message", message.into())])
}
