//! What Hadoop YARN speaks, and nothing about what to say.
//!
//! - [`messages`]: the records, and text forms of ids.
//! - [`credentials`]: tokens, and the files in which they come.
//! - [`sasl`]: how a token proves itself.
//! - [`ipc`]: Hadoop's remote procedure calls, over any stream of bytes.
//!
//! A peer's bytes are never trusted: lengths are bounded before they take memory, and what cannot be read is an
//! error.

pub mod credentials;
pub mod ipc;
pub mod messages;
pub mod sasl;
