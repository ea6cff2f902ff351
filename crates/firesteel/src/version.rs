//! The output of `firesteel --version`.

use firesteel_protocol::version::Version;

/// `0.1.0 (3372250, 2026-11-21, protocol 2)`: the release, the commit that it was built from, `-dirty` if files
/// differed from it, the commit's date, and the version of the wire protocol.
#[must_use]
pub(crate) fn words() -> String {
    format!("{} ({}, protocol {})", env!("CARGO_PKG_VERSION"), env!("FIRESTEEL_COMMIT"), Version::CURRENT)
}
