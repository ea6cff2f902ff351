//! The applications: the live ones, their waiting demands, and the ended ones.

pub(crate) mod application;
pub(crate) mod backlog;
pub(crate) mod ended;
pub(crate) mod exclusions;
pub(crate) mod health;
pub(crate) mod host_preferences;
pub(crate) mod table;
pub(crate) mod turn;
