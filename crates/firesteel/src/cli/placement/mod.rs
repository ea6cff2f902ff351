//! The commands that show placements without a running cluster, `firesteel plan` and `firesteel simulate`, and the
//! pictures that these commands draw.

mod picture_file;
pub(super) mod plan;
mod setups;
pub(super) mod simulate;
