//! The Worker registers with a Master and runs executors.
//!
//! It decides when to connect to which Master, what to report, and when an executor's process is started,
//! asked to end, or killed. Executors survive the loss of the Master: the Worker lists them to the next one,
//! with every end that no Master has confirmed.
//!
//! It also runs cluster drivers, and starts those that are supervised again when they fail.
//!
//! A Worker does not compare launches with its own free cores and memory. The Master counts, and two counts
//! would disagree while messages are on their way. Source: Spark Worker, 4.0.1.

mod cleaning;
mod config;
mod drivers;
mod effect;
mod event;
mod executors;
mod files;
mod kept_directories;
mod logs;
mod machine;
mod note;
mod obstacles;
mod process_stage;
mod registration;
mod shutdown;
#[cfg(test)]
mod tests;
mod usage;

pub use config::{Cleanup, Config};
pub use effect::{DriverPlan, Effect, ExecutorPlan, Exit, Outbound};
pub use event::{Event, Inbound, LogRead, MachineMeasurement, Measurement, ProcessMeasurement, StartTried};
pub use kept_directories::EarlierDirectory;
pub use machine::{Reason, Worker};
pub use note::Note;
