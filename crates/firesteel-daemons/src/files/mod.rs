//! Files that an application brings (`--files`, `--archives`), from the machine where it is submitted to the
//! directories of its executors.
//!
//! ```text
//!  offer: read and digest -> description -> Master -> Worker: fetch, verify, unpack, link -> executor
//!                 server  <------------ one connection for each Worker --------'
//! ```
//!
//! The description travels with the application; the bytes do not go through anybody's owner loop. A Worker asks
//! for a file by its digest, so that it gets what was submitted or nothing.
//!
//! On a Worker's disk, until the application ends, or its last executor there and a while after that; what a Worker had
//! that was killed (SIGKILL) stays until directories are cleaned by age, since nobody knows for certain that it is gone:
//!
//! ```text
//! <work directory>/<application>/files-<Worker>/NAME     a file, read-only
//!                                               NAME/..  what an archive had in it
//!                                <executor>/NAME -> ../files-<Worker>/NAME
//! ```

pub mod fetch;
pub mod offer;
pub mod server;
#[cfg(test)]
mod tests;
pub mod unpack;

pub use offer::{OfferError, OfferedFiles};
