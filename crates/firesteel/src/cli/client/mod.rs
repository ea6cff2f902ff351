//! The commands that ask a running cluster: they show what it does, and change it.
//!
//! - `ask`: one question to a Master, wherever it is.
//! - `document`, `application`: the answers, as JSON and as text.
//! - The others are a command each.

mod application;
pub(super) mod ask;
pub(super) mod decommission;
pub(super) mod document;
pub(super) mod explain;
pub(super) mod history;
pub(super) mod kill;
pub(super) mod status;
pub(super) mod top;
