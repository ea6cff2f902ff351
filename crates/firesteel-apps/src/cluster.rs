//! The cluster that provides an application's executors.

use std::ops::ControlFlow;

use firesteel_protocol::address::Address;
use tokio::sync::mpsc;

use crate::local_cluster::{LocalCluster, LocalClusterError, Options};
use firesteel_daemons::cluster_event::ClusterEvent;
use firesteel_daemons::files::OfferedFiles;
use firesteel_host::net::Keyring;
use firesteel_host::progress::Progress;
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_settings::application::ApplicationSettings;
use firesteel_settings::yarn::Mode;
use firesteel_yarn_mode::client::{RunningApplication, YarnError};
use firesteel_yarn_mode::submission::Request;

/// The kind of cluster that provides the executors.
#[derive(Clone, Debug)]
pub enum Cluster {
    /// Masters that already run, to be tried in this order, and the keys for them. Without keys, connections are in the
    /// clear.
    Running(Vec<Address>, Option<Keyring>),
    /// A local cluster, started for this application.
    Local(Options),
    /// A YARN cluster, to which the application is submitted.
    Yarn(Box<Request>),
}

/// Why an application has no cluster to run on.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error(transparent)]
    Local(#[from] LocalClusterError),
    /// The application does not run on YARN.
    #[error(transparent)]
    Yarn(Box<YarnError>),
}

impl From<YarnError> for ClusterError {
    fn from(error: YarnError) -> Self {
        Self::Yarn(Box::new(error))
    }
}

impl Cluster {
    /// Starts the cluster if necessary. Returns the cluster once it is ready, or returns early on a request to end.
    /// Stages the files if the cluster's Workers do not fetch them.
    ///
    /// # Errors
    /// A local cluster could not be started, or the application does not run on YARN.
    pub async fn start(
        &self,
        files: &OfferedFiles,
        progress: &Progress,
        requests: &mut EndRequests,
    ) -> Result<ControlFlow<EndRequest, StartedCluster>, ClusterError> {
        let started = match self {
            Self::Running(masters, keyring) => StartedCluster {
                keyring: keyring.clone(),
                ..StartedCluster::of(masters.clone(), Owned::Nothing)
            },
            Self::Local(options) => {
                let cluster = tokio::select! {
                    cluster = LocalCluster::start(options.clone()) => cluster?,
                    request = requests.next() => return Ok(ControlFlow::Break(request)),
                };
                StartedCluster {
                    keyring: Some(Keyring::of_local_cluster(cluster.secret())),
                    ..StartedCluster::of(vec![cluster.master().clone()], Owned::Local(cluster))
                }
            }
            Self::Yarn(request) => match RunningApplication::start(request, files, progress, requests).await?
            {
                ControlFlow::Continue(application) => {
                    StartedCluster::of(vec![application.master().clone()], Owned::Yarn(Box::new(application)))
                }
                ControlFlow::Break(request) => return Ok(ControlFlow::Break(request)),
            },
        };
        Ok(ControlFlow::Continue(started))
    }

    /// The YARN request of an application in cluster mode, where the driver also runs in a
    /// container.
    #[must_use]
    pub fn in_a_container(&self) -> Option<&Request> {
        match self {
            Self::Yarn(request) if request.settings.mode == Mode::Cluster => Some(request),
            Self::Running(..) | Self::Local(_) | Self::Yarn(_) => None,
        }
    }

    /// Whether YARN, not a Worker, brings the files to the containers.
    #[must_use]
    pub fn is_yarn(&self) -> bool {
        match self {
            Self::Yarn(_) => true,
            Self::Running(..) | Self::Local(_) => false,
        }
    }
}

/// A cluster that is ready for use. A cluster that was started for this application ends when this value is dropped.
/// [`end`](Self::end) also waits for its processes.
#[derive(Debug)]
pub struct StartedCluster {
    masters: Vec<Address>,
    keyring: Option<Keyring>,
    owned: Owned,
}

/// The processes that were started for this application and end with it.
#[derive(Debug)]
enum Owned {
    Nothing,
    Local(LocalCluster),
    Yarn(Box<RunningApplication>),
}

impl StartedCluster {
    fn of(masters: Vec<Address>, owned: Owned) -> Self {
        Self { masters, keyring: None, owned }
    }

    /// The keys for the cluster. `None`: connections are in the clear.
    #[must_use]
    pub fn keyring(&self) -> Option<Keyring> {
        self.keyring.clone()
    }

    /// The cluster's Masters, at least one.
    #[must_use]
    pub fn masters(&self) -> &[Address] {
        &self.masters
    }

    /// The channel of the cluster's events, for the first caller. `None`: the Masters report all events themselves.
    pub fn events(&mut self) -> Option<mpsc::Receiver<ClusterEvent>> {
        match &mut self.owned {
            Owned::Nothing | Owned::Local(_) => None,
            Owned::Yarn(application) => application.events(),
        }
    }

    /// Adds the racks that the cluster's resource manager knows. If the settings name racks, adds nothing.
    #[must_use]
    pub fn with_racks(&self, mut settings: ApplicationSettings) -> ApplicationSettings {
        match &self.owned {
            Owned::Yarn(application) if settings.topology.is_empty() => {
                settings.topology = application.topology().clone();
            }
            Owned::Nothing | Owned::Local(_) | Owned::Yarn(_) => {}
        }
        settings
    }

    /// Ends the processes that were started for this application, and waits for their end. A repeated request to end
    /// stops the waiting.
    pub async fn end(self) {
        let Ok(mut requests) = EndRequests::install() else { return };
        let ending = async {
            match self.owned {
                Owned::Nothing => {}
                Owned::Local(cluster) => cluster.end().await,
                Owned::Yarn(application) => application.end().await,
            }
        };
        tokio::select! {
            () = ending => {}
            _ = requests.next() => {}
        }
    }
}
