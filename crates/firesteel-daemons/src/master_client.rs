//! A client of a Master: asks for its state or for one application, kills applications, and decommissions Workers.
//!
//! Long answers come in pages. All pages come over one connection, and so from one Master. An answer is returned only if
//! all its pages came.

use std::collections::BTreeMap;
use std::time::Duration;

use firesteel_core::Timestamp;
use firesteel_core::address::Address;
use firesteel_core::ids::{AppId, DriverId, ExecutorId, WorkerId};
use firesteel_core::messages::{
    ApplicationAnswer, ClientToMaster, DecommissionAnswer, DriverDescription, DriverShare, DriverView,
    HistoryPage, HistoryPlace, KillAnswer, KillDriverAnswer, MasterToClient, MasterView, PastRow,
    ReservedRoom, SubmitDriverAnswer, WorkerNews, WorkerRemark,
};
use firesteel_core::scheduling::SchedulingSettings;
use firesteel_core::state_reader::{Extent, StateReader};
use firesteel_core::time::millis;
use firesteel_core::wire::Role;
use firesteel_host::net::{CallError, Inquiry, Introduction};
use firesteel_placement::ResourceAmounts;

/// A connection to a Master.
#[derive(Debug)]
pub struct MasterClient {
    inquiry: Inquiry,
}

impl MasterClient {
    /// Dials a Master as this client; a name is enough for one outside of a local cluster.
    ///
    /// # Errors
    /// The Master cannot be reached.
    pub async fn open(master: &Address, client: impl Into<Introduction>) -> Result<Self, CallError> {
        Ok(Self { inquiry: Inquiry::open(master, Role::Master, client).await? })
    }

    /// Reads the Master's tables.
    ///
    /// # Errors
    /// The Master does not answer, or the answer broke off.
    pub async fn state(&mut self, extent: Extent) -> Result<MasterView, CallError> {
        let mut reader = StateReader::new(extent);
        while let Some(question) = reader.question() {
            let answer = self.inquiry.ask(&question).await;
            let answer = answer.map_err(|error| broken_off(reader.rows(), error))?;
            let MasterToClient::MasterStateResponse(page) = answer else { return Err(self.other_answer()) };
            reader.read(page).map_err(|_| self.other_answer())?;
        }
        let mut state = reader.finish().ok_or_else(|| self.other_answer())?;
        state.hear(self.reports().await?);
        state.driver_resources = self.driver_resources().await?;
        state.rule = self.placement_rule().await?;
        state.scheduling = self.scheduling_settings().await?;
        Ok(state)
    }

    /// Asks for the custom resources of the cluster drivers that need any. An older Master does not know.
    ///
    /// # Errors
    /// The Master does not answer, or the answer broke off.
    pub async fn driver_resources(&mut self) -> Result<BTreeMap<DriverId, DriverShare>, CallError> {
        let question = |from: &u64| ClientToMaster::RequestDriverResources { from: *from };
        let shares = self.pages(0, question, |answer| match answer {
            MasterToClient::DriverResourcesResponse(page) => Some((page.drivers, page.next)),
            _ => None,
        });
        let shares = unless_older(shares.await)?;
        Ok(shares.into_iter().map(|share| (share.driver.clone(), share)).collect())
    }

    /// Asks for what living Workers reported of themselves last. An older Master does not know.
    async fn reports(&mut self) -> Result<Vec<WorkerNews>, CallError> {
        let question = |from: &WorkerId| ClientToMaster::RequestWorkerReports { from: from.clone() };
        let reports = self.pages(WorkerId::new(""), question, |answer| match answer {
            MasterToClient::WorkerReportsResponse(page) => Some((page.workers, page.next)),
            _ => None,
        });
        unless_older(reports.await)
    }

    /// Asks for what there is to say of Workers besides their states. An older Master does not know.
    ///
    /// # Errors
    /// The Master does not answer, or the answer broke off.
    pub async fn remarks(&mut self) -> Result<BTreeMap<WorkerId, WorkerRemark>, CallError> {
        let news = self.reports().await?.into_iter();
        Ok(news.filter_map(|news| Some((news.worker, news.remark?))).collect())
    }

    /// The URL at which the Master serves its pages, if the first of its Workers that say something know it.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn web_address(&mut self) -> Result<Option<String>, CallError> {
        let from = WorkerId::new("");
        let answer = self.inquiry.ask(&ClientToMaster::RequestWorkerReports { from }).await?;
        let MasterToClient::WorkerReportsResponse(page) = answer else { return Err(self.other_answer()) };
        Ok(page.workers.into_iter().find_map(|news| news.report?.report.master_web_address))
    }

    /// Asks for all that has ended and that the Master remembers, in the order of the ends, with the Master's time.
    ///
    /// # Errors
    /// The Master does not answer, is too old to know, or the answer broke off.
    pub async fn history(&mut self) -> Result<(Timestamp, Vec<PastRow>), CallError> {
        let mut latest = Timestamp::default();
        let question = |from: &HistoryPlace| ClientToMaster::RequestHistory { from: *from };
        let rows = self.pages(HistoryPlace::default(), question, |answer| match answer {
            MasterToClient::HistoryResponse(HistoryPage { now, rows, next }) => {
                latest = now;
                Some((rows, next))
            }
            _ => None,
        });
        let rows = rows.await?;
        Ok((latest, rows))
    }

    /// Asks for all pages of rows, the first of which begins at this place. `page` takes the rows out of an answer, and the place
    /// of the next one.
    async fn pages<T, P: Ord>(
        &mut self,
        first: P,
        question: impl Fn(&P) -> ClientToMaster,
        mut page: impl FnMut(MasterToClient) -> Option<(Vec<T>, Option<P>)>,
    ) -> Result<Vec<T>, CallError> {
        let (mut all, mut from) = (Vec::new(), Some(first));
        while let Some(first) = from.take() {
            let answer = self.inquiry.ask(&question(&first)).await;
            let answer = answer.map_err(|error| broken_off(all.len() as u64, error))?;
            let (rows, next) = page(answer).ok_or_else(|| self.other_answer())?;
            all.extend(rows);
            from = next.filter(|next| *next > first);
        }
        Ok(all)
    }

    /// Asks for the rule by which the Master chooses Workers for applications that name no policy, as
    /// `firesteel.placement.policy` has it. `None`: the Master is too old to have any but a policy.
    async fn placement_rule(&mut self) -> Result<Option<String>, CallError> {
        let answer = self.inquiry.ask(&ClientToMaster::RequestPlacementRule).await;
        unless_older(answer.and_then(|answer| match answer {
            MasterToClient::PlacementRuleResponse { rule } => Ok(Some(rule)),
            _ => Err(self.other_answer()),
        }))
    }

    /// Asks for the settings of the scheduler that are not in the state. An older Master has the defaults.
    async fn scheduling_settings(&mut self) -> Result<SchedulingSettings, CallError> {
        let answer = self.inquiry.ask(&ClientToMaster::RequestSchedulingSettings).await;
        unless_older(answer.and_then(|answer| match answer {
            MasterToClient::SchedulingSettingsResponse(settings) => Ok(settings),
            _ => Err(self.other_answer()),
        }))
    }

    /// Asks how long live applications say that they run. An older Master ignores what they say.
    ///
    /// # Errors
    /// The Master does not answer, or the answer broke off.
    pub async fn run_times(&mut self) -> Result<BTreeMap<AppId, Duration>, CallError> {
        let question = |from: &u64| ClientToMaster::RequestRunTimes { from: *from };
        let times = self.pages(0, question, |answer| match answer {
            MasterToClient::RunTimesResponse(page) => Some((page.times, page.next)),
            _ => None,
        });
        let times = unless_older(times.await)?;
        Ok(times.into_iter().map(|time| (time.app, time.run_time)).collect())
    }

    /// Asks for which applications room is reserved, and when they are expected to start. An older Master does not say.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn reservations(&mut self) -> Result<Vec<ReservedRoom>, CallError> {
        let answer = self.inquiry.ask(&ClientToMaster::RequestReservations).await;
        unless_older(answer.and_then(|answer| match answer {
            MasterToClient::ReservationsResponse(rooms) => Ok(rooms),
            _ => Err(self.other_answer()),
        }))
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
        let answer = self.inquiry.ask(&question).await?;
        let MasterToClient::ApplicationResponse(answer) = answer else { return Err(self.other_answer()) };
        Ok(answer)
    }

    /// Ends an application at the request of a user, `ann@host`.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn kill(&mut self, app: &str, by: &str) -> Result<KillAnswer, CallError> {
        let question = ClientToMaster::KillApplication { app: app.to_owned(), by: by.to_owned() };
        let answer = self.inquiry.ask(&question).await?;
        let MasterToClient::KillApplicationResponse(answer) = answer else { return Err(self.other_answer()) };
        Ok(answer)
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
        let (which, within_millis) = (which.to_owned(), within.map(millis));
        let question = ClientToMaster::DecommissionWorkers { which, within_millis };
        let answer = self.inquiry.ask(&question).await?;
        let MasterToClient::DecommissionWorkersResponse(answer) = answer else {
            return Err(self.other_answer());
        };
        Ok(answer)
    }

    /// Submits a cluster driver that needs these custom resources. Returns its id, or why the Master refuses it.
    ///
    /// # Errors
    /// The Master does not answer, and may have taken the cluster driver all the same; or it is too old for custom resources of
    /// cluster drivers.
    pub async fn submit_driver(
        &mut self,
        driver: DriverDescription,
        resources: ResourceAmounts,
    ) -> Result<Result<DriverId, String>, CallError> {
        let question = ClientToMaster::submit_driver(driver, resources);
        let answer = self.inquiry.ask(&question).await?;
        Ok(match answer {
            MasterToClient::SubmitDriverResponse(SubmitDriverAnswer::Submitted { driver }) => Ok(driver),
            MasterToClient::SubmitDriverResponse(SubmitDriverAnswer::Refused(refusal)) => {
                Err(refusal.to_string())
            }
            MasterToClient::DriverResourcesRefused { why } => Err(why),
            _ => return Err(self.other_answer()),
        })
    }

    /// Ends a cluster driver at the request of a user, `ann@host`.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn kill_driver(&mut self, driver: &DriverId, by: &str) -> Result<KillDriverAnswer, CallError> {
        let question = ClientToMaster::RequestKillDriver { driver: driver.clone(), by: by.to_owned() };
        let answer = self.inquiry.ask(&question).await?;
        let MasterToClient::KillDriverResponse(answer) = answer else { return Err(self.other_answer()) };
        Ok(answer)
    }

    /// Asks for one cluster driver. `None`: the Master does not know it.
    ///
    /// # Errors
    /// The Master does not answer.
    pub async fn driver(&mut self, driver: &DriverId) -> Result<Option<DriverView>, CallError> {
        let question = ClientToMaster::RequestDriverStatus { driver: driver.clone() };
        let answer = self.inquiry.ask(&question).await?;
        let MasterToClient::DriverStatusResponse(answer) = answer else { return Err(self.other_answer()) };
        Ok(answer.map(|view| *view))
    }

    fn other_answer(&self) -> CallError {
        CallError::OtherAnswer { address: self.inquiry.address().clone() }
    }
}

/// Nothing, if the Master is too old to know.
fn unless_older<T: Default>(answer: Result<T, CallError>) -> Result<T, CallError> {
    match answer {
        Err(CallError::Older { .. }) => Ok(T::default()),
        answer => answer,
    }
}

/// The error of a page after this number of rows.
fn broken_off(rows: u64, error: CallError) -> CallError {
    match rows {
        0 => error,
        rows => CallError::Incomplete { rows, error: Box::new(error) },
    }
}
