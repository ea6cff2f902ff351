//! Messages from a Master to a driver.

use firesteel_protocol::host;

use super::{ExecutorState, MASTER};
use crate::dialect::{
    APPLICATION_REMOVED, ClassNames, Composer, Dialect, EXECUTOR_ADDED, EXECUTOR_UPDATED, Generation,
    MASTER_CHANGED, REGISTERED_APPLICATION, WORKER_REMOVED,
};
use crate::envelope::Address;
use crate::java::Value;

/// A message from a Master to a driver's endpoint `AppClient`. The driver answers none of these messages.
///
/// Source: Spark's DeployMessages, 3.3 to 4.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToDriver {
    /// The application is registered.
    RegisteredApplication {
        /// The id that the Master gave the application (`appId`).
        app: String,
        /// The address that the driver uses for the Master.
        master: Address,
    },
    /// An executor is being started.
    ExecutorAdded {
        /// The executor's number in the application (`id`).
        executor: i32,
        /// The id of the executor's Worker (`workerId`).
        worker: String,
        /// The address of the executor's Worker (`hostPort`).
        address: Address,
        /// The executor's number of cores (`cores`).
        cores: i32,
        /// The executor's memory in MiB (`memory`).
        memory: i32,
    },
    /// An executor's state has changed.
    ExecutorUpdated {
        /// The executor's number in the application (`id`).
        executor: i32,
        /// The executor's new state (`state`).
        state: ExecutorState,
        /// The reason, as text for a human reader. Spark's field: `message`.
        message: Option<String>,
        /// The exit status of the executor's process (`exitStatus`): 128 plus the signal's number, if a signal ended
        /// it.
        exit_status: Option<i32>,
        /// The executor's host (`workerHost`), if the whole host is lost. If the host is not named, the driver counts
        /// the end of the executor as a failure of its tasks.
        lost_host: Option<String>,
    },
    /// A Worker is lost. The driver then no longer uses shuffle data that executors stored on the Worker.
    WorkerRemoved {
        /// The lost Worker's id (`id`).
        worker: String,
        /// The lost Worker's host (`host`).
        host: String,
        /// The reason, as text for a human reader. Spark's field: `message`.
        message: String,
    },
    /// The Master has ended the application.
    ApplicationRemoved {
        /// How the application ended (`message`): `KILLED` or `FAILED`.
        message: String,
    },
    /// Another Master has taken over.
    MasterChanged {
        /// The new Master's address.
        master: Address,
        /// The URL of the new Master's pages (`masterWebUiUrl`).
        web_ui_url: String,
    },
}

impl ToDriver {
    /// Writes the message as a Java object, in this driver's dialect.
    pub fn write(&self, dialect: &Dialect) -> Vec<u8> {
        let mut composer = Composer::new(&dialect.vocabulary);
        let root = self.compose(&mut composer, dialect);
        composer.write(root)
    }

    fn compose(&self, to: &mut Composer<'_>, dialect: &Dialect) -> Value {
        match self {
            Self::RegisteredApplication { app, master } => {
                let fields = [to.text(app), to.reference(&dialect.reference, MASTER, master)];
                to.object(&REGISTERED_APPLICATION, &fields)
            }
            Self::ExecutorAdded { executor, worker, address, cores, memory } => {
                let numbers = [*cores, *executor, *memory].map(Value::Int);
                let texts = [to.text(address.to_string()), to.text(worker)];
                to.object(&EXECUTOR_ADDED, &[&numbers[..], &texts].concat())
            }
            Self::ExecutorUpdated { executor, state, message, exit_status, lost_host } => {
                let exit_status = exit_status.map(|status| to.integer(status));
                let message = message.as_ref().map(|message| to.text(message));
                let host = lost_host.as_ref().map(|host| to.text(host::in_url(host)));
                let fields = [
                    Value::Int(*executor),
                    to.option(exit_status),
                    to.option(message),
                    to.executor_state(*state),
                    to.option(host),
                ];
                to.object(&EXECUTOR_UPDATED, &fields)
            }
            Self::WorkerRemoved { worker, host, message } => {
                let fields = [to.text(host::in_url(host)), to.text(worker), to.text(message)];
                to.object(&WORKER_REMOVED, &fields)
            }
            Self::ApplicationRemoved { message } => {
                let fields = [to.text(message)];
                to.object(&APPLICATION_REMOVED, &fields)
            }
            Self::MasterChanged { master, web_ui_url } => {
                let fields = [to.reference(&dialect.reference, MASTER, master), to.text(web_ui_url)];
                to.object(&MASTER_CHANGED, &fields)
            }
        }
    }
}

/// The Java object that answers a question with `true` or `false`. The object is the same in every release.
pub fn answer(yes: bool) -> Vec<u8> {
    let vocabulary = ClassNames::of(Generation::Scala2_13);
    let mut composer = Composer::new(&vocabulary);
    let root = composer.boolean(yes);
    composer.write(root)
}
