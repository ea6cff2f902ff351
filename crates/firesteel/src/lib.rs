//! The daemons of Firesteel: the shell around the state machines of `firesteel-core`.

pub mod clock;
pub mod inbox;
mod kind;
pub mod net;
pub mod owner;
pub mod signals;
pub mod worker;
