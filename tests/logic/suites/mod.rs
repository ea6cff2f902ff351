//! Shared parts of test suites: golden files, laws, and worlds from seeds.

pub(super) mod golden;
pub(super) mod laws;
pub(super) mod worlds;
