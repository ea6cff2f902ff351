//! `firesteel shell`: an application that is held while a person, or a script, says what to run on it.
//!
//! ```text
//!  reader (thread) --lines--> session (task) --tasks--> driver (owner) --> executors
//!                               |  |  ^                    |   ^
//!                               |  |  `---- reports -------'   | credit
//!                               |  `--output in hand--> console (thread)
//!                               `--in the background--> keeper (thread) --> files
//! ```
//!
//! The [`session`] owns the driver's handle and its reports ([`reports`]), serves one request at a time, and has an
//! [`end`]. [`words`] cuts a line, [`grammar`] makes a [`request`] of its [`arguments`], [`commands`] says what there
//! is. [`serve`] does it, with [`run`](mod@run), [`map`], [`executors`] and [`script`]; [`tasks`] remembers what was
//! run, [`answers`] words what was found; [`reader`] and [`complete`] are the prompt, [`console`] and [`keeper`] the
//! ways of output.

pub mod answers;
pub mod arguments;
pub mod commands;
pub mod complete;
pub mod console;
pub mod end;
pub mod executors;
pub mod grammar;
pub mod keeper;
pub mod map;
pub mod reader;
pub mod reports;
pub mod request;
pub mod run;
pub mod script;
pub mod serve;
pub mod session;
pub mod tasks;
pub mod words;

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;

use firesteel_core::messages::TaskDirectory;

use crate::beginning::{self, Ground};
use crate::cluster::Cluster;
use end::End;
use firesteel_daemons::driver_daemon::{self, Application};
use firesteel_host::net::route::facing;
use firesteel_host::progress::Progress;
use firesteel_settings::Properties;
use firesteel_settings::application::ApplicationSettings;
use firesteel_settings::listen::Listen;
use firesteel_settings::task_needs::TaskNeeds;
use reader::Source;
use session::Session;

/// A session that has not begun.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where commands come from.
    pub source: Source,
    /// Whether a script goes on after a command that failed.
    pub on_failure: OnFailure,
    /// What tasks run with at first.
    pub defaults: Defaults,
    /// The application's name.
    pub name: String,
    /// Where it runs.
    pub cluster: Cluster,
    /// Everything else: `spark.driver.*` are read here.
    pub properties: Properties,
}

/// Whether a script goes on after a command that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// It stops, with the command's exit code.
    Stops,
    /// It goes on, and ends with the exit code of the last one that failed.
    GoesOn,
}

impl OnFailure {
    /// What comes after a command that failed with that code.
    fn of(self, code: u8) -> ControlFlow<u8, u8> {
        match self {
            Self::Stops => ControlFlow::Break(code),
            Self::GoesOn => ControlFlow::Continue(code),
        }
    }
}

/// What tasks run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// What a task needs of an executor of the default profile.
    pub needs: TaskNeeds,
    /// Where it runs.
    pub directory: TaskDirectory,
    /// Variables of its environment.
    pub environment: BTreeMap<String, String>,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It could not begin.
    #[error(transparent)]
    Begin(#[from] beginning::StartError),
    /// The script cannot be read.
    #[error("cannot open {path}: {error}")]
    Script {
        /// Which.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// The system does not give what a session needs: threads, files.
    #[error("the shell cannot start: {0}")]
    System(io::Error),
}

/// Runs a session to its end; its exit code.
///
/// # Errors
/// It could not begin.
pub async fn run(job: Job, progress: &Progress) -> Result<u8, StartError> {
    let settings = ApplicationSettings::of(&job.properties).map_err(beginning::StartError::from)?;
    let mut requests = beginning::end_requests()?;
    if let Source::File(path) = &job.source {
        // Before a cluster is started for it.
        std::fs::File::open(path)
            .map_err(|error| StartError::Script { path: path.display().to_string(), error })?;
    }
    let Ground { files, mut cluster, masters } =
        match beginning::begin(&job.cluster, &settings, progress, &mut requests).await? {
            ControlFlow::Continue(ground) => ground,
            ControlFlow::Break(request) => return Ok(request.exit_code()),
        };
    let settings = cluster.racked(settings);
    let listen = Listen::of(&job.properties, || facing(&masters)).map_err(beginning::StartError::from)?;
    let application = Application { name: job.name.clone(), masters, settings: settings.clone(), files };
    let started = driver_daemon::start(application, listen).await;
    let (driver, reports) = started.map_err(beginning::StartError::from)?;
    driver.follow(cluster.news());
    let session = Session::new(&job, &settings, driver, reports, requests, progress.clone());
    let end = session.map_err(StartError::System)?.run().await;
    if !matches!(end, End::Abandoned(_)) {
        cluster.end().await;
    }
    Ok(end.exit_code())
}
