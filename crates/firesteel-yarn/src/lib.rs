//! What Hadoop YARN speaks, and nothing about what to say.
//!
//! - [`messages`]: the records, and text forms of ids.
//! - [`credentials`]: tokens, and the files in which they come.
//! - [`sasl`]: how a token proves itself.
//! - [`ipc`]: Hadoop's remote procedure calls, over any stream of bytes.
//! - [`YarnClient`], [`AmRmClient`] and [`NmClient`]: users and ResourceManagers, ApplicationMasters and
//!   ResourceManagers, ApplicationMasters and NodeManagers.
//! - [`heartbeats`]: what an ApplicationMaster tells its ResourceManager of what it wants.
//!
//! A peer's bytes are never trusted: lengths are bounded before they take memory, and what cannot be read is an
//! error.

mod am_rm_client;
pub mod credentials;
pub mod heartbeats;
pub mod ipc;
pub mod messages;
mod nm_client;
pub mod sasl;
mod yarn_client;

pub use am_rm_client::AmRmClient;
pub use nm_client::{GrantedContainer, NmClient, NodeError};
pub use yarn_client::YarnClient;
