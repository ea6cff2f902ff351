//! Client mode: the application's driver runs in this process. The ApplicationMaster runs in a container, or as a task
//! of this process.
//!
//! ```text
//!  new id -> stage, submit -> ACCEPTED -> RUNNING at host:port -> the driver dials it
//!    |            |              |            |
//!    `------------+--------------+------------+-- ctrl-c, an error: killed, and staged files are deleted
//! ```
//!
//! While the application runs, a task asks the ResourceManager for its report. A restarted ApplicationMaster has a new
//! address, which this task reports to the driver. The task also reports the end of the application to the driver,
//! because no ApplicationMaster may be left to do so.

use std::ops::ControlFlow;
use std::time::Duration;

use firesteel_placement::advanced::locality::Topology;
use firesteel_protocol::address::Address;
use firesteel_protocol::messages::ApplicationEnd;
use firesteel_yarn::ipc::CallError;
use firesteel_yarn::messages::application::{ApplicationReport, YarnApplicationState};
use firesteel_yarn::messages::records::ApplicationId;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::application_master::{self, ApplicationMasterError, Attempt, Ended};
use super::blueprint::Blueprint;
use super::monitor::{FinalReport, Monitor, master};
use super::site::{AskError, RetryLimit, Site};
use super::submission::{NewApplication, Request, Staged, SubmitError, Submitted};
use firesteel_daemons::cluster_event::ClusterEvent;
use firesteel_daemons::files::OfferedFiles;
use firesteel_host::net::route::local_host_for;
use firesteel_host::progress::Progress;
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_settings::keys;
use firesteel_settings::yarn::Mode;

/// How long an ended ApplicationMaster may take to report its end to the ResourceManager.
const LAST_WORDS: Duration = Duration::from_secs(30);

/// The pause before the first request for the application's report; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Why an application does not run.
#[derive(Debug, thiserror::Error)]
pub enum YarnError {
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The application's report cannot be obtained from the ResourceManager.
    #[error("{application}: {error}")]
    Ask {
        application: ApplicationId,
        /// Why the request failed.
        error: AskError,
    },
    /// The application was over before it ran.
    #[error("{0}")]
    Ended(FinalReport),
    /// The ApplicationMaster has registered without an address.
    #[error("{0} runs, but its ApplicationMaster did not report its address")]
    Nowhere(ApplicationId),
    /// The ApplicationMaster of this process could not start.
    #[error("the ApplicationMaster: {0}")]
    Master(ApplicationMasterError),
    /// The ApplicationMaster of this process ended before the application ran.
    #[error("the ApplicationMaster ended: {0}")]
    MasterEnded(String),
}

#[derive(Debug)]
pub struct RunningApplication {
    site: Site,
    application: ApplicationId,
    master: Address,
    topology: Topology,
    events: Option<mpsc::Receiver<ClusterEvent>>,
    /// The interval between two requests for the application's report.
    interval: Duration,
    watching: JoinHandle<()>,
    staged: Staged,
}

impl RunningApplication {
    /// Submits an application and waits until its ApplicationMaster has registered.
    ///
    /// # Errors
    /// The application cannot be submitted, or is over before it runs.
    pub async fn start(
        request: &Request,
        files: &OfferedFiles,
        progress: &Progress,
        requests: &mut EndRequests,
    ) -> Result<ControlFlow<EndRequest, Self>, YarnError> {
        let created = tokio::select! {
            created = request.new_application() => created?,
            asked = requests.next() => return Ok(ControlFlow::Break(asked)),
        };
        let started = tokio::select! {
            started = Self::submit(request, &created, files, progress) => started,
            asked = requests.next() => {
                kill_unneeded(&request.site, created.application, requests).await;
                return Ok(ControlFlow::Break(asked));
            }
        };
        match started {
            Ok(started) => Ok(ControlFlow::Continue(started)),
            Err(error) => {
                // Kill the application in any state, because it has no driver.
                kill_unneeded(&request.site, created.application, requests).await;
                Err(error)
            }
        }
    }

    async fn submit(
        request: &Request,
        created: &NewApplication,
        files: &OfferedFiles,
        progress: &Progress,
    ) -> Result<Self, YarnError> {
        let Submitted { blueprint, topology, staged } = request.submit(created, files).await?;
        let (application, settings) = (created.application, &request.settings);
        progress.remark(format_args!("submitted {application} to YARN at {}", request.site.names()));
        let client = request.site.client(RetryLimit::Long).map_err(SubmitError::from)?;
        let mut monitor = Monitor::new(client, application, settings.reports_between);
        let mut own = None;
        let mut pause = FIRST_PAUSE.min(settings.launch_report);
        let master = loop {
            // A user is waiting: at first the report is requested more often than the setting says.
            let report = monitor.next(pause).await;
            pause = (pause * 2).min(settings.launch_report);
            let report = report.map_err(|error| asked(&request.site, application, error))?;
            if let Some(end) = FinalReport::of(&report) {
                return Err(YarnError::Ended(end));
            }
            if let Some(remark) = monitor.remark(&report) {
                progress.remark(remark);
            }
            if settings.mode == Mode::Unmanaged {
                own = Some(match own.take() {
                    Some(own) => if_running(own).await?,
                    None => match start_unmanaged(request, &blueprint, &report) {
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
        let (sender, events) = mpsc::channel(4);
        let interval = settings.report;
        let watching = Watch { monitor, interval, master: master.clone(), sender };
        let watching = tokio::spawn(watching.run(request.site.clone(), progress.clone()));
        let site = request.site.clone();
        Ok(Self { site, application, master, topology, events: Some(events), interval, watching, staged })
    }

    /// The address at which the ApplicationMaster waits for the driver.
    #[must_use]
    pub fn master(&self) -> &Address {
        &self.master
    }

    /// The racks of hosts.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The receiver of the events of the application. It can be taken only once.
    pub fn events(&mut self) -> Option<mpsc::Receiver<ClusterEvent>> {
        self.events.take()
    }

    /// Waits until the application is over. This follows from the driver's end. Kills the application if it does not
    /// end.
    pub async fn end(self) {
        self.watching.abort();
        if timeout(LAST_WORDS, self.over()).await.is_err() {
            kill(&self.site, self.application).await;
        }
        drop(self.staged);
    }

    /// Waits until the application is over, or its report can no longer be obtained.
    async fn over(&self) {
        let Ok(client) = self.site.client(RetryLimit::Short) else { return };
        let monitor = Monitor::new(client, self.application, u64::MAX);
        let mut pause = FIRST_PAUSE.min(self.interval);
        while let Ok(report) = monitor.next(pause).await {
            if FinalReport::of(&report).is_some() {
                return;
            }
            pause = (pause * 2).min(self.interval);
        }
    }
}

/// The task of the ApplicationMaster of this process.
type OwnMaster = JoinHandle<Result<Ended, ApplicationMasterError>>;

/// Starts the ApplicationMaster in this process, once the ResourceManager has issued its token.
fn start_unmanaged(
    request: &Request,
    blueprint: &Blueprint,
    report: &ApplicationReport,
) -> Option<OwnMaster> {
    let (token, id) = (report.am_rm_token.clone()?, report.current_application_attempt_id?);
    let set = [keys::DRIVER_BIND_ADDRESS, keys::DRIVER_HOST];
    let host = set.into_iter().find_map(|key| request.properties.get(key).cloned());
    let host = host.unwrap_or_else(|| local_host_for(&request.site.resource_managers));
    let attempt = Attempt::unmanaged(id, token, host);
    let blueprint = blueprint.clone();
    // The command itself handles requests to end.
    Some(tokio::spawn(application_master::run(blueprint, attempt, EndRequests::none())))
}

/// Returns the same task. An error if the task has already ended.
async fn if_running(own: OwnMaster) -> Result<OwnMaster, YarnError> {
    if !own.is_finished() {
        return Ok(own);
    }
    match own.await {
        Ok(Ok(ended)) => Err(YarnError::MasterEnded(ended.message)),
        Ok(Err(error)) => Err(YarnError::Master(error)),
        // The task has panicked and has logged this.
        Err(_) => Err(YarnError::MasterEnded("unexpectedly".to_owned())),
    }
}

fn asked(site: &Site, application: ApplicationId, error: CallError) -> YarnError {
    YarnError::Ask { application, error: site.explained(error) }
}

/// Kills an application that is no longer needed. Skips this if the user asks again to end at once.
pub(super) async fn kill_unneeded(site: &Site, application: ApplicationId, requests: &mut EndRequests) {
    tokio::select! {
        () = kill(site, application) => {}
        _ = requests.next() => {}
    }
}

/// Kills an application. An unknown application is not an error.
async fn kill(site: &Site, application: ApplicationId) {
    let Ok(client) = site.client(RetryLimit::Short) else { return };
    if let Err(error) = client.kill(application, "the submitter gave it up").await {
        tracing::debug!("cannot kill {application}: {error}");
    }
}

/// The task that watches a running application.
struct Watch {
    monitor: Monitor,
    interval: Duration,
    master: Address,
    sender: mpsc::Sender<ClusterEvent>,
}

impl Watch {
    async fn run(mut self, site: Site, progress: Progress) {
        loop {
            match self.monitor.next(self.interval).await {
                Ok(report) => {
                    if let Some(end) = FinalReport::of(&report) {
                        tracing::info!("{end}");
                        return self.tell(ClusterEvent::Over(over(&end))).await;
                    }
                    if let Some(moved) = master(&report).filter(|master| *master != self.master) {
                        progress.remark(format_args!("a new ApplicationMaster runs at {moved}"));
                        self.master = moved.clone();
                        self.tell(ClusterEvent::Moved(vec![moved])).await;
                    }
                }
                Err(error) => {
                    // The ApplicationMaster may still be alive; its own connection would show that.
                    progress.remark(site.explained(error));
                }
            }
        }
    }

    async fn tell(&self, event: ClusterEvent) {
        // A driver that has ended does not need the event.
        let _ = self.sender.send(event).await;
    }
}

/// The application's end, in the form in which a Master reports it.
fn over(end: &FinalReport) -> ApplicationEnd {
    match end.state {
        YarnApplicationState::Killed => ApplicationEnd::Killed { by: killer(end) },
        _ if end.is_success() => ApplicationEnd::Finished { outcome: None },
        _ => ApplicationEnd::GivenUp { reason: end.to_string() },
    }
}

/// The name of the killer, as far as YARN reports it.
fn killer(end: &FinalReport) -> String {
    match &end.diagnostics {
        Some(words) => format!("YARN ({words})"),
        None => "YARN".to_owned(),
    }
}
