//! A client of a Master: asks for its state or for one application, kills applications, and decommissions Workers.
//!
//! Long answers come in pages. All pages come over one connection, and so from one Master. An answer is returned only if
//! all its pages came.

use std::time::Duration;

use firesteel_core::address::Address;
use firesteel_core::ids::ExecutorId;
use firesteel_core::messages::{
    ApplicationAnswer, ClientToMaster, DecommissionAnswer, KillAnswer, MasterToClient, MasterView,
};
use firesteel_core::state_reader::{Extent, StateReader};
use firesteel_core::wire::Role;
use firesteel_host::net::{CallError, Inquiry};

/// A connection to a Master.
#[derive(Debug)]
pub struct MasterClient {
    inquiry: Inquiry,
}

impl MasterClient {
    /// Dials a Master as a client with this name.
    ///
    /// # Errors
    /// The Master cannot be reached.
    pub async fn open(master: &Address, name: &str) -> Result<Self, CallError> {
        Ok(Self { inquiry: Inquiry::open(master, Role::Master, name).await? })
    }

    /// Reads the Master's tables.
    ///
    /// # Errors
    /// The Master does not answer, or the answer broke off.
    pub async fn state(&mut self, extent: Extent) -> Result<MasterView, CallError> {
        let mut reader = StateReader::new(extent);
        while let Some(question) = reader.question() {
            let answer = self.inquiry.ask(&question).await;
            let page = match answer.map_err(|error| broken_off(reader.rows(), error))? {
                MasterToClient::MasterStateResponse(page) => page,
                MasterToClient::ApplicationResponse(_)
                | MasterToClient::KillApplicationResponse(_)
                | MasterToClient::DecommissionWorkersResponse(_)
                | MasterToClient::ReadyzResponse => return Err(self.other_answer()),
            };
            reader.read(page).map_err(|_| self.other_answer())?;
        }
        reader.finish().ok_or_else(|| self.other_answer())
    }

    /// Asks for one application by id or name, with all executors that the Master remembers.
    ///
    /// # Errors
    /// The Master does not answer, or the answer broke off.
    pub async fn application(&mut self, app: &str) -> Result<ApplicationAnswer, CallError> {
        let mut whole = match self.application_from(app, ExecutorId(0)).await? {
            ApplicationAnswer::Known(whole) => whole,
            answer @ (ApplicationAnswer::Unknown | ApplicationAnswer::Ambiguous { .. }) => return Ok(answer),
        };
        // Another application may get the same name.
        let id = whole.application.id.to_string();
        while let Some(from) = whole.next_executor.take() {
            let rows = whole.application.executors.len() as u64;
            let answer = self.application_from(&id, from).await;
            match answer.map_err(|error| broken_off(rows, error))? {
                ApplicationAnswer::Known(more) if more.next_executor.is_none_or(|next| next > from) => {
                    whole.application.executors.extend(more.application.executors);
                    whole.next_executor = more.next_executor;
                }
                ApplicationAnswer::Known(_) => return Err(self.other_answer()),
                // The Master has forgotten the application meanwhile.
                answer @ (ApplicationAnswer::Unknown | ApplicationAnswer::Ambiguous { .. }) => {
                    return Ok(answer);
                }
            }
        }
        Ok(ApplicationAnswer::Known(whole))
    }

    /// Asks for one application with one page of its executors, from that number on.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn application_from(
        &mut self,
        app: &str,
        executors_from: ExecutorId,
    ) -> Result<ApplicationAnswer, CallError> {
        let question = ClientToMaster::RequestApplication { app: app.to_owned(), executors_from };
        match self.inquiry.ask(&question).await? {
            MasterToClient::ApplicationResponse(answer) => Ok(answer),
            MasterToClient::MasterStateResponse(_)
            | MasterToClient::DecommissionWorkersResponse(_)
            | MasterToClient::KillApplicationResponse(_)
            | MasterToClient::ReadyzResponse => Err(self.other_answer()),
        }
    }

    /// Ends an application at the request of a user, `ann@host`.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn kill(&mut self, app: &str, by: &str) -> Result<KillAnswer, CallError> {
        let question = ClientToMaster::KillApplication { app: app.to_owned(), by: by.to_owned() };
        match self.inquiry.ask(&question).await? {
            MasterToClient::KillApplicationResponse(answer) => Ok(answer),
            MasterToClient::MasterStateResponse(_)
            | MasterToClient::ApplicationResponse(_)
            | MasterToClient::DecommissionWorkersResponse(_)
            | MasterToClient::ReadyzResponse => Err(self.other_answer()),
        }
    }

    /// Has Workers leave: that with this id, or all on this host. After `within` they end what still runs.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn decommission(
        &mut self,
        which: &str,
        within: Option<Duration>,
    ) -> Result<DecommissionAnswer, CallError> {
        let within_millis = within.map(|within| u64::try_from(within.as_millis()).unwrap_or(u64::MAX));
        let question = ClientToMaster::DecommissionWorkers { which: which.to_owned(), within_millis };
        match self.inquiry.ask(&question).await? {
            MasterToClient::DecommissionWorkersResponse(answer) => Ok(answer),
            MasterToClient::MasterStateResponse(_)
            | MasterToClient::ApplicationResponse(_)
            | MasterToClient::KillApplicationResponse(_)
            | MasterToClient::ReadyzResponse => Err(self.other_answer()),
        }
    }

    fn other_answer(&self) -> CallError {
        CallError::OtherAnswer { address: self.inquiry.address().clone() }
    }
}

/// The error of a page after this number of rows.
fn broken_off(rows: u64, error: CallError) -> CallError {
    match rows {
        0 => error,
        rows => CallError::Incomplete { rows, error: Box::new(error) },
    }
}
