//! The start of an application: opens its files, and starts or finds its cluster.

use std::io;
use std::ops::ControlFlow;

use firesteel_protocol::address::Address;

use crate::cluster::{Cluster, ClusterError, StartedCluster};
use firesteel_daemons::driver_daemon::DriverError;
use firesteel_daemons::files::{OfferError, OfferedFiles};
use firesteel_host::net::ListenError;
use firesteel_host::progress::Progress;
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_settings::SettingError;
use firesteel_settings::application::ApplicationSettings;
use firesteel_yarn_mode::cluster_mode::ClusterModeError;
use firesteel_yarn_mode::staging::is_remote;

/// Why an application did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Files(#[from] OfferError),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// This process cannot listen for the Workers that fetch the application's files.
    #[error("cannot offer files: {0}")]
    Offer(#[from] ListenError),
    #[error("cannot catch signals: {0}")]
    Signals(#[source] io::Error),
}

impl From<ClusterModeError> for StartError {
    fn from(error: ClusterModeError) -> Self {
        match error {
            ClusterModeError::Files(error) => Self::Files(error),
            ClusterModeError::Yarn(error) => Self::Cluster(error.into()),
        }
    }
}

/// Begins to catch the signals that end an application.
///
/// # Errors
/// The system does not allow signals to be caught.
pub fn end_requests() -> Result<EndRequests, StartError> {
    EndRequests::install().map_err(StartError::Signals)
}

/// The resources that an application needs to run: files, cluster and Masters.
#[derive(Debug)]
pub struct Prepared {
    /// The files that executors receive in their directories.
    pub files: OfferedFiles,
    pub cluster: StartedCluster,
    pub masters: Vec<Address>,
}

/// Opens the application's files and starts its cluster if it is not running yet. Stops early on a
/// request to end.
///
/// # Errors
/// A file cannot be opened, or no cluster is available.
pub async fn prepare(
    cluster: &Cluster,
    settings: &ApplicationSettings,
    progress: &Progress,
    requests: &mut EndRequests,
) -> Result<ControlFlow<EndRequest, Prepared>, StartError> {
    let cluster_is_yarn = cluster.is_yarn();
    // On YARN, files on HDFS are not opened: they are not copied.
    let opened = |words: &[String]| -> Vec<String> {
        words.iter().filter(|word| !(cluster_is_yarn && is_remote(word))).cloned().collect()
    };
    let (files, archives) = (opened(&settings.files), opened(&settings.archives));
    let files = tokio::select! {
        files = OfferedFiles::open(&files, &archives) => files?,
        request = requests.next() => return Ok(ControlFlow::Break(request)),
    };
    let cluster = match cluster.start(&files, progress, requests).await? {
        ControlFlow::Continue(cluster) => cluster,
        ControlFlow::Break(request) => return Ok(ControlFlow::Break(request)),
    };
    // On YARN, the staged files are fetched from the shared file system, not from this process.
    let files = if cluster_is_yarn { OfferedFiles::default() } else { files };
    let masters = cluster.masters().to_vec();
    Ok(ControlFlow::Continue(Prepared { files, cluster, masters }))
}
