//! What a Worker of Spark's says to a Master.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{DEPLOY_MESSAGES, ExecutorState, Fields, Unreadable};
use crate::dialect::{Dialect, Reference, Release, Vocabulary};
use crate::envelope::Address;
use crate::java::Node;

/// A message from a Worker to a Master's endpoint `Master`.
///
/// Source: Spark's DeployMessages, 3.3 to 4.3.
#[derive(Clone, Debug, PartialEq)]
pub enum FromWorker {
    /// Registers a Worker.
    RegisterWorker(Box<WorkerRegistration>),
    /// The Worker lives.
    Heartbeat {
        /// Its id.
        worker: String,
    },
    /// An executor's state has changed. The answer is yes.
    ExecutorStateChanged {
        /// The application's id.
        app: String,
        /// The executor's number in it.
        executor: i32,
        /// Its state.
        state: ExecutorState,
        /// Why, in words for people.
        message: Option<String>,
        /// The exit status of its process. 128 and the number of a signal that ended it.
        exit_status: Option<i32>,
    },
    /// What runs on a Worker that has registered.
    WorkerLatestState {
        /// The Worker's id.
        worker: String,
        /// Its executors.
        executors: Vec<RunningExecutor>,
        /// The ids of its drivers.
        drivers: Vec<String>,
    },
    /// What runs on a Worker that a new Master asked.
    WorkerSchedulerStateResponse {
        /// The Worker's id.
        worker: String,
        /// Its executors.
        executors: Vec<RunningExecutor>,
        /// The ids of its drivers.
        drivers: Vec<String>,
    },
    /// The Worker takes nothing more, since it is about to end.
    WorkerDecommissioning {
        /// Its id.
        worker: String,
    },
}

/// A Worker that registers, and how it wants to be spoken to.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerRegistration {
    /// Its id.
    pub worker: String,
    /// Where it can be reached.
    pub address: Address,
    /// Its cores.
    pub cores: i32,
    /// Its memory in MiB.
    pub memory: i32,
    /// The addresses of its custom resources, by name.
    pub resources: BTreeMap<String, Vec<String>>,
    /// Where it shows its pages.
    pub web_ui_url: String,
    /// The Master's address, as the Worker calls it.
    pub master: Address,
    /// The Worker's way of speaking.
    pub dialect: Dialect,
    /// The releases of Spark of which it may be. None if it is of one that is not known.
    pub releases: Vec<Release>,
    /// The body of the frame that it came in. A Master that takes over calls the Worker with it.
    pub body: Bytes,
}

/// An executor that runs on a Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningExecutor {
    /// The application's id.
    pub app: String,
    /// The executor's number in it.
    pub executor: i32,
    /// The number of its profile.
    pub profile: i32,
    /// Its cores.
    pub cores: i32,
    /// Its memory in MiB.
    pub memory: i32,
    /// Its state.
    pub state: ExecutorState,
}

impl FromWorker {
    /// Reads a message. `None` if it is none of a Worker's.
    pub(super) fn of(message: &Fields<'_>) -> Result<Option<Self>, Unreadable> {
        Ok(Some(match message.class_name().strip_prefix(DEPLOY_MESSAGES) {
            Some("RegisterWorker") => {
                let releases = Release::of_worker(message.graph());
                let dialect = Dialect {
                    vocabulary: Vocabulary::of_registration(message.graph()),
                    release: releases.first().copied().filter(|_| releases.len() == 1),
                    reference: Reference::read(message, "worker")?,
                };
                let registration = WorkerRegistration::read(message, dialect)?;
                Self::RegisterWorker(Box::new(WorkerRegistration { releases, ..registration }))
            }
            Some("Heartbeat") => Self::Heartbeat { worker: message.text("workerId")? },
            Some("ExecutorStateChanged") => Self::ExecutorStateChanged {
                app: message.text("appId")?,
                executor: message.int("execId")?,
                state: ExecutorState::read(message, "state")?,
                message: message.text_in_option("message")?,
                exit_status: message.integer_in_option("exitStatus")?,
            },
            Some("WorkerLatestState") => Self::WorkerLatestState {
                worker: message.text("id")?,
                executors: executors(message, "executors", message.elements("executors")?)?,
                drivers: message.texts("driverIds")?,
            },
            Some("WorkerSchedulerStateResponse") => {
                let mut described = Vec::new();
                for response in message.elements("execResponses")? {
                    described.push(Fields::any(response)?.value("desc")?);
                }
                let mut drivers = Vec::new();
                for response in message.elements("driverResponses")? {
                    drivers.push(Fields::any(response)?.text("driverId")?);
                }
                let executors = executors(message, "execResponses", described)?;
                Self::WorkerSchedulerStateResponse { worker: message.text("id")?, executors, drivers }
            }
            Some("WorkerDecommissioning") => Self::WorkerDecommissioning { worker: message.text("id")? },
            _ => return Ok(None),
        }))
    }
}

impl WorkerRegistration {
    fn read(message: &Fields<'_>, dialect: Dialect) -> Result<Self, Unreadable> {
        let mut resources = BTreeMap::new();
        for (name, information) in message.entries("resources")? {
            let class = "org.apache.spark.resource.ResourceInformation";
            let information = message.object_of("resources", information, class)?;
            let addresses = information.value("addresses")?;
            let addresses = addresses.elements().ok_or_else(|| information.wrong("addresses", "an array"))?;
            let text = |address| information.text_of("addresses", address);
            let addresses = addresses.map(text).collect::<Result<_, _>>()?;
            resources.insert(message.text_of("resources", name)?, addresses);
        }
        Ok(Self {
            body: Bytes::new(),
            worker: message.text("id")?,
            address: Address { host: message.text("host")?, port: message.port("port")? },
            cores: message.int("cores")?,
            memory: message.int("memory")?,
            resources,
            web_ui_url: message.optional_text("workerWebUiUrl")?.unwrap_or_default(),
            master: message.address("masterAddress")?,
            dialect,
            releases: Vec::new(),
        })
    }
}

fn executors<'a>(
    message: &Fields<'a>,
    field: &'static str,
    nodes: Vec<Node<'a>>,
) -> Result<Vec<RunningExecutor>, Unreadable> {
    let read = |node| {
        let executor = message.object_of(field, node, "org.apache.spark.deploy.ExecutorDescription")?;
        // Spark 3.3 has no profiles here.
        let profile = if executor.has("rpId") { executor.int("rpId")? } else { 0 };
        Ok(RunningExecutor {
            app: executor.text("appId")?,
            executor: executor.int("execId")?,
            profile,
            cores: executor.int("cores")?,
            memory: executor.int("memoryMb")?,
            state: ExecutorState::read(&executor, "state")?,
        })
    };
    nodes.into_iter().map(read).collect()
}
