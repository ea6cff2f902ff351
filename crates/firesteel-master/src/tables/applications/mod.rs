//! The applications: those that live, what they wait for, and those that have ended.

pub(crate) mod application;
pub(crate) mod backlog;
pub(crate) mod ended;
pub(crate) mod exclusions;
pub(crate) mod standing;
pub(crate) mod table;
pub(crate) mod turn;
pub(crate) mod wishes;
