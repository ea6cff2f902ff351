//! Settings: `--conf key=value` and the sizes and durations in them, as Spark writes them.
//!
//! [`Properties`] holds the text; [`master`], [`worker`] and [`application`] make typed settings of it. A key that
//! nobody reads is a warning, a value that cannot be read is an error that names key, value and what is expected.

pub mod application;
pub mod duration;
pub mod keys;
pub mod master;
pub mod properties;
pub mod resources;
pub mod size;
pub mod worker;

pub use application::ApplicationSettings;
pub use properties::{Properties, SettingError};
pub use worker::WorkerSettings;
