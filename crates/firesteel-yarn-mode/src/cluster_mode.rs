//! Cluster mode: the application's driver runs in the same container as its ApplicationMaster. The submitting command
//! only watches the application.

use firesteel_yarn::messages::records::ApplicationId;

use super::client::{YarnError, kill_unneeded};
use super::monitor::{FinalReport, Monitor};
use super::site::RetryLimit;
use super::staging::is_remote;
use super::submission::{NewApplication, Request, SubmitError};
use firesteel_daemons::files::{OfferError, OfferedFiles};
use firesteel_host::exit_code;
use firesteel_host::progress::Progress;
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_settings::yarn::SubmitWaits;

/// How the submitting command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The application was submitted, and the command does not wait for it.
    Submitted(ApplicationId),
    Over(FinalReport),
    /// The command was asked to end. A submitted application continues.
    Asked(EndRequest),
}

impl Ending {
    /// The exit code of a command that ended in this way.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Submitted(_) => exit_code::DONE,
            Self::Over(end) if end.is_success() => exit_code::DONE,
            Self::Over(end) if end.is_killed() => EndRequest::Terminate.exit_code(),
            Self::Over(_) => exit_code::FAILURE,
            Self::Asked(request) => request.exit_code(),
        }
    }
}

/// Why an application was not submitted, or can no longer be watched.
#[derive(Debug, thiserror::Error)]
pub enum ClusterModeError {
    /// A file of the application cannot be read.
    #[error(transparent)]
    Files(#[from] OfferError),
    /// YARN refused the application, or no longer answers.
    #[error(transparent)]
    Yarn(#[from] YarnError),
}

/// Submits an application. Watches it until it is over, unless the settings switch this off.
///
/// # Errors
/// A file of the application cannot be read, or the application cannot be submitted.
pub async fn run(
    request: &Request,
    (files, archives): (&[String], &[String]),
    progress: &Progress,
    mut requests: EndRequests,
) -> Result<Ending, ClusterModeError> {
    let here =
        |words: &[String]| -> Vec<String> { words.iter().filter(|word| !is_remote(word)).cloned().collect() };
    let (files, archives) = (here(files), here(archives));
    let files = tokio::select! {
        files = OfferedFiles::open(&files, &archives) => files?,
        asked = requests.next() => return Ok(Ending::Asked(asked)),
    };
    Ok(submit_and_watch(request, &files, progress, &mut requests).await?)
}

async fn submit_and_watch(
    request: &Request,
    files: &OfferedFiles,
    progress: &Progress,
    requests: &mut EndRequests,
) -> Result<Ending, YarnError> {
    let created = tokio::select! {
        created = request.new_application() => created?,
        asked = requests.next() => return Ok(Ending::Asked(asked)),
    };
    let submitted = tokio::select! {
        submitted = request.submit(&created, files) => submitted,
        asked = requests.next() => {
            kill_unneeded(&request.site, created.application, requests).await;
            return Ok(Ending::Asked(asked));
        }
    };
    let staged = submitted?.staged;
    // If the command stops watching, the ApplicationMaster deletes the staged files.
    let application = created.application;
    progress.remark(format_args!("submitted {application} to YARN at {}", request.site.names()));
    let watched = tokio::select! {
        watched = watch(request, &created, progress) => watched,
        asked = requests.next() => {
            progress.remark(format_args!("{application} keeps running: firesteel yarn kill {application} ends it"));
            Ok(Ending::Asked(asked))
        }
    };
    match &watched {
        Ok(Ending::Over(_)) => drop(staged),
        Ok(Ending::Submitted(_) | Ending::Asked(_)) | Err(_) => staged.leave(),
    }
    watched
}

async fn watch(
    request: &Request,
    created: &NewApplication,
    progress: &Progress,
) -> Result<Ending, YarnError> {
    let (application, settings) = (created.application, &request.settings);
    let client = request.site.client(RetryLimit::Long).map_err(SubmitError::from)?;
    let mut monitor = Monitor::new(client, application, settings.reports_between);
    loop {
        let report = monitor.next(settings.report).await;
        let report =
            report.map_err(|error| YarnError::Ask { application, error: request.site.explained(error) })?;
        if let Some(end) = FinalReport::of(&report) {
            if end.is_success() {
                progress.remark(&end);
            } else {
                progress.error(&end);
            }
            return Ok(Ending::Over(end));
        }
        if let Some(remark) = monitor.remark(&report) {
            progress.remark(remark);
        }
        if settings.submit_waits == SubmitWaits::ForSubmission {
            return Ok(Ending::Submitted(application));
        }
    }
}
