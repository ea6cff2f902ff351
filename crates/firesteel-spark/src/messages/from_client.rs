//! What those ask a Master who submit cluster drivers.

use std::collections::BTreeMap;

use firesteel_protocol::process::executor_command::JavaCommand;

use super::application::java_command;
use super::{DEPLOY_MESSAGES, Fields, Unreadable};
use crate::dialect::Vocabulary;

/// A request, and the classes of the one who makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct FromClient {
    /// The request.
    pub request: ClientRequest,
    /// The classes of its release, as far as the request shows them.
    pub vocabulary: Vocabulary,
}

/// A request to a Master's endpoint `Master`.
///
/// Source: Spark's DeployMessages, 3.3 to 4.3.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientRequest {
    /// Submits a cluster driver.
    SubmitDriver(Box<DriverSubmission>),
    /// Asks for the end of one.
    KillDriver {
        /// Its id.
        driver: String,
    },
    /// Asks for the state of one.
    DriverStatus {
        /// Its id.
        driver: String,
    },
}

/// A cluster driver that is submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverSubmission {
    /// The URL of its jar.
    pub jar: String,
    /// Its memory in MiB.
    pub memory: i32,
    /// The number of its cores.
    pub cores: i32,
    /// Whether it is started again when it fails or its Worker is lost.
    pub supervise: bool,
    /// What the Worker runs: the class that runs the driver's own class.
    pub command: JavaCommand,
    /// The number of addresses of each custom resource that it needs, by name.
    pub resources: BTreeMap<String, i64>,
}

impl FromClient {
    /// Reads a request. `None` if it is none.
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
        Ok(Some(Self { request, vocabulary: Vocabulary::of_client(message.graph()) }))
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
