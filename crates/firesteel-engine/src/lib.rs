//! The state machines of an application: driver, executor, launcher, map run and session.
//!
//! A [`driver`] owns an application and its tasks, and an [`executor`] runs them. A [`launcher`] owns an application
//! whose executors run a command. A [`map`] run uses a driver, and a [`session`] uses a driver and map runs. The upper
//! state machine takes the effects of the lower one as events, and its own effects become events of the lower one.

mod applicant;
pub mod driver;
pub mod executor;
pub mod launcher;
pub mod map;
pub mod session;
