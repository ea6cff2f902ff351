//! The action in the path of a request.

use super::answers::{self, Answer};
use crate::jar::percent_decoded;

/// The version of the protocol in paths.
const VERSION: &str = "v1";

/// The actions that paths name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Create,
    Kill,
    KillAll,
    Clear,
    Status,
    Readyz,
}

impl Action {
    /// The action with this name, and the HTTP method that it needs.
    fn named(name: &str) -> Option<(Self, &'static str)> {
        Some(match name {
            "create" => (Self::Create, "POST"),
            "kill" => (Self::Kill, "POST"),
            "killall" => (Self::KillAll, "POST"),
            "clear" => (Self::Clear, "POST"),
            "status" => (Self::Status, "GET"),
            "readyz" => (Self::Readyz, "GET"),
            _ => return None,
        })
    }
}

/// Whether a path begins with a version, known or not.
pub(super) fn has_version(path: &str) -> bool {
    let first = path.split('/').find(|part| !part.is_empty()).unwrap_or_default();
    first.strip_prefix('v').is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// The action in a path, and the id after it. Later parts of the path are ignored, as in Spark.
pub(super) fn read(method: &str, path: &str) -> Result<(Action, Option<String>), Answer> {
    let decoded = percent_decoded(path).unwrap_or_else(|| path.to_owned());
    let parts: Vec<&str> = decoded.split('/').filter(|part| !part.is_empty()).collect();
    let named = match parts[..] {
        [] => return Err(answers::misdirected("Missing protocol version.")),
        [VERSION] => return Err(answers::misdirected("Missing the /submissions prefix.")),
        [VERSION, "submissions", ..] => parts.get(2).and_then(|name| Action::named(name)),
        [version, ..] => return Err(answers::unknown_version(version)),
    };
    let Some((action, its_method)) = named else {
        return Err(answers::misdirected(
            "Missing an action: please specify one of /create, /kill, /killall, /clear, /status, or /readyz.",
        ));
    };
    let is_allowed = method == its_method || (its_method, method) == ("GET", "HEAD");
    if !is_allowed {
        return Err(answers::wrong_method(method));
    }
    Ok((action, parts.get(3).map(|id| (*id).to_owned())))
}
