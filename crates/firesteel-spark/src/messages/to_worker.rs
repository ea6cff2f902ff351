//! Messages from a Master to a Worker of Spark.

use std::collections::BTreeMap;

use super::MASTER;
use crate::dialect::{
    APPLICATION_FINISHED, Composer, Dialect, Fragment, KILL_EXECUTOR, LAUNCH_EXECUTOR, MASTER_CHANGED,
    RECONNECT_WORKER, REGISTER_WORKER_FAILED, REGISTERED_WORKER,
};
use crate::envelope::Address;
use crate::java::Value;

/// A message from a Master to a Worker's endpoint `Worker`. The Worker answers none of these messages.
///
/// Source: Spark's DeployMessages, 3.3 to 4.3.
#[derive(Clone, Debug, PartialEq)]
pub enum ToWorker {
    /// The Worker is registered.
    RegisteredWorker {
        /// The Master's own address.
        master: Address,
        /// The Master's address in the Worker's registration (`masterAddress`).
        dialled: Address,
        /// The URL of the Master's pages (`masterWebUiUrl`).
        web_ui_url: String,
        /// Whether the Worker was already registered (`duplicate`).
        is_duplicate: bool,
    },
    /// The Worker's registration is refused.
    RegisterWorkerFailed {
        /// The reason, as text for a human reader. Spark's field: `message`.
        message: String,
    },
    /// The Master has not registered the Worker, so the Worker has to register again.
    ReconnectWorker {
        /// The sending Master's URL (`masterUrl`).
        master_url: String,
    },
    /// Orders the Worker to start an executor.
    LaunchExecutor(Box<Launch>),
    /// Orders the Worker to end an executor.
    KillExecutor {
        /// The sending Master's URL (`masterUrl`).
        master_url: String,
        /// The id of the executor's application (`appId`).
        app: String,
        /// The executor's number in its application (`execId`).
        executor: i32,
    },
    /// Another Master has taken over.
    MasterChanged {
        /// The new Master's address.
        master: Address,
        /// The URL of the new Master's pages (`masterWebUiUrl`).
        web_ui_url: String,
    },
    /// An application has ended, so that its directories can be removed.
    ApplicationFinished {
        /// The application's id (`id`).
        app: String,
    },
}

/// An executor to start: Spark's `LaunchExecutor`.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The sending Master's URL (`masterUrl`).
    pub master_url: String,
    /// The id of the executor's application (`appId`).
    pub app: String,
    /// The executor's number in its application (`execId`).
    pub executor: i32,
    /// The number of the executor's resource profile (`rpId`); 0 is the default profile.
    pub profile: i32,
    /// The application's description as its driver sent it (`appDesc`).
    pub description: Fragment,
    /// The executor's number of cores (`cores`).
    pub cores: i32,
    /// The executor's memory in MiB (`memory`).
    pub memory: i32,
    /// The addresses of the executor's custom resources, by name (`resources`).
    pub resources: BTreeMap<String, Vec<String>>,
}

impl ToWorker {
    /// Writes the message as a Java object, in this Worker's dialect.
    pub fn write(&self, dialect: &Dialect) -> Vec<u8> {
        let mut composer = Composer::new(&dialect.vocabulary);
        let root = self.compose(&mut composer, dialect);
        composer.write(root)
    }

    fn compose(&self, to: &mut Composer<'_>, dialect: &Dialect) -> Value {
        match self {
            Self::RegisteredWorker { master, dialled, web_ui_url, is_duplicate } => {
                let fields = [
                    Value::Boolean(*is_duplicate),
                    to.reference(&dialect.reference, MASTER, master),
                    to.address(dialled),
                    to.text(web_ui_url),
                ];
                to.object(&REGISTERED_WORKER, &fields)
            }
            Self::RegisterWorkerFailed { message } => {
                let fields = [to.text(message)];
                to.object(&REGISTER_WORKER_FAILED, &fields)
            }
            Self::ReconnectWorker { master_url } => {
                let fields = [to.text(master_url)];
                to.object(&RECONNECT_WORKER, &fields)
            }
            Self::LaunchExecutor(launch) => {
                let numbers = [launch.cores, launch.executor, launch.memory, launch.profile].map(Value::Int);
                let rest = [
                    to.fragment(&launch.description),
                    to.text(&launch.app),
                    to.text(&launch.master_url),
                    to.resources(&launch.resources),
                ];
                to.object(&LAUNCH_EXECUTOR, &[numbers, rest].concat())
            }
            Self::KillExecutor { master_url, app, executor } => {
                let fields = [Value::Int(*executor), to.text(app), to.text(master_url)];
                to.object(&KILL_EXECUTOR, &fields)
            }
            Self::MasterChanged { master, web_ui_url } => {
                let fields = [to.reference(&dialect.reference, MASTER, master), to.text(web_ui_url)];
                to.object(&MASTER_CHANGED, &fields)
            }
            Self::ApplicationFinished { app } => {
                let fields = [to.text(app)];
                to.object(&APPLICATION_FINISHED, &fields)
            }
        }
    }
}
