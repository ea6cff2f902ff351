//! What a Master remarks.

/// A remark for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {}
