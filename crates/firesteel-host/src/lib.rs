//! What every daemon stands on: one loop that owns a state machine, and the machine that it runs on.
//!
//! Nothing here knows a state machine of Firesteel's, only their contract ([`firesteel_core::Machine`]) and the framing of their messages.

pub mod clock;
pub mod daemon;
pub mod exit_code;
pub mod inbox;
pub mod net;
pub mod owner;
pub mod process_group;
pub mod progress;
pub mod signals;
pub mod start_failure;
