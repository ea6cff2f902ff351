//! Requests of clients that submit cluster drivers to a Master.

use std::collections::BTreeMap;

use firesteel_protocol::process::executor_command::JavaCommand;

use super::application::java_command;
use super::{DEPLOY_MESSAGES, Fields, Unreadable};
use crate::dialect::ClassNames;

/// A client's request, with the classes of the client's release.
#[derive(Clone, Debug, PartialEq)]
pub struct FromClient {
    /// The request itself.
    pub request: ClientRequest,
    /// The classes of the client's release, as far as the request shows them.
    pub vocabulary: ClassNames,
}

/// A request to a Master's endpoint `Master`.
///
/// Source: Spark's DeployMessages, 3.3 to 4.3.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientRequest {
    /// Submits a cluster driver (`RequestSubmitDriver`).
    SubmitDriver(Box<DriverSubmission>),
    /// Requests the end of a cluster driver (`RequestKillDriver`).
    KillDriver {
        /// The id that the Master gave the driver (`driverId`).
        driver: String,
    },
    /// Requests the state of a cluster driver (`RequestDriverStatus`).
    DriverStatus {
        /// The id that the Master gave the driver (`driverId`).
        driver: String,
    },
}

/// A submitted cluster driver: Spark's `DriverDescription`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverSubmission {
    /// The URL of the driver's jar (`jarUrl`).
    pub jar: String,
    /// The driver's memory in MiB (`mem`).
    pub memory: i32,
    /// The driver's number of cores (`cores`).
    pub cores: i32,
    /// Whether the driver is restarted when it fails or its Worker is lost (`supervise`).
    pub supervise: bool,
    /// The wrapper class that runs the driver's own class (`command`).
    pub command: JavaCommand,
    /// The number of addresses that the driver needs of each custom resource, by name (`resourceReqs`).
    pub resources: BTreeMap<String, i64>,
}

impl FromClient {
    /// Reads a request; `None` if the message is not a client's request.
    pub(super) fn of(message: &Fields<'_>) -> Result<Option<Self>, Unreadable> {
        let request = match message.class_name().strip_prefix(DEPLOY_MESSAGES) {
            Some("RequestSubmitDriver") => {
                let class = "org.apache.spark.deploy.DriverDescription";
                let description = message.object("driverDescription", class)?;
                ClientRequest::SubmitDriver(Box::new(DriverSubmission::read(&description)?))
            }
            Some("RequestKillDriver") => ClientRequest::KillDriver { driver: message.text("driverId")? },
            Some("RequestDriverStatus") => ClientRequest::DriverStatus { driver: message.text("driverId")? },
            _ => return Ok(None),
        };
        Ok(Some(Self { request, vocabulary: ClassNames::of_client(message.graph()) }))
    }
}

impl DriverSubmission {
    fn read(description: &Fields<'_>) -> Result<Self, Unreadable> {
        let mut resources = BTreeMap::new();
        for requirement in description.elements("resourceReqs")? {
            let class = "org.apache.spark.resource.ResourceRequirement";
            let requirement = description.object_of("resourceReqs", requirement, class)?;
            resources.insert(requirement.text("resourceName")?, i64::from(requirement.int("amount")?));
        }
        Ok(Self {
            jar: description.text("jarUrl")?,
            memory: description.int("mem")?,
            cores: description.int("cores")?,
            supervise: description.boolean("supervise")?,
            command: java_command(&description.object("command", "org.apache.spark.deploy.Command")?, None)?,
            resources,
        })
    }
}
