//! Messages from a driver to a Master.

use super::application::totals;
use super::{Application, DEPLOY_MESSAGES, Fields, Profile, Unreadable};
use crate::dialect::{ClassNames, Dialect, Fragment, Reference, Release};
use crate::java::{self, Bounds, Node};
use bytes::Bytes;

/// A message from a driver to a Master's endpoint `Master`.
///
/// Source: Spark's DeployMessages, 3.3 to 4.3.
#[derive(Clone, Debug, PartialEq)]
pub enum FromDriver {
    /// Registers an application. The driver repeats the message every 20 s until it gets an answer.
    RegisterApplication(Box<Registration>),
    /// Sets the number of wanted executors. The answer says whether the Master has the application.
    RequestExecutors {
        /// The id that the Master gave the application (`appId`).
        app: String,
        /// The numbers of wanted executors. Existing executors count, too.
        wanted: WantedExecutors,
    },
    /// Requests the end of executors. The answer says whether the Master has the application.
    KillExecutors {
        /// The id that the Master gave the application (`appId`).
        app: String,
        /// The executors' numbers as decimal text (`executorIds`).
        executors: Vec<String>,
    },
    /// The application has ended.
    UnregisterApplication {
        /// The id that the Master gave the application (`appId`); `None` if the driver never got an id.
        app: Option<String>,
    },
    /// The driver acknowledges `MasterChanged`.
    MasterChangeAcknowledged {
        /// The id that the Master gave the application (`appId`).
        app: String,
    },
}

/// A driver's registration of an application, with the driver's dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    /// The application. Its command also contains the driver's original description, for Spark's Workers.
    pub application: Application,
    /// The data that is needed to write messages for this driver.
    pub dialect: Dialect,
    /// The body of the registration's frame. A restarted Master reads it to call the driver: see
    /// [`Connection::calling`](crate::connection::Connection::calling).
    pub body: Bytes,
}

/// The numbers of executors that an application wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedExecutors {
    /// The number for the default profile. Spark 3.3 sends numbers only for this profile.
    OfDefault(i32),
    /// The number for each listed profile. The numbers of other profiles stay unchanged.
    ByProfile(Vec<(Profile, i32)>),
}

impl FromDriver {
    /// Reads a message; `None` if the message is not one from a driver.
    pub(super) fn of(message: &Fields<'_>) -> Result<Option<Self>, Unreadable> {
        Ok(Some(match message.class_name().strip_prefix(DEPLOY_MESSAGES) {
            Some("RegisterApplication") => {
                let application =
                    message.object("appDescription", "org.apache.spark.deploy.ApplicationDescription")?;
                let dialect = Dialect {
                    vocabulary: ClassNames::of_registration(message.graph()),
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

/// Reads the question to an `endpoint-verifier`: the name of the endpoint, if the message asks whether it exists.
///
/// # Errors
///
/// If the message is not this question.
pub fn asked_endpoint(object: &[u8]) -> Result<String, Unreadable> {
    let (graph, value) = java::read(object, Bounds::default())?;
    let node = Node { graph: &graph, value };
    Fields::of(node, "org.apache.spark.rpc.netty.RpcEndpointVerifier$CheckExistence")?.text("name")
}
