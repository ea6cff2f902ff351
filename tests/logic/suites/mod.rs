//! What suites share: golden files, laws, and worlds that are made from seeds.

pub(super) mod golden;
pub(super) mod laws;
pub(super) mod worlds;
