//! `firesteel map`: a command, once for each item of an input.
//!
//! ```text
//!  input (thread) --items--> run (task) --tasks--> driver (owner) --> executors
//!                              |  ^                    |  ^
//!                              |  `----- reports ------'  | credit
//!                              `--outputs--> spool (thread)  --ready--> printer (thread)
//! ```
//!
//! [`input`] cuts a source into items ([`preference`]: where they would like to be), [`template`] makes a task of each, [`mod@run`] keeps the driver supplied and
//! the count ([`summary`]) and what is left ([`leftovers`]), [`spool`] keeps outputs until it is their turn, [`printer`] prints them, [`outlet`]
//! is both threads together.

pub mod input;
pub mod items;
pub mod leftovers;
pub mod outlet;
pub mod preference;
pub mod printer;
pub mod run;
pub mod spool;
pub mod summary;
pub mod template;
pub mod wished_hosts;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use firesteel_core::ids::TaskId;
use firesteel_core::messages::TaskDirectory;
use firesteel_core::process::Command;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::beginning::{self, Ground};
use crate::cluster::Cluster;
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
use leftovers::{Leftovers, LeftoversError};
use outlet::{Outlet, OutletError};
use preference::Preference;
use printer::Sinks;
use run::{Ending, Run, Stake};
use spool::{Limits, Order};
use summary::{Summary, Tally};
use template::Template;
use wished_hosts::WishedHosts;

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
    Leftovers(#[from] LeftoversError),
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
    let open = |path: &PathBuf| Leftovers::open(path, &source, cut.separator, &preference);
    let mut leftovers = job.leftovers.as_ref().map(open).transpose()?;
    // A named pipe is open only when somebody writes to it.
    let opening = spawn_blocking(move || Input::open(source, cut, preference));
    let mut input = tokio::select! {
        input = opening => input.expect("opening an input does not panic")?,
        request = requests.next() => return Ok((Ending::Asked(request), nothing())),
    };
    tokio::select! {
        any = input.begin() => if !any? { return Ok((Ending::Completed, nothing())) },
        request = requests.next() => return Ok((Ending::Asked(request), nothing())),
    }
    let begun = beginning::begin(&job.cluster, &settings, progress, &mut requests).await;
    if let (Some(leftovers), Err(_) | Ok(ControlFlow::Break(_))) = (&mut leftovers, &begun) {
        leftovers.close(&mut input).await?;
    }
    let Ground { files, mut cluster, masters } = match begun? {
        ControlFlow::Continue(ground) => ground,
        ControlFlow::Break(request) => return Ok((Ending::Asked(request), nothing())),
    };
    let (settings, news) = (cluster.racked(settings), cluster.news());
    let application = Application { name: job.name.clone(), masters, settings, files };
    let done = drive(job, application, news, (input, leftovers), sinks, progress, requests).await;
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
    (input, leftovers): (Input, Option<Leftovers>),
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
    let started = driver_daemon::start(application, listen, requests).await;
    let (driver, reports) = started.map_err(beginning::StartError::from)?;
    driver.follow(news);
    let outlet =
        Outlet::start(TaskId::FIRST, job.order, job.limits, sinks, progress.clone(), driver.clone())?;
    let run = Run::new(input, template, driver, outlet, progress.clone(), Stake::Application);
    Ok(run.leaving(leftovers).looking_after(wished).finish(reports).await)
}

fn nothing() -> Summary {
    Tally::new().close(Duration::ZERO)
}

impl Ending {
    /// The exit code of a command that ended so, given what it amounted to.
    #[must_use]
    pub fn exit_code(&self, summary: &Summary) -> u8 {
        match self {
            Self::Completed if summary.failed == 0 => exit_code::DONE,
            Self::Completed | Self::BadInput | Self::OutputLost => exit_code::FAILURE,
            Self::Over(over) => over.exit_code(),
            Self::ReaderGone => exit_code::READER_GONE,
            Self::Asked(request) | Self::Abandoned(request) => request.exit_code(),
        }
    }
}
