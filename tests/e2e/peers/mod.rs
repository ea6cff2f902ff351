//! Peers that lie, fall silent, break connections or speak another version, and answers in parts.

mod answers;
mod credentials;
mod crowd;
mod cuts;
mod deaf;
mod flips;
pub(crate) mod floods;
mod joining;
mod lying;
mod mixed_versions;
mod rights;
mod secured;
mod silent;
mod strangers;
mod transition;
mod two_masters;
pub(super) mod wire;
