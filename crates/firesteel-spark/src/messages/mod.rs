//! Messages of Spark's RPC, as values.
//!
//! - `fields.rs`: the fields of an object, by name and type
//! - `application.rs`: an application as its driver describes it
//! - `from_driver.rs`: messages from a driver to a Master
//! - `to_driver.rs`: messages from a Master to a driver
//! - `from_worker.rs`, `to_worker.rs`: messages from and to a Worker of Spark
//! - `from_client.rs`, `to_client.rs`: messages from and to clients that submit cluster drivers
//! - `executor_state.rs`, `driver_state.rs`: the states of an executor and of a cluster driver
//!
//! Fields are found by their names, so a release may have additional fields, or write the fields in another order.

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

/// The prefix of most messages' class names.
const DEPLOY_MESSAGES: &str = "org.apache.spark.deploy.DeployMessages$";

/// The name of a Master's endpoint in envelopes.
pub const MASTER: &str = "Master";

/// A message to a Master, by its sender.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A message from a driver with an application.
    Driver(FromDriver),
    /// A message from a Worker of Spark.
    Worker(FromWorker),
    /// A message from a client that submits cluster drivers.
    Client(Box<FromClient>),
    /// The question whether the Master works. Any peer may send it.
    Readyz,
}

/// Reads a message to a Master's endpoint `Master`.
///
/// # Errors
///
/// If the object is not a stream of Java objects, if Masters do not receive messages of its class, or if its fields
/// differ.
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
