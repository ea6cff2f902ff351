//! Workers and drivers that are connections and no processes: one connection, and a crowd of them.

pub mod crowd;
pub mod link;
