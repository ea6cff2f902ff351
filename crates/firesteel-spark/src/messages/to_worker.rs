//! What a Master says to a Worker of Spark's.

use std::collections::BTreeMap;

use super::MASTER;
use crate::dialect::{
    APPLICATION_FINISHED, Composer, Dialect, Fragment, KILL_EXECUTOR, LAUNCH_EXECUTOR, MASTER_CHANGED,
    RECONNECT_WORKER, REGISTER_WORKER_FAILED, REGISTERED_WORKER,
};
use crate::envelope::Address;
use crate::java::Value;

/// A message from a Master to a Worker's endpoint `Worker`. None has an answer.
///
/// Source: Spark's DeployMessages, 3.3 to 4.3.
#[derive(Clone, Debug, PartialEq)]
pub enum ToWorker {
    /// The Worker is registered.
    RegisteredWorker {
        /// The Master's address.
        master: Address,
        /// The Master's address, as the Worker called it when it registered.
        dialled: Address,
        /// Where the Master shows its pages.
        web_ui_url: String,
        /// Whether the Worker was registered before.
        is_duplicate: bool,
    },
    /// The Worker cannot be registered.
    RegisterWorkerFailed {
        /// Why, in words for people.
        message: String,
    },
    /// The Master does not know the Worker, which has to register again.
    ReconnectWorker {
        /// The Master's URL.
        master_url: String,
    },
    /// Starts an executor.
    LaunchExecutor(Box<Launch>),
    /// Ends an executor.
    KillExecutor {
        /// The Master's URL.
        master_url: String,
        /// The application's id.
        app: String,
        /// The executor's number in it.
        executor: i32,
    },
    /// Another Master has taken over.
    MasterChanged {
        /// Its address.
        master: Address,
        /// Where it shows its pages.
        web_ui_url: String,
    },
    /// An application has ended. Its directories can go.
    ApplicationFinished {
        /// Its id.
        app: String,
    },
}

/// An executor that is to be started.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The Master's URL.
    pub master_url: String,
    /// The application's id.
    pub app: String,
    /// The executor's number in it.
    pub executor: i32,
    /// The number of its profile.
    pub profile: i32,
    /// The application, as its driver described it.
    pub description: Fragment,
    /// Its cores.
    pub cores: i32,
    /// Its memory in MiB.
    pub memory: i32,
    /// The addresses of its custom resources, by name.
    pub resources: BTreeMap<String, Vec<String>>,
}

impl ToWorker {
    /// The Java object of the message, for a Worker that wants to be spoken to like this.
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
