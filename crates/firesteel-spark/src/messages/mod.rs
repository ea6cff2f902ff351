//! Messages of Spark's RPC, as values.
//!
//! - `fields.rs`: the fields of an object, by name and type
//! - `application.rs`: an application as its driver describes it
//! - `from_driver.rs`: what a driver says to a Master
//! - `to_driver.rs`: what a Master says to a driver
//!
//! Fields are found by their names, so that a release may have more of them or write them in another order.

mod application;
mod fields;
mod from_driver;
mod to_driver;

pub use application::{Application, JavaCommand, Profile};
pub(crate) use fields::Fields;
pub use fields::Unreadable;
pub use from_driver::{FromDriver, Registration, WantedExecutors, asked_endpoint};
pub use to_driver::{ExecutorState, ToDriver, answer};

/// What the names of the classes of most messages begin with.
const DEPLOY_MESSAGES: &str = "org.apache.spark.deploy.DeployMessages$";
