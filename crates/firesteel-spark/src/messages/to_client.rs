//! What a Master answers those who submit cluster drivers.

use super::DriverState;
use crate::dialect::{
    Composer, DRIVER_STATUS_RESPONSE, KILL_DRIVER_RESPONSE, SUBMIT_DRIVER_RESPONSE, Vocabulary,
};
use crate::envelope::Address;
use crate::java::Value;

/// The answer to a request.
///
/// Source: Spark's DeployMessages, 3.3 to 4.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToClient {
    /// What comes of a submission.
    SubmitDriverResponse {
        /// The cluster driver's id, if it was submitted.
        driver: Option<String>,
        /// The Master's words.
        message: String,
    },
    /// What comes of a request to end a cluster driver.
    KillDriverResponse {
        /// The cluster driver's id.
        driver: String,
        /// Whether it will end.
        success: bool,
        /// The Master's words.
        message: String,
    },
    /// The state of a cluster driver. `None`: the Master does not know it.
    DriverStatusResponse(Option<DriverStatus>),
}

/// The state of a cluster driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverStatus {
    /// Its state.
    pub state: DriverState,
    /// The id of its Worker, if it has or had one.
    pub worker: Option<String>,
    /// The Worker's address.
    pub address: Option<Address>,
    /// Why it could not be started.
    pub exception: Option<String>,
}

impl ToClient {
    /// The Java object of the answer, for one whose classes are these.
    ///
    /// Its reference to the Master is null: clients of 3.3 to 4.3 keep it and never use it, and its classes differ from release
    /// to release.
    pub fn write(&self, vocabulary: &Vocabulary) -> Vec<u8> {
        let mut composer = Composer::new(vocabulary);
        let root = self.compose(&mut composer);
        composer.write(root)
    }

    fn compose(&self, to: &mut Composer<'_>) -> Value {
        match self {
            Self::SubmitDriverResponse { driver, message } => {
                let id = driver.as_ref().map(|id| to.text(id));
                let fields = [Value::Boolean(driver.is_some()), to.option(id), Value::Null, to.text(message)];
                to.object(&SUBMIT_DRIVER_RESPONSE, &fields)
            }
            Self::KillDriverResponse { driver, success, message } => {
                let fields = [Value::Boolean(*success), to.text(driver), Value::Null, to.text(message)];
                to.object(&KILL_DRIVER_RESPONSE, &fields)
            }
            Self::DriverStatusResponse(status) => {
                let exception = status.as_ref().and_then(|status| status.exception.as_ref());
                let exception = exception.map(|message| to.exception(message));
                let state = status.as_ref().map(|status| to.driver_state(status.state));
                let address = status.as_ref().and_then(|status| status.address.as_ref());
                let address = address.map(|address| to.text(address.to_string()));
                let worker = status.as_ref().and_then(|status| status.worker.as_ref());
                let worker = worker.map(|worker| to.text(worker));
                let fields = [
                    Value::Boolean(status.is_some()),
                    to.option(exception),
                    to.option(state),
                    to.option(address),
                    to.option(worker),
                ];
                to.object(&DRIVER_STATUS_RESPONSE, &fields)
            }
        }
    }
}
