//! Placements without a cluster: `plan` and `simulate`, and their pictures.

mod pictures;
mod plan;
mod plan_cluster;
mod simulate;
