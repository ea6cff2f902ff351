//! The base of every daemon: the loop that owns a state machine, its network connections, and the operating system
//! around it.
//!
//! This crate depends only on the contract of a state machine ([`firesteel_protocol::Machine`]) and on the framing of
//! messages, and on no particular state machine.
//!
//! - [`owner`]: the loop. It takes events from the [`inbox`], applies them and has the effects performed.
//! - [`inbox`]: the bounded queue in front of the loop.
//! - [`journal`]: the durable records of a machine, on a disk.
//! - [`net`]: connections. They put messages of peers into the inbox and send messages to peers.
//! - [`meter`]: numbers that a daemon counts while it works.
//! - [`clock`]: the time that the loop hands to its machine.
//! - [`signals`]: requests to end, which the loop also waits for.
//! - [`daemon`]: how a daemon announces that it is ready, and how long it lives.
//! - [`service_manager`]: messages to systemd.
//! - [`places`]: how machines share places for connections and memory for what they send.
//! - [`lease`]: the lease that limits how long a daemon may send.
//! - [`process`]: child processes, and why one could not be started.
//! - [`progress`], [`exit_code`]: what a command shows on a terminal, and the exit codes of all commands.
//! - [`standard`]: the standard streams, some of which may have been closed at the start.
//! - [`plain`]: removes control characters from text, for terminals and the log.

pub mod clock;
pub mod daemon;
pub mod exit_code;
pub mod inbox;
pub mod journal;
pub mod lease;
pub mod meter;
pub mod net;
pub mod owner;
pub mod parallel;
pub mod places;
pub mod plain;
pub mod process;
pub mod progress;
pub mod rate_limiter;
pub mod runtime;
pub mod service_manager;
pub mod signals;
pub mod standard;

pub use process::{account, children, own_program, process_group, start, table};
