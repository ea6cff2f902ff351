//! The commands that show placements without a running cluster, `firesteel plan` and `firesteel simulate`, and the pictures
//! that they draw.

mod picture_files;
pub(super) mod plan;
mod png;
mod setups;
pub(super) mod simulate;
