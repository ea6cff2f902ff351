//! The state machines of an application: driver, executor, launcher, map run and session.
//!
//! A [`driver`] owns an application and its tasks, and an [`executor`] runs them. A [`launcher`] owns an application
//! whose executors run a command. A [`map`] run uses a driver, and a [`session`] uses both. Each turns the effects of
//! the machine below into its own events, and its own effects into events of the machine below.

mod applicant;
pub mod driver;
pub mod executor;
pub mod launcher;
pub mod map;
pub mod session;
