//! The common parts of Firesteel's state machines, and their messages to each other.
//!
//! A state machine makes decisions that depend on time. It is a plain value with one entry point, [`Machine::apply`],
//! which takes the time and an event and returns effects. Each machine is in a crate above this one:
//! `firesteel-master`, `firesteel-worker`, `firesteel-engine`, `firesteel-application-master` and, for one connection
//! of Spark's peers at a Master, `firesteel-spark`. Machines that talk over connections share only the [`messages`],
//! and [`wire`] turns messages into bytes and back.
//!
//! At the bottom are ids, addresses and other values, then the contract of a [`machine`]. The messages are made of
//! these. Two modules stand above the messages: [`executor_trouble`] and [`state_reader`].
//!
//! There is no clock, randomness, file, socket, thread or lock here or in those crates. The shells and the simulator
//! own those. They pass events in and perform the effects.

// What the derives write names this crate.
extern crate self as firesteel_protocol;

pub mod address;
pub mod byte_text;
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
