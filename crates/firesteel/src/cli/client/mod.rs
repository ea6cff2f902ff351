//! The commands that send requests to a running cluster: they show its state, and change it.
//!
//! - `ask`: finds a Master that answers, and sends it a request.
//! - `document`, `application`: the answers, as JSON and as text.
//! - Each other module is one command.

mod application;
pub(super) mod approve;
pub(super) mod ask;
pub(super) mod decommission;
pub(super) mod document;
pub(super) mod explain;
pub(super) mod history;
pub(super) mod kill;
pub(super) mod status;
pub(super) mod top;
