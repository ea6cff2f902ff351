//! What a driver says to a Master.

use super::application::totals;
use super::{Application, DEPLOY_MESSAGES, Fields, Profile, Unreadable};
use crate::dialect::{Dialect, Fragment, Reference, Release, Vocabulary};
use crate::java::{self, Bounds, Node};
use bytes::Bytes;

/// A message from a driver to a Master's endpoint `Master`.
///
/// Source: Spark's DeployMessages, 3.3 to 4.3.
#[derive(Clone, Debug, PartialEq)]
pub enum FromDriver {
    /// Registers an application. Without an answer the driver sends it again after 20 s.
    RegisterApplication(Box<Registration>),
    /// Asks for executors. The answer says whether the application is known.
    RequestExecutors {
        /// The application's id.
        app: String,
        /// How many executors it wants, those that it has included.
        wanted: WantedExecutors,
    },
    /// Asks to end executors. The answer says whether the application is known.
    KillExecutors {
        /// The application's id.
        app: String,
        /// The numbers of the executors, in decimal digits.
        executors: Vec<String>,
    },
    /// The application is done.
    UnregisterApplication {
        /// The application's id. `None` if the driver never got one.
        app: Option<String>,
    },
    /// The driver has taken note of another Master.
    MasterChangeAcknowledged {
        /// The application's id.
        app: String,
    },
}

/// An application, and how its driver wants to be spoken to.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    /// The application. Its command has the same as the driver wrote it, which Spark's Workers are told.
    pub application: Application,
    /// The driver's way of speaking.
    pub dialect: Dialect,
    /// The body of the frame that it came in, from which a Master that was restarted can call the driver: see
    /// [`Connection::calling`](crate::connection::Connection::calling).
    pub body: Bytes,
}

/// How many executors an application wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedExecutors {
    /// Of the profile that the application came with. Spark 3.3 knows no others here.
    OfDefault(i32),
    /// Of each profile that is named. Others keep their numbers.
    ByProfile(Vec<(Profile, i32)>),
}

impl FromDriver {
    /// Reads a message. `None` if it is none of a driver's.
    pub(super) fn of(message: &Fields<'_>) -> Result<Option<Self>, Unreadable> {
        Ok(Some(match message.class_name().strip_prefix(DEPLOY_MESSAGES) {
            Some("RegisterApplication") => {
                let application =
                    message.object("appDescription", "org.apache.spark.deploy.ApplicationDescription")?;
                let dialect = Dialect {
                    vocabulary: Vocabulary::of_registration(message.graph()),
                    release: Release::of(message.graph()),
                    reference: Reference::read(message, "driver")?,
                };
                let mut application = Application::read(&application, dialect.release)?;
                let description = Fragment::of(message.value("appDescription")?, Application::MOST);
                let description = description.ok_or_else(|| {
                    message.wrong("appDescription", "an application of at most 16384 values")
                })?;
                application.command.description = description.write();
                Self::RegisterApplication(Box::new(Registration { application, dialect, body: Bytes::new() }))
            }
            Some("RequestExecutors") => {
                let wanted = match message.has("requestedTotal") {
                    true => WantedExecutors::OfDefault(message.int("requestedTotal")?),
                    false => WantedExecutors::ByProfile(totals(message, "resourceProfileToTotalExecs")?),
                };
                Self::RequestExecutors { app: message.text("appId")?, wanted }
            }
            Some("KillExecutors") => {
                Self::KillExecutors { app: message.text("appId")?, executors: message.texts("executorIds")? }
            }
            Some("UnregisterApplication") => {
                Self::UnregisterApplication { app: message.optional_text("appId")? }
            }
            Some("MasterChangeAcknowledged") => {
                Self::MasterChangeAcknowledged { app: message.text("appId")? }
            }
            _ => return Ok(None),
        }))
    }
}

/// Reads the question to an `endpoint-verifier`: the name of the endpoint of which somebody asks whether it is there.
///
/// # Errors
///
/// If it is another message.
pub fn asked_endpoint(object: &[u8]) -> Result<String, Unreadable> {
    let (graph, value) = java::read(object, Bounds::default())?;
    let node = Node { graph: &graph, value };
    Fields::of(node, "org.apache.spark.rpc.netty.RpcEndpointVerifier$CheckExistence")?.text("name")
}
