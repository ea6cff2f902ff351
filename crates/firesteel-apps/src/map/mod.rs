//! `firesteel map`: a command, once for each item of an input.
//!
//! ```text
//!  input (thread) --items--> run (task) --tasks--> driver (owner) --> executors
//!                              |  ^                    |  ^
//!                              |  `----- reports ------'  | credit
//!                              `--outputs--> spool (thread)  --ready--> printer (thread)
//! ```
//!
//! [`input`] cuts a source into items ([`preference`]: where they would like to be), [`template`] makes a task of each,
//! [`mod@run`] performs what the state machine decides (`firesteel_core::map`) and words what it remarks (`remarks`),
//! [`record`] keeps account of what is done (`undone` reads it), [`spool`] keeps outputs until it is their turn,
//! [`printer`] prints them, [`outlet`] is both threads together, and [`summary`] is what it amounted to.

pub mod input;
pub mod items;
pub mod outlet;
pub mod preference;
pub mod printer;
pub mod record;
mod remarks;
pub mod run;
pub mod spool;
pub mod summary;
pub mod template;
mod undone;
pub mod wished_hosts;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use firesteel_core::ids::TaskId;
use firesteel_core::map::{Remark, Scope, Tally};
use firesteel_core::messages::TaskDirectory;
use firesteel_core::process::Command;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::beginning::{self, Ground};
use crate::cluster::Cluster;
use crate::over::Over;
use firesteel_daemons::cluster_news::ClusterNews;
use firesteel_daemons::driver_daemon::{self, Application};
use firesteel_host::exit_code;
use firesteel_host::net::route::facing;
use firesteel_host::progress::Progress;
use firesteel_host::signals::EndRequests;
use firesteel_settings::Properties;
use firesteel_settings::application::ApplicationSettings;
use firesteel_settings::listen::Listen;
use input::{Input, InputError, Source};
use items::Cut;
use outlet::{Outlet, OutletError};
use preference::Preference;
use printer::Sinks;
use record::{Record, RecordError};
use run::Run;
use spool::{Limits, Order};
use summary::Summary;
use template::Template;
use wished_hosts::WishedHosts;

pub use firesteel_core::map::Ending;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where the items come from.
    pub source: Source,
    /// How they are cut.
    pub cut: Cut,
    /// Where items would like to be.
    pub preference: Preference,
    /// The command, with or without holes.
    pub command: Command,
    /// Where it runs.
    pub directory: TaskDirectory,
    /// In which order outputs are printed.
    pub order: Order,
    /// The file that gets the items that are left.
    pub leftovers: Option<PathBuf>,
    /// Where outputs are kept.
    pub limits: Limits,
    /// The application's name.
    pub name: String,
    /// Where it runs.
    pub cluster: Cluster,
    /// Everything else: `spark.driver.*` are read here.
    pub properties: Properties,
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It could not begin.
    #[error(transparent)]
    Begin(#[from] beginning::StartError),
    /// The input cannot be read, or its first item is none.
    #[error(transparent)]
    Input(#[from] InputError),
    /// There is no file for the items that are left.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Nothing can be printed.
    #[error(transparent)]
    Outlet(#[from] OutletError),
}

/// Does a job. Nothing is started for an input without items.
///
/// # Errors
/// It could not begin.
pub async fn run(job: Job, sinks: Sinks, progress: &Progress) -> Result<(Ending, Summary), StartError> {
    let settings = ApplicationSettings::of(&job.properties).map_err(beginning::StartError::from)?;
    let mut requests = beginning::end_requests()?;
    let (source, cut, preference) = (job.source.clone(), job.cut, job.preference.clone());
    let open = |path: &PathBuf| Record::open(path, &source, cut.separator);
    let mut record = job.leftovers.as_ref().map(open).transpose()?;
    let copy = record.as_ref().and_then(Record::copy);
    // A named pipe is open only when somebody writes to it.
    let opening = spawn_blocking(move || Input::open(source, cut, preference, copy));
    let mut input = tokio::select! {
        input = opening => input.expect("opening an input does not panic")?,
        request = requests.next() => return Ok(nothing(Ending::Asked(request))),
    };
    input.remark().into_iter().for_each(|remark| progress.remark(remark));
    let any = tokio::select! {
        any = input.begin() => any?,
        request = requests.next() => return Ok(nothing(Ending::Asked(request))),
    };
    record.as_mut().map(Record::begin).transpose()?;
    if !any {
        leave_all(record, progress).await?;
        return Ok(nothing(Ending::Completed));
    }
    let begun = beginning::begin(&job.cluster, &settings, progress, &mut requests).await;
    if let Err(_) | Ok(ControlFlow::Break(_)) = &begun {
        leave_all(record.take(), progress).await?;
    }
    let Ground { files, mut cluster, masters } = match begun? {
        ControlFlow::Continue(ground) => ground,
        ControlFlow::Break(request) => return Ok(nothing(Ending::Asked(request))),
    };
    let (settings, news) = (cluster.racked(settings), cluster.news());
    let application = Application { name: job.name.clone(), masters, settings, files };
    let done = drive(job, application, news, (input, record), sinks, progress, requests).await;
    match done.as_ref().map(|(ending, _)| ending) {
        // Whoever asked twice does not wait.
        Ok(Ending::Abandoned(_)) => {}
        _ => cluster.end().await,
    }
    done
}

async fn drive(
    job: Job,
    application: Application,
    news: Option<mpsc::Receiver<ClusterNews>>,
    (input, record): (Input, Option<Record>),
    sinks: Sinks,
    progress: &Progress,
    requests: EndRequests,
) -> Result<(Ending, Summary), StartError> {
    let listen =
        Listen::of(&job.properties, || facing(&application.masters)).map_err(beginning::StartError::from)?;
    let template = Template::new(job.command, job.directory, application.settings.task_needs());
    let wished = match (job.preference, job.cluster) {
        (Preference::None, _) => WishedHosts::none(),
        // An ApplicationMaster does not know the cluster's hosts.
        (Preference::Column { .. } | Preference::File(_), Cluster::Yarn(_)) => WishedHosts::none(),
        (Preference::Column { .. } | Preference::File(_), Cluster::Running(_) | Cluster::Local(_)) => {
            WishedHosts::ask(application.masters.clone())
        }
    };
    let started = driver_daemon::start(application, listen).await;
    let (driver, reports) = started.map_err(beginning::StartError::from)?;
    driver.follow(news);
    let outlet =
        Outlet::start(TaskId::FIRST, job.order, job.limits, sinks, progress.clone(), driver.clone())?;
    let (work, driver) = ((input, template), (driver, reports));
    let run = Run::new(work, driver, outlet, progress.clone(), Scope::Application, requests);
    Ok(run.leaving(record).looking_after(wished).finish().await)
}

/// Of an input of which nothing was run, everything is left.
async fn leave_all(record: Option<Record>, progress: &Progress) -> Result<(), StartError> {
    let Some(record) = record else { return Ok(()) };
    let left = record.target().to_owned();
    let closed = spawn_blocking(move || record.close()).await;
    let items = closed.expect("writing what is left does not panic")?;
    if items > 0 {
        progress.remark(remarks::words(&Remark::Left { items }, &left));
    }
    Ok(())
}

/// A run that has not begun ended so.
fn nothing(ending: Ending) -> (Ending, Summary) {
    let summary = Summary::of(&Tally::default(), &ending, Duration::ZERO);
    (ending, summary)
}

/// The exit code of a command whose run ended so, given what it amounted to.
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
            Over::of_driver(outcome.clone()).map_or(exit_code::FAILURE, |over| over.exit_code())
        }
        Ending::ReaderGone => exit_code::READER_GONE,
        Ending::Asked(request) | Ending::Abandoned(request) => request.exit_code(),
    }
}
