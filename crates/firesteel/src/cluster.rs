//! Where an application's executors come from.

use firesteel_core::address::Address;

use crate::local_cluster::{LocalCluster, LocalClusterError, Options};
use crate::signals::EndRequests;

/// Where executors come from.
#[derive(Clone, Debug)]
pub enum Cluster {
    /// Masters that run already.
    Running(Vec<Address>),
    /// A cluster that is started for this.
    Local(Options),
}

impl Cluster {
    /// A cluster that can be used.
    ///
    /// # Errors
    /// A local one could not be started.
    pub async fn start(&self) -> Result<StartedCluster, LocalClusterError> {
        Ok(match self {
            Self::Running(masters) => StartedCluster { masters: masters.clone(), local: None },
            Self::Local(options) => {
                let cluster = LocalCluster::start(options.clone()).await?;
                StartedCluster { masters: vec![cluster.master().clone()], local: Some(cluster) }
            }
        })
    }
}

/// A cluster that can be used. One that was started for this ends when it is dropped, or in order by
/// [`end`](Self::end).
#[derive(Debug)]
pub struct StartedCluster {
    masters: Vec<Address>,
    local: Option<LocalCluster>,
}

impl StartedCluster {
    /// Its Masters, at least one.
    #[must_use]
    pub fn masters(&self) -> &[Address] {
        &self.masters
    }

    /// Ends in order what was started, unless somebody does not want to wait.
    pub async fn end(self) {
        let (Some(cluster), Ok(mut requests)) = (self.local, EndRequests::install()) else { return };
        tokio::select! {
            () = cluster.end() => {}
            _ = requests.next() => {}
        }
    }
}
