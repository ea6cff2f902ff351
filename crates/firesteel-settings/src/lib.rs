//! Settings: `--conf key=value` and the sizes and durations in them, as Spark writes them.
//!
//! [`keys`] is the table of them. [`Properties`] holds the text, with its [`origin`]; [`master`], [`worker`] and [`application`] make typed settings of it. A key that
//! nobody reads is a warning, a value that cannot be read is an error that names key, value and what is expected.

mod allocation;
mod amounts;
pub mod application;
pub mod description;
pub mod duration;
pub mod findings;
pub mod java_options;
pub mod key;
pub mod keys;
pub mod listen;
pub mod master;
pub mod near;
pub mod origin;
pub mod properties;
pub mod properties_file;
pub mod reference;
pub mod resources;
pub mod rolling;
pub mod secrets;
pub mod size;
pub mod sources;
pub mod sparks;
pub mod standing;
pub mod task_needs;
pub mod variables;
pub mod worker;
pub mod yarn;

pub use application::ApplicationSettings;
pub use key::Reader;
pub use origin::Origin;
pub use properties::{Properties, SettingError};
pub use worker::WorkerSettings;
