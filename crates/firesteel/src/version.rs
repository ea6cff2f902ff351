//! The output of `firesteel --version`.

use firesteel_protocol::version::Version;

/// The text `0.1.0 (3372250, 2026-11-21, protocol 2)`. It contains the release, the commit that it was built from, the
/// commit's date, and the version of the wire protocol. `-dirty` follows the commit if files differed from it.
#[must_use]
pub(crate) fn words() -> String {
    format!("{} ({}, protocol {})", env!("CARGO_PKG_VERSION"), env!("FIRESTEEL_COMMIT"), Version::CURRENT)
}
