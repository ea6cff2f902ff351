//! The journal records of a Master, and its recovery from them.

pub(crate) mod archiving;
pub(crate) mod changes;
pub(crate) mod contradiction;
pub(crate) mod image;
pub(crate) mod record;
pub(crate) mod record_line;
pub(crate) mod records;
pub(crate) mod recovery;
mod replay;
pub(crate) mod snapshot;
