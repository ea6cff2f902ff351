//! Messages from a Worker of Spark to a Master.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{DEPLOY_MESSAGES, ExecutorState, Fields, Unreadable};
use crate::dialect::{ClassNames, Dialect, Reference, Release};
use crate::envelope::Address;
use crate::java::Node;

/// A message from a Worker to a Master's endpoint `Master`.
///
/// Source: Spark's DeployMessages, 3.3 to 4.3.
#[derive(Clone, Debug, PartialEq)]
pub enum FromWorker {
    /// Registers a Worker at the start, and after `ReconnectWorker`.
    RegisterWorker(Box<WorkerRegistration>),
    /// A sign of life, four times per `spark.worker.timeout`.
    Heartbeat {
        /// The id that the Worker chose (`workerId`).
        worker: String,
    },
    /// An executor's state has changed. The answer is always `true`.
    ExecutorStateChanged {
        /// The id of the executor's application (`appId`).
        app: String,
        /// The executor's number in its application (`execId`).
        executor: i32,
        /// The executor's new state (`state`).
        state: ExecutorState,
        /// The reason, as text for a human reader. Spark's field: `message`.
        message: Option<String>,
        /// The exit status of the executor's process (`exitStatus`): 128 plus the signal's number, if a signal ended
        /// it.
        exit_status: Option<i32>,
    },
    /// Lists the executors and cluster drivers that run on a Worker, after the Worker has registered.
    WorkerLatestState {
        /// The id that the Worker chose.
        worker: String,
        /// The executors that have started on the Worker and have not ended (`executors`).
        executors: Vec<RunningExecutor>,
        /// The ids of the cluster drivers that run on the Worker.
        drivers: Vec<String>,
    },
    /// Lists the executors and cluster drivers that run on a Worker, in answer to `MasterChanged`.
    WorkerSchedulerStateResponse {
        /// The id that the Worker chose.
        worker: String,
        /// The executors that have started on the Worker and have not ended (`executors`).
        executors: Vec<RunningExecutor>,
        /// The ids of the cluster drivers that run on the Worker.
        drivers: Vec<String>,
    },
    /// The Worker will end, and accepts no more executors.
    WorkerDecommissioning {
        /// The id that the Worker chose.
        worker: String,
    },
}

/// A Worker's registration, with the Worker's dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerRegistration {
    /// The id that the Worker chose (`id`).
    pub worker: String,
    /// The address on which the Worker listens (`host`, `port`).
    pub address: Address,
    /// The number of cores that the Worker offers (`cores`).
    pub cores: i32,
    /// The memory that the Worker offers, in MiB (`memory`).
    pub memory: i32,
    /// The addresses of the Worker's custom resources, by name.
    pub resources: BTreeMap<String, Vec<String>>,
    /// The URL of the Worker's pages (`workerWebUiUrl`).
    pub web_ui_url: String,
    /// The address that the Worker uses for the Master (`masterAddress`).
    pub master: Address,
    /// The data that is needed to write messages for this Worker.
    pub dialect: Dialect,
    /// The possible releases of Spark on the Worker; empty if its release is unknown.
    pub releases: Vec<Release>,
    /// The body of the registration's frame. A Master that takes over reads it to call the Worker.
    pub body: Bytes,
}

/// An executor that runs on a Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningExecutor {
    /// The id of the executor's application (`appId`).
    pub app: String,
    /// The executor's number in its application (`execId`).
    pub executor: i32,
    /// The number of the executor's resource profile (`rpId`); 0 in Spark 3.3.
    pub profile: i32,
    /// The executor's number of cores (`cores`).
    pub cores: i32,
    /// The executor's memory in MiB (`memory`).
    pub memory: i32,
    /// The executor's state when the list was made (`state`).
    pub state: ExecutorState,
}

impl FromWorker {
    /// Reads a message; `None` if the message is not one from a Worker.
    pub(super) fn of(message: &Fields<'_>) -> Result<Option<Self>, Unreadable> {
        Ok(Some(match message.class_name().strip_prefix(DEPLOY_MESSAGES) {
            Some("RegisterWorker") => {
                let releases = Release::of_worker(message.graph());
                let dialect = Dialect {
                    vocabulary: ClassNames::of_registration(message.graph()),
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
