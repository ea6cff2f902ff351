//! The common parts of Firesteel's state machines, and their messages to each other.
//!
//! A state machine makes decisions that depend on time. It is a plain value with one entry point, [`Machine::apply`],
//! which takes the time and an event and returns effects. Each machine is in a crate above this one:
//! `firesteel-master`, `firesteel-worker`, `firesteel-engine`, `firesteel-application-master` and, for one connection
//! of Spark's peers at a Master, `firesteel-spark`. Machines that talk over connections share only the [`messages`],
//! and [`wire`] turns messages into bytes and back.
//!
//! The modules build on each other: first ids, addresses and other values and the contract of a [`machine`], then the
//! messages, and last [`executor_trouble`] and [`state_reader`], which use the messages.
//!
//! Neither this crate nor the crates of the machines use a clock, randomness, files, sockets, threads or locks. The
//! daemons and the simulator use them. They pass events to a machine and perform its effects.

// The code that the derives generate refers to this crate by its name.
extern crate self as firesteel_protocol;

pub mod address;
pub mod byte_text;
pub mod exchange;
pub mod executor_trouble;
pub mod fair_queue;
pub mod host;
pub mod ids;
pub mod last_seen;
pub mod machine;
pub mod master_search;
pub mod messages;
pub mod process;
pub mod scheduling;
pub mod secret;
pub mod size;
pub mod state_reader;
pub mod time;
pub mod version;
pub mod wire;

pub use firesteel_derive::{Display, Kind, Note};
pub use machine::kind::Kind;
pub use machine::mentions::Mentions;
pub use machine::{Machine, NoteLevel, Violation};
pub use master_search::leadership::Leadership;
pub use process::end_request::EndRequest;
pub use time::Timestamp;
