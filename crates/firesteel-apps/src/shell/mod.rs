//! `firesteel shell`: an application that stays alive while a person or a script runs commands on it.
//!
//! ```text
//!  reader (thread) --lines--> session (task) --tasks--> driver (owner) --> executors
//!                               |  |  ^                    |   ^
//!                               |  |  `---- reports -------'   | credit
//!                               |  `--foreground output--> console (thread)
//!                               `--background output--> files
//! ```
//!
//! The state machine [`firesteel_engine::session::Session`] makes all decisions, and parses the commands. `session`
//! gives it events and performs its effects. `answers` turns the machine's answers into text. [`reader`] and `complete`
//! implement the prompt, and `script` reads files; `console` and `records` handle the outputs; `map` contains the map
//! run in progress.

mod answers;
mod complete;
mod console;
mod map;
pub mod reader;
mod records;
mod script;
mod session;

use std::io;
use std::ops::ControlFlow;

use firesteel_engine::session::Ending;
use futures_util::future::LocalBoxFuture;

use crate::cluster::Cluster;
use crate::end_reason::EndReason;
use crate::startup::{self, Prepared};
use firesteel_daemons::driver_daemon::{self, Application};
use firesteel_host::exit_code;
use firesteel_host::net::route::local_host_for;
use firesteel_host::progress::Progress;
use firesteel_settings::Properties;
use firesteel_settings::application::ApplicationSettings;
use firesteel_settings::listen::Listen;
use reader::Source;
use session::SessionShell;

pub use firesteel_engine::session::{Defaults, OnFailure};

/// The parameters of a session.
#[derive(Clone, Debug)]
pub struct Job {
    /// Source of the commands.
    pub source: Source,
    /// The behaviour of a script after a command that failed.
    pub on_failure: OnFailure,
    /// The initial defaults for tasks.
    pub defaults: Defaults,
    pub name: String,
    /// The cluster that provides the executors.
    pub cluster: Cluster,
    /// All properties. The `spark.driver.*` properties are used here.
    pub properties: Properties,
}

/// Why a session did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The application could not start.
    #[error(transparent)]
    Begin(#[from] startup::StartError),
    /// The script cannot be read.
    #[error("cannot open {path}: {error}")]
    Script {
        /// Path of the script.
        path: String,
        /// Error of the operating system.
        #[source]
        error: io::Error,
    },
    /// The system refused to create a thread or a file.
    #[error("the shell cannot start: {0}")]
    System(#[source] io::Error),
}

/// Runs a session to its end and returns its exit code.
///
/// # Errors
/// The session could not start.
pub fn run(job: Job, progress: &Progress) -> LocalBoxFuture<'_, Result<u8, StartError>> {
    // In a box, so that this crate compiles the future, and not the one that awaits it.
    Box::pin(run_session(job, progress))
}

async fn run_session(job: Job, progress: &Progress) -> Result<u8, StartError> {
    let settings = ApplicationSettings::of(&job.properties).map_err(startup::StartError::from)?;
    let mut requests = startup::end_requests()?;
    if let Source::File(path) = &job.source {
        // Check this before a cluster is started.
        std::fs::File::open(path)
            .map_err(|error| StartError::Script { path: path.display().to_string(), error })?;
    }
    let Prepared { files, mut cluster, masters } =
        match startup::prepare(&job.cluster, &settings, progress, &mut requests).await? {
            ControlFlow::Continue(prepared) => prepared,
            ControlFlow::Break(request) => return Ok(request.exit_code()),
        };
    let settings = cluster.with_racks(settings);
    let listen =
        Listen::of(&job.properties, || local_host_for(&masters)).map_err(startup::StartError::from)?;
    let application = Application {
        name: job.name.clone(),
        masters,
        keyring: cluster.keyring(),
        settings: settings.clone(),
        files,
    };
    let started = driver_daemon::start(application, listen).await;
    let (driver, reports) = started.map_err(startup::StartError::from)?;
    driver.follow(cluster.events());
    let session = SessionShell::new(&job, &settings, (driver, reports), requests, progress.clone());
    let session = session.map_err(StartError::System)?;
    let output_failure = session.output_failure();
    let ending = session.run().await;
    if !matches!(ending, Ending::Abandoned(_)) {
        cluster.end().await;
    }
    if let Some(error) = output_failure.get() {
        progress.error(format_args!("cannot write to standard output: {error}"));
        return Ok(exit_code::FAILURE);
    }
    Ok(match ending {
        Ending::Left(code) => code,
        Ending::Asked(request) | Ending::Abandoned(request) => request.exit_code(),
        Ending::Over(ending) => {
            EndReason::of_driver(ending).map_or(exit_code::FAILURE, |over| over.exit_code())
        }
        Ending::DriverLost => exit_code::FAILURE,
        Ending::ReaderGone => exit_code::READER_GONE,
    })
}
