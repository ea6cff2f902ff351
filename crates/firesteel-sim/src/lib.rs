//! Placement decided offline: plans from files, replays of traces in virtual time, and pictures of plans and replays.
//!
//! `firesteel plan` and `firesteel simulate` use this crate. Simulated worlds with faults, which only tests need, are
//! in `firesteel-world`.

pub mod dice;
pub mod draft;
pub mod picture;
pub mod plan;
pub mod replay;
pub mod setup;
pub mod trace;
