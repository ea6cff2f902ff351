//! `firesteel map`: runs a command once for each item of an input.
//!
//! ```text
//!  input (thread) --items--> run (task) --tasks--> driver (owner) --> executors
//!                              |  ^                    |  ^
//!                              |  `----- reports ------'  | credit
//!                              `--outputs--> spool (thread)  --ready--> printer (thread)
//! ```
//!
//! [`input`] splits a source into items, [`preference`] finds the preferred hosts of each item, and [`template`] makes
//! a task of each item. [`mod@run`] performs the effects of the state machine (`firesteel_engine::map`) and prints its
//! remarks (`remarks`). [`run_record`] records the finished items in a file ([`record_file`]), and `undone` reads that
//! record. [`spool`] stores outputs until they can be printed, [`printer`] prints them, and [`outlet`] connects the two
//! threads. [`summary`] counts the results.

pub mod input;
pub mod items;
pub mod outlet;
pub mod preference;
pub mod printer;
pub mod record_file;
mod remarks;
pub mod run;
pub mod run_record;
pub mod spool;
pub mod summary;
pub mod template;
mod undone;
pub mod unknown_hosts;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use firesteel_engine::map::{Remark, Scope, Tally};
use firesteel_protocol::ids::TaskId;
use firesteel_protocol::messages::TaskDirectory;
use firesteel_protocol::process::Command;
use futures_util::future::LocalBoxFuture;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::cluster::Cluster;
use crate::detached::Announcement;
use crate::end_reason::EndReason;
use crate::startup::{self, Prepared};
use firesteel_daemons::cluster_event::ClusterEvent;
use firesteel_daemons::driver_daemon::{self, Application};
use firesteel_host::exit_code;
use firesteel_host::net::route::local_host_for;
use firesteel_host::progress::Progress;
use firesteel_host::signals::EndRequests;
use firesteel_settings::Properties;
use firesteel_settings::application::ApplicationSettings;
use firesteel_settings::listen::Listen;
use input::{Input, InputError, Source};
use items::{Cut, Unit};
use outlet::{Outlet, OutletError};
use preference::Preference;
use printer::Sinks;
use remarks::Leftovers;
use run::Run;
use run_record::{RecordError, RecordUse, RunRecord};
use spool::{OutputOrder, SpoolLimits};
use summary::Summary;
use template::Template;
use unknown_hosts::UnknownHosts;

pub use firesteel_engine::map::Ending;

#[derive(Clone, Debug)]
pub struct Job {
    pub source: Source,
    /// How the source is split into items.
    pub cut: Cut,
    /// The source of the items' preferred hosts.
    pub preference: Preference,
    /// Command for each item, with or without placeholders.
    pub command: Command,
    pub directory: TaskDirectory,
    pub order: OutputOrder,
    /// The file for the items that are not done at the end.
    pub leftovers: Option<PathBuf>,
    pub limits: SpoolLimits,
    pub name: String,
    pub cluster: Cluster,
    /// All properties. The `spark.driver.*` properties are used here.
    pub properties: Properties,
    /// The announcement of the application's name and id, for a detached run.
    pub announcement: Option<Announcement>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A file, the cluster or the driver failed.
    #[error(transparent)]
    Begin(#[from] startup::StartError),
    /// The input cannot be read, or its first item is invalid.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The file for the remaining items cannot be used.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The outputs cannot be stored or printed.
    #[error(transparent)]
    Outlet(#[from] OutletError),
}

/// Runs a job. An input without items starts nothing.
///
/// # Errors
/// The job could not start.
pub fn run(
    job: Job,
    sinks: Sinks,
    progress: &Progress,
) -> LocalBoxFuture<'_, Result<(Ending, Summary), StartError>> {
    // Boxed, so that this crate compiles the future, and not its caller's crate.
    Box::pin(run_job(job, sinks, progress))
}

async fn run_job(job: Job, sinks: Sinks, progress: &Progress) -> Result<(Ending, Summary), StartError> {
    let settings = ApplicationSettings::of(&job.properties).map_err(startup::StartError::from)?;
    let mut requests = startup::end_requests()?;
    let (source, cut, preference) = (job.source.clone(), job.cut, job.preference.clone());
    let open = |path: &PathBuf| RunRecord::open(path, &source, cut.separator);
    let mut record = job.leftovers.as_ref().map(open).transpose()?;
    let kept = record.as_ref().map_or(RecordUse::Nothing, RunRecord::kept);
    // Opening a named pipe waits for a writer.
    let opening = spawn_blocking(move || Input::open(source, cut, preference, kept));
    let mut input = tokio::select! {
        input = opening => input.expect("opening an input does not panic")?,
        request = requests.next() => return Ok(nothing(Ending::Asked(request))),
    };
    input.remark().into_iter().for_each(|remark| progress.remark(remark));
    let any = tokio::select! {
        any = input.begin() => any?,
        request = requests.next() => return Ok(nothing(Ending::Asked(request))),
    };
    record.as_mut().map(RunRecord::begin).transpose()?;
    if !any {
        leave_all(record, cut.unit, progress).await?;
        return Ok(nothing(Ending::Completed));
    }
    let begun = startup::prepare(&job.cluster, &settings, progress, &mut requests).await;
    if let Err(_) | Ok(ControlFlow::Break(_)) = &begun {
        leave_all(record.take(), cut.unit, progress).await?;
    }
    let Prepared { files, mut cluster, masters } = match begun? {
        ControlFlow::Continue(prepared) => prepared,
        ControlFlow::Break(request) => return Ok(nothing(Ending::Asked(request))),
    };
    let (settings, events) = (cluster.with_racks(settings), cluster.events());
    let keyring = cluster.keyring();
    let application = Application { name: job.name.clone(), masters, keyring, settings, files };
    let done = drive(job, application, events, (input, record), sinks, progress, requests).await;
    match done.as_ref().map(|(ending, _)| ending) {
        // A repeated request to end does not wait.
        Ok(Ending::Abandoned(_)) => {}
        _ => cluster.end().await,
    }
    done
}

async fn drive(
    job: Job,
    application: Application,
    events: Option<mpsc::Receiver<ClusterEvent>>,
    (input, record): (Input, Option<RunRecord>),
    sinks: Sinks,
    progress: &Progress,
    requests: EndRequests,
) -> Result<(Ending, Summary), StartError> {
    let listen = Listen::of(&job.properties, || local_host_for(&application.masters))
        .map_err(startup::StartError::from)?;
    let template = Template::new(job.command, job.directory, application.settings.task_needs());
    let unknown_hosts = match (job.preference, job.cluster) {
        (Preference::None, _) => UnknownHosts::none(),
        // An ApplicationMaster does not know the cluster's hosts.
        (Preference::Column { .. } | Preference::File(_), Cluster::Yarn(_)) => UnknownHosts::none(),
        (Preference::Column { .. } | Preference::File(_), Cluster::Running(..) | Cluster::Local(_)) => {
            UnknownHosts::ask(application.masters.clone(), application.keyring.clone())
        }
    };
    let started = driver_daemon::start(application, listen).await;
    let (driver, reports) = started.map_err(startup::StartError::from)?;
    driver.follow(events);
    let outlet =
        Outlet::start(TaskId::FIRST, job.order, job.limits, sinks, progress.clone(), driver.clone())?;
    let (work, driver) = ((input, template), (driver, reports));
    let run = Run::new(work, driver, outlet, progress.clone(), Scope::Application, requests);
    let run = run.with_record(record, job.cut.unit).with_host_check(unknown_hosts);
    Ok(run.with_announcement(job.announcement).finish().await)
}

/// Records all items as remaining, because none of them ran.
async fn leave_all(record: Option<RunRecord>, unit: Unit, progress: &Progress) -> Result<(), StartError> {
    let Some(record) = record else { return Ok(()) };
    let left = Leftovers { file: record.target().to_owned(), unit };
    let closed = spawn_blocking(move || record.close()).await;
    let items = closed.expect("writing the record does not panic")?;
    if items > 0 {
        progress.remark(remarks::words(&Remark::Left { items }, &left));
    }
    Ok(())
}

fn nothing(ending: Ending) -> (Ending, Summary) {
    let mut tally = Tally::default();
    tally.totals.unread = matches!(ending, Ending::Completed).then_some(0);
    let summary = Summary::of(&tally, &ending, Duration::ZERO);
    (ending, summary)
}

/// The exit code of the command, from the run's ending and its summary.
#[must_use]
pub fn exit_code(ending: &Ending, summary: &Summary) -> u8 {
    match ending {
        Ending::Completed if summary.failed == 0 => exit_code::DONE,
        Ending::Completed
        | Ending::BadInput { .. }
        | Ending::OutputLost { .. }
        | Ending::RecordLost { .. }
        | Ending::DriverLost => exit_code::FAILURE,
        Ending::Over(outcome) => {
            EndReason::of_driver(outcome.clone()).map_or(exit_code::FAILURE, |over| over.exit_code())
        }
        Ending::ReaderGone => exit_code::READER_GONE,
        Ending::Asked(request) | Ending::Abandoned(request) => request.exit_code(),
    }
}
