//! How an application begins: what it brings is opened, and the cluster that it runs on is there.

use std::io;
use std::ops::ControlFlow;

use firesteel_core::address::Address;

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

/// Why an application did not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting cannot be used.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A file cannot be brought along.
    #[error(transparent)]
    Files(#[from] OfferError),
    /// There is no cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// There is no driver.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// Workers cannot fetch what it brings.
    #[error("cannot offer files: {0}")]
    Offer(#[from] ListenError),
    /// Signals cannot be caught.
    #[error("cannot catch signals: {0}")]
    Signals(io::Error),
}

impl From<ClusterModeError> for StartError {
    fn from(error: ClusterModeError) -> Self {
        match error {
            ClusterModeError::Files(error) => Self::Files(error),
            ClusterModeError::Yarn(error) => Self::Cluster(error.into()),
        }
    }
}

/// Catches what ends an application from now on.
///
/// # Errors
/// The system does not let signals be caught.
pub fn end_requests() -> Result<EndRequests, StartError> {
    EndRequests::install().map_err(StartError::Signals)
}

/// What an application stands on.
#[derive(Debug)]
pub struct Ground {
    /// What its executors find in their directories.
    pub files: OfferedFiles,
    /// Where they come from.
    pub cluster: StartedCluster,
    /// The Masters to try.
    pub masters: Vec<Address>,
}

/// Opens what the application brings, and starts its cluster if that does not run. Breaks off when somebody asks for
/// the end.
///
/// # Errors
/// A file cannot be brought along, or there is no cluster.
pub async fn begin(
    cluster: &Cluster,
    settings: &ApplicationSettings,
    progress: &Progress,
    requests: &mut EndRequests,
) -> Result<ControlFlow<EndRequest, Ground>, StartError> {
    let cluster_is_yarn = cluster.is_yarn();
    // On YARN what is on HDFS stays there.
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
    // What is staged nobody fetches from here.
    let files = if cluster_is_yarn { OfferedFiles::default() } else { files };
    let masters = cluster.masters().to_vec();
    Ok(ControlFlow::Continue(Ground { files, cluster, masters }))
}
