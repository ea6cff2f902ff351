//! Requests an application's report repeatedly, and shows the user what has changed.

use std::fmt;
use std::time::Duration;

use firesteel_protocol::address::Address;
use firesteel_yarn::YarnClient;
use firesteel_yarn::ipc::{CallError, Kind};
use firesteel_yarn::messages::application::{ApplicationReport, YarnApplicationState};
use firesteel_yarn::messages::records::ApplicationId;
use firesteel_yarn::messages::records::FinalApplicationStatus;
use tokio::time::sleep;

use super::states::{diagnostics, final_status, is_over, state};

/// Requests an application's report at intervals.
#[derive(Debug)]
pub struct Monitor {
    client: YarnClient,
    application: ApplicationId,
    /// The last state that was shown to the user, and the number of reports since then.
    told: Option<(YarnApplicationState, u64)>,
    reports_between: u64,
}

/// The last report about an application that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalReport {
    pub application: ApplicationId,
    pub state: YarnApplicationState,
    pub status: FinalApplicationStatus,
    /// The reason for the end, if the report contains one.
    pub diagnostics: Option<String>,
}

impl FinalReport {
    /// The end that a report contains. `None` if the application is not over.
    #[must_use]
    pub fn of(report: &ApplicationReport) -> Option<Self> {
        let state = report.yarn_application_state();
        is_over(state).then(|| Self {
            application: report.application_id.unwrap_or_default(),
            state,
            status: report.final_application_status(),
            diagnostics: diagnostics(report),
        })
    }

    #[must_use]
    pub fn is_success(&self) -> bool {
        self.state == YarnApplicationState::Finished && self.status == FinalApplicationStatus::Succeeded
    }

    #[must_use]
    pub fn is_killed(&self) -> bool {
        self.state == YarnApplicationState::Killed
    }
}

/// One line of text: `application_1_0007 is FAILED: no such queue`.
impl fmt::Display for FinalReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { application, state: how, status, diagnostics } = self;
        write!(f, "{application} is {}", state(*how))?;
        if *how == YarnApplicationState::Finished {
            write!(f, " and {}", final_status(*status))?;
        }
        match diagnostics {
            Some(words) => write!(f, ": {words}"),
            None => Ok(()),
        }
    }
}

impl Monitor {
    /// Makes a monitor for an application. An unchanged state is shown again after `reports_between` reports.
    #[must_use]
    pub fn new(client: YarnClient, application: ApplicationId, reports_between: u64) -> Self {
        Self { client, application, told: None, reports_between }
    }

    /// Waits for the interval and returns the next report. If YARN no longer has the application, it counts as killed.
    ///
    /// # Errors
    /// The ResourceManager cannot be reached within its client's retry limit, or sends an error.
    pub async fn next(&self, interval: Duration) -> Result<ApplicationReport, CallError> {
        sleep(interval).await;
        match self.client.report(self.application).await {
            Err(error) if error.kind() == Some(Kind::ApplicationNotFound) => Ok(ApplicationReport {
                application_id: Some(self.application),
                yarn_application_state: Some(YarnApplicationState::Killed.into()),
                final_application_status: Some(FinalApplicationStatus::Killed.into()),
                diagnostics: Some("the ResourceManager no longer knows it".to_owned()),
                ..ApplicationReport::default()
            }),
            answer => answer,
        }
    }

    /// The message for the user about a report. `None` if the same state was shown recently.
    pub fn remark(&mut self, report: &ApplicationReport) -> Option<String> {
        let found = report.yarn_application_state();
        let (remark, silent) = match self.told {
            Some((told, silent)) if told == found => (false, silent + 1),
            Some(_) | None => (true, 0),
        };
        let is_due = silent >= self.reports_between;
        self.told = Some((found, if is_due { 0 } else { silent }));
        let application = self.application;
        match (remark, is_due, master(report), diagnostics(report)) {
            (false, false, ..) => None,
            (true, _, Some(master), _) if found == YarnApplicationState::Running => {
                Some(format!("{application} is RUNNING, its ApplicationMaster at {master}"))
            }
            (true, _, _, None) | (_, true, _, None) => Some(format!("{application} is {}", state(found))),
            // At first YARN only reports that it looks for room.
            (true, ..) if found == YarnApplicationState::Accepted => {
                Some(format!("{application} is ACCEPTED, in queue {}", report.queue()))
            }
            (_, _, _, Some(words)) => Some(format!("{application} is {}: {words}", state(found))),
        }
    }
}

/// The address at which an ApplicationMaster listens for its driver. `None` if the ApplicationMaster has not registered
/// yet.
#[must_use]
pub fn master(report: &ApplicationReport) -> Option<Address> {
    let port = u16::try_from(report.rpc_port()).ok().filter(|port| *port > 0)?;
    let host = Some(report.host()).filter(|host| !host.is_empty() && *host != "N/A")?;
    (report.yarn_application_state() == YarnApplicationState::Running).then(|| Address::new(host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(state: YarnApplicationState) -> ApplicationReport {
        ApplicationReport {
            application_id: Some(ApplicationId::new(1, 7)),
            yarn_application_state: Some(state.into()),
            queue: Some("etl".to_owned()),
            host: Some("N/A".to_owned()),
            rpc_port: Some(-1),
            diagnostics: Some("[now]  waiting".to_owned()),
            ..ApplicationReport::default()
        }
    }

    fn monitor() -> Monitor {
        let retry = firesteel_yarn::ipc::Retry::default();
        let client = YarnClient::new(vec!["127.0.0.1:1".to_owned()], "ann", retry);
        Monitor::new(client, ApplicationId::new(1, 7), 2)
    }

    #[test]
    fn a_state_is_told_when_it_is_new_and_when_it_lasts() {
        let mut monitor = monitor();
        let accepted = report(YarnApplicationState::Accepted);
        assert_eq!(
            monitor.remark(&accepted).as_deref(),
            Some("application_1_0007 is ACCEPTED, in queue etl")
        );
        assert_eq!(monitor.remark(&accepted), None);
        assert_eq!(
            monitor.remark(&accepted).as_deref(),
            Some("application_1_0007 is ACCEPTED: [now] waiting")
        );
        assert_eq!(monitor.remark(&accepted), None);
        let running = ApplicationReport {
            host: Some("node-1".to_owned()),
            rpc_port: Some(4040),
            ..report(YarnApplicationState::Running)
        };
        assert_eq!(
            monitor.remark(&running).as_deref(),
            Some("application_1_0007 is RUNNING, its ApplicationMaster at node-1:4040")
        );
        assert_eq!(master(&running), Some(Address::new("node-1", 4040)));
        assert_eq!(master(&accepted), None);
    }

    #[test]
    fn an_end_is_told_with_its_reason() {
        assert_eq!(FinalReport::of(&report(YarnApplicationState::Running)), None);
        let failed = FinalReport::of(&report(YarnApplicationState::Failed)).expect("it is over");
        assert_eq!(failed.to_string(), "application_1_0007 is FAILED: [now] waiting");
        let finished = ApplicationReport {
            final_application_status: Some(FinalApplicationStatus::Succeeded.into()),
            diagnostics: None,
            ..report(YarnApplicationState::Finished)
        };
        let finished = FinalReport::of(&finished).expect("it is over");
        assert_eq!(finished.to_string(), "application_1_0007 is FINISHED and SUCCEEDED");
        assert!(finished.is_success() && !failed.is_success());
    }
}
