//! Settings: properties in Spark's form, from flags, files and the environment, and the typed settings made
//! of them.
//!
//! - [`keys`], [`key`]: the table of all properties, and one row of it.
//! - [`properties`], [`origin`]: the values of properties, and where each was set.
//! - [`sources`], [`properties_file`], [`java_options`], [`variables`]: where properties are read from.
//! - [`master`], [`worker`], [`application`], [`cluster_driver`], [`yarn`], [`application_master`], [`listen`]: the typed
//!   settings of each reader.
//! - `allocation`, `amounts`, [`rolling`], [`shuffle_service`], [`resources`], [`description`]: parts of these settings,
//!   and what an application tells its Master.
//! - [`scheduling`]: the settings of a running Master's scheduler, written as properties again.
//! - [`size`], [`duration`]: the forms of values.
//! - [`spark_properties`], [`property_effect`], [`findings`], [`reference`](mod@reference): properties of Spark without a
//!   reader here, the effect of each property that is set, and the texts about them.
//! - [`protection`]: what asks for protection that Firesteel does not have.
//! - [`near`], [`secrets`]: suggestions for misspelt names, and the redaction of secrets.
//!
//! A property without a reader gives a warning. A value that cannot be used gives an error with the key,
//! the value and the expected form.

mod allocation;
mod amounts;
pub mod application;
pub mod application_master;
pub mod cluster_driver;
pub mod description;
pub mod duration;
pub mod findings;
pub mod http;
pub mod java_options;
pub mod key;
pub mod keys;
pub mod listen;
pub mod master;
pub mod near;
pub mod origin;
pub mod pages;
pub mod properties;
pub mod properties_file;
pub mod property_effect;
pub mod protection;
pub mod reference;
pub mod resources;
pub mod rolling;
pub mod scheduling;
pub mod secrets;
pub mod shuffle_service;
pub mod size;
pub mod sources;
pub mod spark_properties;
pub mod variables;
pub mod worker;
pub mod yarn;
mod zookeeper_url;

pub use application::{ApplicationSettings, CUDA};
pub use key::Reader;
pub use origin::Origin;
pub use properties::{Properties, SettingError};
pub use worker::WorkerSettings;
