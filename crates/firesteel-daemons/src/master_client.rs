//! A client of a Master: asks for its state or for one application, kills applications, and decommissions Workers.
//!
//! Long answers come in pages. All pages of an answer come over one connection, and so from one Master. An answer is
//! returned only if all of its pages have arrived. Requests go over a connection, or from within the Master's own
//! process.

use std::time::Duration;

use firesteel_host::net::{CallError, Inquiry, Introduction};
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::{DriverId, ExecutorId};
use firesteel_protocol::messages::{
    ApplicationAnswer, ClientToMaster, DecommissionAnswer, DriverDescription, DriverView, HistoryCursor,
    HistoryPage, KillAnswer, KillDriverAnswer, LogPiece, LogRange, MasterToClient, MasterView, PastRow,
    Requester, StateCursor, SubmitDriverAnswer,
};
use firesteel_protocol::state_reader::{Extent, StateReader};
use firesteel_protocol::time::millis;
use firesteel_protocol::wire::Role;

use crate::log_client::LogError;

/// What was asked for, or why the requester may not have it.
pub type Permitted<T> = Result<T, String>;

/// Carries requests to a Master, and the Master's answers back.
pub trait Carrier {
    type Error;

    /// Sends a request, and waits for its answer.
    ///
    /// # Errors
    /// The Master does not answer.
    fn ask(
        &mut self,
        question: ClientToMaster,
    ) -> impl Future<Output = Result<MasterToClient, Self::Error>> + Send;

    /// The error for an answer that belongs to another question.
    fn other_answer(&self) -> Self::Error;

    /// The error if a further page fails with `error`, after this number of rows was received.
    fn broken_off(rows: u64, error: Self::Error) -> Self::Error;
}

impl Carrier for Inquiry {
    type Error = CallError;

    async fn ask(&mut self, question: ClientToMaster) -> Result<MasterToClient, CallError> {
        Self::ask(self, &question).await
    }

    fn other_answer(&self) -> CallError {
        CallError::OtherAnswer { address: self.address().clone() }
    }

    fn broken_off(rows: u64, error: CallError) -> CallError {
        match rows {
            0 => error,
            rows => CallError::Incomplete { rows, error: Box::new(error) },
        }
    }
}

#[derive(Debug)]
pub struct MasterClient<C = Inquiry> {
    carrier: C,
}

impl MasterClient {
    /// Dials a Master as this client. A name is enough for a client outside of local clusters.
    ///
    /// # Errors
    /// The Master cannot be reached.
    pub async fn open(master: &Address, client: impl Into<Introduction>) -> Result<Self, CallError> {
        Ok(Self::over(Inquiry::open(master, Role::Master, client).await?))
    }
}

impl<C: Carrier> MasterClient<C> {
    /// A client that uses this carrier.
    pub fn over(carrier: C) -> Self {
        Self { carrier }
    }

    /// Sends any request.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn ask(&mut self, question: ClientToMaster) -> Result<MasterToClient, C::Error> {
        self.carrier.ask(question).await
    }

    pub async fn state(&mut self, extent: Extent) -> Result<MasterView, C::Error> {
        let mut reader = StateReader::new(extent);
        while let Some(question) = reader.question() {
            let answer = self.carrier.ask(question).await;
            let answer = answer.map_err(|error| C::broken_off(reader.rows(), error))?;
            let MasterToClient::MasterStateResponse(page) = answer else { return Err(self.other_answer()) };
            reader.read(page).map_err(|_| self.other_answer())?;
        }
        reader.finish().ok_or_else(|| self.other_answer())
    }

    /// The URL at which the Master serves its pages. `None`: the Master serves no pages.
    ///
    /// # Errors
    ///
    /// The Master does not answer.
    pub async fn web_address(&mut self) -> Result<Option<String>, C::Error> {
        let from = StateCursor::beginning();
        let answer = self.carrier.ask(ClientToMaster::RequestMasterState { from }).await?;
        let MasterToClient::MasterStateResponse(page) = answer else { return Err(self.other_answer()) };
        Ok(page.head.and_then(|head| head.web_address))
    }

    /// Asks for the history, ordered by the time of the end. Also returns the Master's current time.
    ///
    /// # Errors
    ///
    /// The Master does not answer, or the answer broke off.
    pub async fn history(&mut self) -> Result<(Timestamp, Vec<PastRow>), C::Error> {
        let mut latest = Timestamp::default();
        let question = |from: &HistoryCursor| ClientToMaster::RequestHistory { from: *from };
        let rows = self.pages(HistoryCursor::default(), question, |answer| match answer {
            MasterToClient::HistoryResponse(HistoryPage { now, rows, next }) => {
                latest = now;
                Some((rows, next))
            }
            _ => None,
        });
        let rows = rows.await?;
        Ok((latest, rows))
    }

    /// Asks for all pages of rows, beginning at this place. `page` takes the rows and the place of the next row out of
    /// an answer.
    async fn pages<T, P: Ord>(
        &mut self,
        first: P,
        question: impl Fn(&P) -> ClientToMaster,
        mut page: impl FnMut(MasterToClient) -> Option<(Vec<T>, Option<P>)>,
    ) -> Result<Vec<T>, C::Error> {
        let (mut all, mut from) = (Vec::new(), Some(first));
        while let Some(first) = from.take() {
            let answer = self.carrier.ask(question(&first)).await;
            let answer = answer.map_err(|error| C::broken_off(all.len() as u64, error))?;
            let (rows, next) = page(answer).ok_or_else(|| self.other_answer())?;
            all.extend(rows);
            from = next.filter(|next| *next > first);
        }
        Ok(all)
    }

    /// Asks for one application by id or name, with all executors that the Master still lists.
    ///
    /// # Errors
    /// The Master does not answer, or the answer broke off.
    pub async fn application(&mut self, app: &str) -> Result<ApplicationAnswer, C::Error> {
        let mut whole = match self.application_from(app, ExecutorId(0)).await? {
            ApplicationAnswer::Known(whole) => whole,
            answer @ (ApplicationAnswer::Unknown | ApplicationAnswer::Ambiguous { .. }) => return Ok(answer),
        };
        // Another application may get the same name.
        let id = whole.application.id.to_string();
        while let Some(from) = whole.next_executor.take() {
            let rows = whole.application.executors.len() as u64;
            let answer = self.application_from(&id, from).await;
            match answer.map_err(|error| C::broken_off(rows, error))? {
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

    /// Asks for one application with one page of its executors, beginning with this number.
    ///
    /// # Errors
    ///
    /// The Master does not answer.
    pub async fn application_from(
        &mut self,
        app: &str,
        executors_from: ExecutorId,
    ) -> Result<ApplicationAnswer, C::Error> {
        let question = ClientToMaster::RequestApplication { app: app.to_owned(), executors_from };
        let answer = self.carrier.ask(question).await?;
        let MasterToClient::ApplicationResponse(answer) = answer else { return Err(self.other_answer()) };
        Ok(answer)
    }

    /// Ends an application at the request of a user, such as `ann@host`.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn kill(&mut self, app: &str, by: &str) -> Result<Permitted<KillAnswer>, C::Error> {
        let question = ClientToMaster::KillApplication { app: app.to_owned(), by: by.into() };
        match self.carrier.ask(question).await? {
            MasterToClient::KillApplicationResponse(answer) => Ok(Ok(answer)),
            MasterToClient::RequestForbidden { why } => Ok(Err(why)),
            _ => Err(self.other_answer()),
        }
    }

    /// Reads a piece of a log for this requester. Positions include the header.
    ///
    /// # Errors
    /// The Master does not answer, or there is no such log for him.
    pub async fn log(&mut self, range: LogRange, by: Requester) -> Result<LogPiece, LogError<C::Error>> {
        match self.carrier.ask(ClientToMaster::RequestLog { range, by }).await.map_err(LogError::Call)? {
            MasterToClient::LogResponse(piece) => Ok(piece),
            MasterToClient::RequestLogFailed { why } => Err(LogError::None(why)),
            MasterToClient::RequestForbidden { why } => Err(LogError::Forbidden(why)),
            _ => Err(LogError::Call(self.other_answer())),
        }
    }

    /// Decommissions Workers at the request of a user: the Worker with this id, or all on this host. After `within`,
    /// the Workers end the executors and cluster drivers that still run.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn decommission(
        &mut self,
        which: &str,
        within: Option<Duration>,
        by: &str,
    ) -> Result<Permitted<DecommissionAnswer>, C::Error> {
        let (which, within_millis) = (which.to_owned(), within.map(millis));
        let question = ClientToMaster::DecommissionWorkers { which, within_millis, by: by.into() };
        match self.carrier.ask(question).await? {
            MasterToClient::DecommissionWorkersResponse(answer) => Ok(Ok(answer)),
            MasterToClient::RequestForbidden { why } => Ok(Err(why)),
            _ => Err(self.other_answer()),
        }
    }

    /// Submits a cluster driver. Returns its id, or why the Master refuses it.
    ///
    /// # Errors
    /// The Master does not answer. In this case the Master may have accepted the cluster driver.
    pub async fn submit_driver(
        &mut self,
        driver: DriverDescription,
    ) -> Result<Permitted<DriverId>, C::Error> {
        let question = ClientToMaster::RequestSubmitDriver(Box::new(driver));
        let answer = self.carrier.ask(question).await?;
        match answer {
            MasterToClient::SubmitDriverResponse(SubmitDriverAnswer::Submitted { driver }) => Ok(Ok(driver)),
            MasterToClient::SubmitDriverResponse(SubmitDriverAnswer::Refused(refusal)) => {
                Ok(Err(refusal.to_string()))
            }
            MasterToClient::RequestForbidden { why } => Ok(Err(why)),
            _ => Err(self.other_answer()),
        }
    }

    /// Ends a cluster driver at the request of a user, such as `ann@host`.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn kill_driver(
        &mut self,
        driver: &DriverId,
        by: &str,
    ) -> Result<Permitted<KillDriverAnswer>, C::Error> {
        let question = ClientToMaster::RequestKillDriver { driver: driver.clone(), by: by.into() };
        match self.carrier.ask(question).await? {
            MasterToClient::KillDriverResponse(answer) => Ok(Ok(answer)),
            MasterToClient::RequestForbidden { why } => Ok(Err(why)),
            _ => Err(self.other_answer()),
        }
    }

    /// Asks for one cluster driver. `None`: the Master has no such cluster driver.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn driver(&mut self, driver: &DriverId) -> Result<Option<DriverView>, C::Error> {
        let question = ClientToMaster::RequestDriverStatus { driver: driver.clone() };
        let answer = self.carrier.ask(question).await?;
        let MasterToClient::DriverStatusResponse(answer) = answer else { return Err(self.other_answer()) };
        Ok(answer.map(|view| *view))
    }

    fn other_answer(&self) -> C::Error {
        self.carrier.other_answer()
    }
}
