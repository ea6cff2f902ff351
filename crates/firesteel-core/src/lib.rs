//! The state machines of Firesteel, and the messages between them.
//!
//! Nine machines make every decision that depends on time: [`master`], [`worker`], [`driver`], [`executor`],
//! [`launcher`], [`map`] above a driver, [`session`] above both and, for clusters that another resource manager runs,
//! [`application_master`] with its [`allocator`]. Each is a plain value with one entry point, [`Machine::apply`], which
//! takes the time and an event and returns effects. Those that talk over connections never import each other: they
//! share only the [`messages`], and [`wire`] turns messages into bytes and back. A tenth machine, for one connection of
//! Spark's peers at a Master, is in the crate `firesteel-spark`.
//!
//! There is no clock, randomness, file, socket, thread or lock here. The shell (crate `firesteel`) and the
//! simulator (crate `firesteel-sim`) own those. They pass events in and perform the effects.

pub mod address;
pub mod admission;
pub mod allocator;
mod applicant;
pub mod application_master;
pub mod byte_text;
pub mod connect_error;
pub mod driver;
mod end_request;
pub mod executor;
pub mod executor_command;
pub mod executor_trouble;
pub mod fair_queue;
pub mod host;
pub mod ids;
pub mod kind;
pub mod label;
mod last_heard;
pub mod launcher;
pub mod leadership;
pub mod machine;
pub mod map;
pub mod master;
pub mod master_search;
pub mod mentions;
pub mod messages;
pub mod process;
pub mod queues;
pub mod run_time;
pub mod scheduling;
pub mod secret;
pub mod session;
pub mod state_reader;
pub mod time;
pub mod version;
pub mod wire;
pub mod worker;

pub use end_request::EndRequest;
pub use kind::Kind;
pub use leadership::Leadership;
pub use machine::{Machine, NoteLevel, Violation};
pub use mentions::Mentions;
pub use time::Timestamp;
