//! A Master's answers to clients that submit cluster drivers.

use super::DriverState;
use crate::dialect::{
    ClassNames, Composer, DRIVER_STATUS_RESPONSE, KILL_DRIVER_RESPONSE, SUBMIT_DRIVER_RESPONSE,
};
use crate::envelope::Address;
use crate::java::Value;

/// A Master's answer to a client's request.
///
/// Source: Spark's DeployMessages, 3.3 to 4.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToClient {
    /// Answers the submission of a cluster driver.
    SubmitDriverResponse {
        /// The new id (`driverId`); `None` if the submission was refused.
        driver: Option<String>,
        /// The Master's explanation, as text for a human reader (`message`).
        message: String,
    },
    /// Answers the request to end a cluster driver.
    KillDriverResponse {
        /// The id from the request (`driverId`).
        driver: String,
        /// Whether the driver will end (`success`).
        success: bool,
        /// The Master's explanation, as text for a human reader (`message`).
        message: String,
    },
    /// Answers the question for a driver's state; `None` if the Master has no such driver.
    DriverStatusResponse(Option<DriverStatus>),
}

/// The state of a cluster driver, with the driver's Worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverStatus {
    /// The driver's state (`state`).
    pub state: DriverState,
    /// The id of the driver's Worker (`workerId`), if the driver has or had one.
    pub worker: Option<String>,
    /// The Worker's address (`workerHostPort`).
    pub address: Option<Address>,
    /// Why the driver could not be started (`exception`).
    pub exception: Option<String>,
}

impl ToClient {
    /// Writes the answer as a Java object, with these classes.
    ///
    /// The reference to the Master in the answer is null, because its classes differ between releases. Clients of 3.3
    /// to 4.3 store the reference, but never use it.
    pub fn write(&self, vocabulary: &ClassNames) -> Vec<u8> {
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
