//! What a Master writes down, and how it is recovered.

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
