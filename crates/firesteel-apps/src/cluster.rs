//! Where an application's executors come from.

use std::ops::ControlFlow;

use firesteel_core::address::Address;
use tokio::sync::mpsc;

use crate::local_cluster::{LocalCluster, LocalClusterError, Options};
use firesteel_daemons::cluster_news::ClusterNews;
use firesteel_daemons::files::OfferedFiles;
use firesteel_host::progress::Progress;
use firesteel_host::signals::{EndRequest, EndRequests};
use firesteel_settings::application::ApplicationSettings;
use firesteel_settings::yarn::Mode;
use firesteel_yarn_mode::client::{RunningApplication, YarnError};
use firesteel_yarn_mode::submission::Request;

/// Where executors come from.
#[derive(Clone, Debug)]
pub enum Cluster {
    /// Masters that run already.
    Running(Vec<Address>),
    /// A cluster that is started for this.
    Local(Options),
    /// A YARN cluster, to which the application is submitted.
    Yarn(Box<Request>),
}

/// Why there is no cluster.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A local one could not be started.
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
    /// A cluster that can be used, unless somebody asks for the end before. What the application brings is staged where
    /// its Workers do not fetch it.
    ///
    /// # Errors
    /// A local one could not be started, or the application does not run on YARN.
    pub async fn start(
        &self,
        files: &OfferedFiles,
        progress: &Progress,
        requests: &mut EndRequests,
    ) -> Result<ControlFlow<EndRequest, StartedCluster>, ClusterError> {
        let started = match self {
            Self::Running(masters) => StartedCluster::of(masters.clone(), Owned::Nothing),
            Self::Local(options) => {
                let cluster = tokio::select! {
                    cluster = LocalCluster::start(options.clone()) => cluster?,
                    request = requests.next() => return Ok(ControlFlow::Break(request)),
                };
                StartedCluster::of(vec![cluster.master().clone()], Owned::Local(cluster))
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

    /// The request of an application whose driver runs in a container, too.
    #[must_use]
    pub fn in_a_container(&self) -> Option<&Request> {
        match self {
            Self::Yarn(request) if request.settings.mode == Mode::Cluster => Some(request),
            Self::Running(_) | Self::Local(_) | Self::Yarn(_) => None,
        }
    }

    /// Whether it is YARN that brings files to containers, and not a Worker.
    #[must_use]
    pub fn is_yarn(&self) -> bool {
        match self {
            Self::Yarn(_) => true,
            Self::Running(_) | Self::Local(_) => false,
        }
    }
}

/// A cluster that can be used. One that was started for this ends when it is dropped, or in order by
/// [`end`](Self::end).
#[derive(Debug)]
pub struct StartedCluster {
    masters: Vec<Address>,
    owned: Owned,
}

/// What of a cluster was started for this.
#[derive(Debug)]
enum Owned {
    Nothing,
    Local(LocalCluster),
    Yarn(Box<RunningApplication>),
}

impl StartedCluster {
    fn of(masters: Vec<Address>, owned: Owned) -> Self {
        Self { masters, owned }
    }

    /// Its Masters, at least one.
    #[must_use]
    pub fn masters(&self) -> &[Address] {
        &self.masters
    }

    /// What there is to hear of it, once. `None`: its Masters say it all themselves.
    pub fn news(&mut self) -> Option<mpsc::Receiver<ClusterNews>> {
        match &mut self.owned {
            Owned::Nothing | Owned::Local(_) => None,
            Owned::Yarn(application) => application.news(),
        }
    }

    /// The settings with the racks that whoever manages the cluster knows, unless they name some themselves.
    #[must_use]
    pub fn racked(&self, mut settings: ApplicationSettings) -> ApplicationSettings {
        match &self.owned {
            Owned::Yarn(application) if settings.topology.is_empty() => {
                settings.topology = application.topology().clone();
            }
            Owned::Nothing | Owned::Local(_) | Owned::Yarn(_) => {}
        }
        settings
    }

    /// Ends in order what was started, unless somebody does not want to wait.
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
