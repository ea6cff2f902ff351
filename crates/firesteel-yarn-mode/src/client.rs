//! Client mode: an application whose driver is here, and whose ApplicationMaster is a container, or a part of this
//! process.
//!
//! ```text
//!  draft -> stage, submit -> ACCEPTED -> RUNNING at host:port -> the driver dials it
//!    |           |              |            |
//!    `-----------+--------------+------------+-- ctrl-c, an error: killed, and what was staged is taken away
//! ```
//!
//! While the application runs a task asks the ResourceManager how it stands. An ApplicationMaster that was started anew
//! is elsewhere, and the driver is told; of an application that is over nobody else may be left to tell.

use std::ops::ControlFlow;
use std::time::Duration;

use firesteel_core::address::Address;
use firesteel_core::messages::ApplicationEnd;
use firesteel_placement::locality::Topology;
use firesteel_yarn::ipc::CallError;
use firesteel_yarn::messages::application::{ApplicationReport, YarnApplicationState};
use firesteel_yarn::messages::records::ApplicationId;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::application_master::{self, ApplicationMasterError, Attempt, Ended};
use super::blueprint::Blueprint;
use super::monitor::{End, Monitor, master};
use super::site::{AskError, Patience, Site};
use super::submission::{Draft, Request, Staged, SubmitError, Submitted};
use firesteel_daemons::cluster_news::ClusterNews;
use firesteel_daemons::files::OfferedFiles;
use firesteel_host::net::route::facing;
use firesteel_host::progress::Progress;
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_settings::keys;
use firesteel_settings::yarn::Mode;

/// An ApplicationMaster that knows that it is over has so long to say so to its ResourceManager.
const LAST_WORDS: Duration = Duration::from_secs(30);

/// Before an application is asked after for the first time; the next pauses are twice as long each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Why an application does not run.
#[derive(Debug, thiserror::Error)]
pub enum YarnError {
    /// It was not submitted.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// Nobody says how it stands.
    #[error("{application}: {error}")]
    Ask {
        /// Which.
        application: ApplicationId,
        /// Why.
        error: AskError,
    },
    /// It was over before it ran.
    #[error("{0}")]
    Ended(End),
    /// Its ApplicationMaster is there, and says not where.
    #[error("{0} runs, but its ApplicationMaster did not report its address")]
    Nowhere(ApplicationId),
    /// The ApplicationMaster of this process could not start.
    #[error("the ApplicationMaster: {0}")]
    Master(ApplicationMasterError),
    /// The ApplicationMaster of this process ended before the application ran.
    #[error("the ApplicationMaster ended: {0}")]
    MasterEnded(String),
}

/// An application that runs.
#[derive(Debug)]
pub struct RunningApplication {
    site: Site,
    application: ApplicationId,
    master: Address,
    topology: Topology,
    news: Option<mpsc::Receiver<ClusterNews>>,
    /// How often it is asked after.
    interval: Duration,
    watching: JoinHandle<()>,
    staged: Staged,
}

impl RunningApplication {
    /// Submits an application and waits until its ApplicationMaster is there.
    ///
    /// # Errors
    /// It cannot be submitted, or it is over before it runs.
    pub async fn start(
        request: &Request,
        files: &OfferedFiles,
        progress: &Progress,
        requests: &mut EndRequests,
    ) -> Result<ControlFlow<EndRequest, Self>, YarnError> {
        let draft = tokio::select! {
            draft = request.draft() => draft?,
            asked = requests.next() => return Ok(ControlFlow::Break(asked)),
        };
        let started = tokio::select! {
            started = Self::submit(request, &draft, files, progress) => started,
            asked = requests.next() => {
                give_up(&request.site, draft.application, requests).await;
                return Ok(ControlFlow::Break(asked));
            }
        };
        match started {
            Ok(started) => Ok(ControlFlow::Continue(started)),
            Err(error) => {
                // Whatever became of it: nobody drives it.
                give_up(&request.site, draft.application, requests).await;
                Err(error)
            }
        }
    }

    async fn submit(
        request: &Request,
        draft: &Draft,
        files: &OfferedFiles,
        progress: &Progress,
    ) -> Result<Self, YarnError> {
        let Submitted { blueprint, topology, staged } = request.submit(draft, files).await?;
        let (application, settings) = (draft.application, &request.settings);
        progress.remark(format_args!("submitted {application} to YARN at {}", request.site.names()));
        let client = request.site.client(Patience::Long).map_err(SubmitError::from)?;
        let mut monitor = Monitor::new(client, application, settings.reports_between);
        let mut own = None;
        let mut pause = FIRST_PAUSE.min(settings.launch_report);
        let master = loop {
            // Somebody waits: at first it is asked more often than is set.
            let report = monitor.next(pause).await;
            pause = (pause * 2).min(settings.launch_report);
            let report = report.map_err(|error| asked(&request.site, application, error))?;
            if let Some(end) = End::of(&report) {
                return Err(YarnError::Ended(end));
            }
            if let Some(news) = monitor.news(&report) {
                progress.remark(news);
            }
            if settings.mode == Mode::Unmanaged {
                own = Some(match own.take() {
                    Some(own) => still_there(own).await?,
                    None => match begin_here(request, &blueprint, &report) {
                        Some(own) => own,
                        None => continue,
                    },
                });
            }
            match (report.yarn_application_state(), master(&report)) {
                (YarnApplicationState::Running, Some(master)) => break master,
                (YarnApplicationState::Running, None) => return Err(YarnError::Nowhere(application)),
                _ => {}
            }
        };
        let (sender, news) = mpsc::channel(4);
        let interval = settings.report;
        let watching = Watch { monitor, interval, master: master.clone(), sender };
        let watching = tokio::spawn(watching.run(request.site.clone(), progress.clone()));
        let site = request.site.clone();
        Ok(Self { site, application, master, topology, news: Some(news), interval, watching, staged })
    }

    /// Where its ApplicationMaster waits for its driver.
    #[must_use]
    pub fn master(&self) -> &Address {
        &self.master
    }

    /// Which host is in which rack.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// What there is to hear of it, once.
    pub fn news(&mut self) -> Option<mpsc::Receiver<ClusterNews>> {
        self.news.take()
    }

    /// Waits until it is over, which it is when its driver has gone; has it killed if it does not come to an end.
    pub async fn end(self) {
        self.watching.abort();
        if timeout(LAST_WORDS, self.over()).await.is_err() {
            kill(&self.site, self.application).await;
        }
        drop(self.staged);
    }

    /// Waits until it is over, or nobody says how it stands.
    async fn over(&self) {
        let Ok(client) = self.site.client(Patience::Short) else { return };
        let monitor = Monitor::new(client, self.application, u64::MAX);
        let mut pause = FIRST_PAUSE.min(self.interval);
        while let Ok(report) = monitor.next(pause).await {
            if End::of(&report).is_some() {
                return;
            }
            pause = (pause * 2).min(self.interval);
        }
    }
}

/// The ApplicationMaster of this process.
type OwnMaster = JoinHandle<Result<Ended, ApplicationMasterError>>;

/// Starts the ApplicationMaster in this process, once the ResourceManager has given its token.
fn begin_here(request: &Request, blueprint: &Blueprint, report: &ApplicationReport) -> Option<OwnMaster> {
    let (token, id) = (report.am_rm_token.clone()?, report.current_application_attempt_id?);
    let set = [keys::DRIVER_BIND_ADDRESS, keys::DRIVER_HOST];
    let host = set.into_iter().find_map(|key| request.properties.get(key).cloned());
    let host = host.unwrap_or_else(|| facing(&request.site.resource_managers));
    let attempt = Attempt::unmanaged(id, token, host);
    let blueprint = blueprint.clone();
    // The command itself hears who asks for the end.
    Some(tokio::spawn(application_master::run(blueprint, attempt, EndRequests::nobody())))
}

/// The same, unless it has ended.
async fn still_there(own: OwnMaster) -> Result<OwnMaster, YarnError> {
    if !own.is_finished() {
        return Ok(own);
    }
    match own.await {
        Ok(Ok(ended)) => Err(YarnError::MasterEnded(ended.message)),
        Ok(Err(error)) => Err(YarnError::Master(error)),
        // It has panicked, and has said so.
        Err(_) => Err(YarnError::MasterEnded("unexpectedly".to_owned())),
    }
}

fn asked(site: &Site, application: ApplicationId, error: CallError) -> YarnError {
    YarnError::Ask { application, error: site.explained(error) }
}

/// Has an application killed that nobody wants any more, unless somebody does not want to wait.
pub(super) async fn give_up(site: &Site, application: ApplicationId, requests: &mut EndRequests) {
    tokio::select! {
        () = kill(site, application) => {}
        _ = requests.next() => {}
    }
}

/// Has an application killed, whether or not it is known.
async fn kill(site: &Site, application: ApplicationId) {
    let Ok(client) = site.client(Patience::Short) else { return };
    if let Err(error) = client.kill(application, "the submitter gave it up").await {
        tracing::debug!("cannot kill {application}: {error}");
    }
}

/// Watches an application that runs.
struct Watch {
    monitor: Monitor,
    interval: Duration,
    /// Where its ApplicationMaster is.
    master: Address,
    sender: mpsc::Sender<ClusterNews>,
}

impl Watch {
    async fn run(mut self, site: Site, progress: Progress) {
        loop {
            match self.monitor.next(self.interval).await {
                Ok(report) => {
                    if let Some(end) = End::of(&report) {
                        tracing::info!("{end}");
                        return self.tell(ClusterNews::Over(over(&end))).await;
                    }
                    if let Some(moved) = master(&report).filter(|master| *master != self.master) {
                        progress.remark(format_args!("a new ApplicationMaster runs at {moved}"));
                        self.master = moved.clone();
                        self.tell(ClusterNews::Moved(vec![moved])).await;
                    }
                }
                Err(error) => {
                    // The ApplicationMaster may well be there; whether it is shows.
                    progress.remark(site.explained(error));
                }
            }
        }
    }

    async fn tell(&self, news: ClusterNews) {
        // A driver that is done does not want to know.
        let _ = self.sender.send(news).await;
    }
}

/// The end of an application in the words of a Master's.
fn over(end: &End) -> ApplicationEnd {
    match end.state {
        YarnApplicationState::Killed => ApplicationEnd::Killed { by: killer(end) },
        _ if end.is_success() => ApplicationEnd::Finished,
        _ => ApplicationEnd::GivenUp { reason: end.to_string() },
    }
}

/// Who killed it, as far as YARN says so.
fn killer(end: &End) -> String {
    match &end.diagnostics {
        Some(words) => format!("YARN ({words})"),
        None => "YARN".to_owned(),
    }
}
