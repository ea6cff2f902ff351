//! Peers that lie, fall silent, break connections or speak another version, and answers in parts.

mod answers;
mod crowd;
mod deaf;
mod flips;
mod lying;
mod mixed_versions;
mod silent;
mod strangers;
mod two_masters;
pub(super) mod wire;
