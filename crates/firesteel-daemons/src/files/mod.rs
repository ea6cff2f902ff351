//! Files of an application (`--files`, `--archives`), on their way from the machine where it is submitted to the
//! directories of its executors.
//!
//! ```text
//!  offer: read and digest -> description -> Master -> Worker: fetch, verify, unpack, link -> executor
//!                 server  <------------ one connection for each Worker --------'
//! ```
//!
//! - [`offer`]: opens and digests the files on the driver's machine, and describes them.
//! - `server`: sends files to the Workers that ask for them.
//! - [`fetch`]: receives files on a Worker and verifies them.
//! - [`unpack`]: unpacks archives.
//! - `private`: files and directories that no other user can read.
//!
//! The description travels with the application; the bytes never pass through an owner loop. A Worker requests a file
//! by the file's digest. So it gets exactly the file that was submitted, or an error.
//!
//! A Worker keeps the files until the application ends, or until some time after the application's last executor on the
//! Worker has ended. If a Worker was killed (SIGKILL), its files stay until directories are cleaned by age, because it
//! is not certain that the Worker is gone:
//!
//! ```text
//! <work directory>/<application>/files-<Worker>/NAME     a file, read-only, for the Worker's user alone
//!                                               NAME/..  the contents of an archive
//!                                <executor>/NAME -> ../files-<Worker>/NAME
//! ```

pub mod fetch;
pub mod offer;
pub(crate) mod private;
pub mod server;
#[cfg(test)]
mod tests;
pub mod unpack;

pub use offer::{OfferError, OfferedFiles};
