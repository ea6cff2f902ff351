//! Hadoop's remote procedure calls, version 9, over any stream of bytes.
//!
//! - `frame.rs`: a stream is cut into frames, frames into parts.
//! - `greeting.rs`: how a connection begins: seven bytes, an authentication where there is a token, and who calls.
//! - `connection.rs`: one connection, many calls at once.
//! - `service.rs`: a server, or several of which one is in charge: connected when called, and again after a loss.
//! - `error.rs`: what a server objects to, by the class of its exception, and what became of a call.

mod connection;
mod error;
pub mod frame;
mod greeting;
mod service;

pub use connection::{Connection, Patience};
pub use error::{CallError, Fate, IpcError, Kind, RemoteError};
pub use frame::{FrameError, MAX_FRAME};
pub use greeting::{ClientId, Greeting, Identity, Protocol};
pub use service::{Repeat, Retry, Service};
