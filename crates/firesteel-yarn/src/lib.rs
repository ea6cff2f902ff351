//! Clients for the protocols of Hadoop YARN. This crate implements the communication with YARN, and makes no decisions.
//!
//! - [`messages`]: the records, and the text forms of ids.
//! - [`credentials`]: tokens, and the files that contain them.
//! - [`sasl`]: authentication with a token.
//! - [`ipc`]: Hadoop's remote procedure calls, over any stream of bytes.
//! - [`YarnClient`]: a user's client of a ResourceManager.
//! - [`AmRmClient`]: an ApplicationMaster's client of its ResourceManager.
//! - [`NmClient`]: an ApplicationMaster's client of NodeManagers.
//! - [`heartbeats`]: the changes that an ApplicationMaster reports to its ResourceManager.
//!
//! The bytes of a peer are never trusted. Lengths are checked before memory is allocated, and unreadable
//! bytes are an error.

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
