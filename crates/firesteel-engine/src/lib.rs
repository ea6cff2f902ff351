//! The state machines of an application: what owns it, what runs its tasks, and what uses it.
//!
//! A [`driver`] owns an application and its tasks, and an [`executor`] runs them. A [`launcher`] owns an application whose
//! executors run a command. A [`map`] run is above a driver, and a [`session`] above both: what is below does is their
//! events, and their effects are events of what is below.

mod applicant;
pub mod driver;
pub mod executor;
pub mod launcher;
pub mod map;
pub mod session;
