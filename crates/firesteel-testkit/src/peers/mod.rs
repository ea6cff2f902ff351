//! Workers and drivers that are only connections, not processes: a single connection, and a crowd of them.

pub mod crowd;
pub mod link;
