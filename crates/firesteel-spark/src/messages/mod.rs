//! Messages of Spark's RPC, as values.
//!
//! - `fields.rs`: the fields of an object, by name and type
//! - `application.rs`: an application as its driver describes it
//! - `from_driver.rs`: what a driver says to a Master
//! - `to_driver.rs`: what a Master says to a driver
//! - `from_worker.rs`, `to_worker.rs`: the same with a Worker of Spark's
//! - `from_client.rs`, `to_client.rs`: the same with those who submit cluster drivers
//! - `executor_state.rs`, `driver_state.rs`: the states of an executor and of a cluster driver
//!
//! Fields are found by their names, so that a release may have more of them or write them in another order.

mod application;
mod driver_state;
mod executor_state;
mod fields;
mod from_client;
mod from_driver;
mod from_worker;
mod to_client;
mod to_driver;
mod to_worker;

use crate::java::{self, Bounds, Node};
use crate::scala;

pub use application::{Application, Profile};
pub use driver_state::DriverState;
pub use executor_state::ExecutorState;
pub(crate) use fields::Fields;
pub use fields::Unreadable;
pub use from_client::{ClientRequest, DriverSubmission, FromClient};
pub use from_driver::{FromDriver, Registration, WantedExecutors, asked_endpoint};
pub use from_worker::{FromWorker, RunningExecutor, WorkerRegistration};
pub use to_client::{DriverStatus, ToClient};
pub use to_driver::{ToDriver, answer};
pub use to_worker::{Launch, ToWorker};

/// What the names of the classes of most messages begin with.
const DEPLOY_MESSAGES: &str = "org.apache.spark.deploy.DeployMessages$";

/// The name of a Master's endpoint.
pub const MASTER: &str = "Master";

/// What somebody says to a Master.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A driver says it.
    Driver(FromDriver),
    /// A Worker says it.
    Worker(FromWorker),
    /// Somebody who submits cluster drivers says it.
    Client(Box<FromClient>),
    /// Somebody asks whether the Master works.
    Readyz,
}

/// Reads a message to a Master's endpoint `Master`.
///
/// # Errors
///
/// If it is no stream of Java objects, or of a class that nobody sends to a Master, or has other fields.
pub fn read(object: &[u8]) -> Result<Message, Unreadable> {
    let (graph, value) = java::read(object, Bounds::default())?;
    let node = Node { graph: &graph, value };
    if scala::singleton(node).and_then(|class| class.strip_prefix(DEPLOY_MESSAGES)) == Some("RequestReadyz$")
    {
        return Ok(Message::Readyz);
    }
    let message = Fields::any(node)?;
    if let Some(message) = FromDriver::of(&message)? {
        return Ok(Message::Driver(message));
    }
    if let Some(message) = FromClient::of(&message)? {
        return Ok(Message::Client(Box::new(message)));
    }
    let read = FromWorker::of(&message)?.map(Message::Worker);
    read.ok_or_else(|| Unreadable::Unknown(message.class_name().to_owned()))
}
