//! The executors of one application.

pub(crate) mod executor;
pub(crate) mod record;
pub(crate) mod table;
