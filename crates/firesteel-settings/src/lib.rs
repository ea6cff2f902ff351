//! Settings: properties as in Spark, read from flags, files and the environment, and the typed settings made from them.
//!
//! - [`keys`], [`key`]: the table of all properties, and one row of it.
//! - [`properties`], [`origin`]: the values of properties, and where each was set.
//! - [`sources`]: where properties are read from, and which source takes precedence.
//! - [`application`], [`daemon`]: the typed settings of applications and cluster drivers, and of Masters and Workers.
//! - [`values`]: the syntax of values.
//! - [`spark_properties`]: Spark's properties that Firesteel does not read, including properties that ask for
//!   protection which Firesteel does not have.
//! - [`findings`], [`reference`](mod@reference): the effect of each property that is set, and the reference of all
//!   properties.
//! - [`near`], [`secrets`]: suggestions for misspelt names, and the redaction of secrets.
//!
//! A property that no program reads causes a warning. A value that cannot be used causes an error with the key, the
//! value and the expected form.

pub mod application;
pub mod daemon;
pub mod findings;
pub mod key;
pub mod keys;
pub mod near;
pub mod origin;
pub mod properties;
pub mod reference;
pub mod secrets;
pub mod sources;
pub mod spark_properties;
pub mod values;

pub use application::{
    ApplicationSettings, CUDA, application_master, cluster_driver, description, listen, yarn,
};
pub use daemon::{
    ConfinementSettings, WorkerSettings, access_lists, allowed_peers, app_resources, http, master, pages,
    resources, rolling, scheduling, shuffle_service, tls, token_key, worker,
};
pub use findings::property_effect;
pub use key::Reader;
pub use origin::Origin;
pub use properties::{Properties, SettingError};
pub use sources::{java_options, properties_file, variables};
pub use spark_properties::protection;
pub use values::{duration, size};
