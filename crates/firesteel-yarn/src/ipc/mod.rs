//! Hadoop's remote procedure calls, version 9, over any stream of bytes.
//!
//! - `frame.rs`: cuts a stream into frames, and frames into parts.
//! - `greeting.rs`: the start of a connection: seven bytes, an authentication if there is a token, and the
//!   caller.
//! - `connection.rs`: one connection with many concurrent calls.
//! - `service.rs`: a server, or several servers of which one is active. It connects when a call is made, and reconnects
//!   after a loss.
//! - `error.rs`: the errors of servers, by the class of the exception, and whether a failed call was delivered.

mod connection;
mod error;
pub mod frame;
mod greeting;
mod service;

pub use connection::{Connection, Timeouts};
pub use error::{CallError, Delivery, IpcError, Kind, RemoteError};
pub use frame::{FrameError, MAX_FRAME};
pub use greeting::{ClientId, Greeting, Identity, Protocol};
pub use service::{Idempotence, Retry, Service};
