//! The value of `--master`.

use std::str::FromStr;

use firesteel_protocol::address::{Address, AddressError, parse_masters};

use crate::local_cluster::{LocalClusterSpec, SpecError};

/// A master URL: `spark://host:port[,host:port..]`, `yarn` or
/// `local-cluster[workers,cores,memoryMiB]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MasterUrl {
    /// Masters that are already running: at least one, in the given order.
    Spark(Vec<Address>),
    /// A cluster of processes on this machine, started for this application.
    LocalCluster(LocalClusterSpec),
    /// The YARN cluster that Hadoop's configuration names.
    Yarn,
}

/// Why the value of `--master` is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MasterUrlError {
    #[error(
        "{url:?} is not a master URL: write spark://HOST:PORT[,HOST:PORT..], yarn or local-cluster[WORKERS,CORES,MIB]"
    )]
    Unknown { url: String },
    #[error(
        "{url:?} is Spark without a cluster, which Firesteel does not have: leave the master out for a local cluster \
         sized to this machine, or write local-cluster[WORKERS,CORES,MEMORY-IN-MIB]"
    )]
    Local { url: String },
    /// The URL has Spark's old form for YARN, which contains a deploy mode.
    #[error("{url:?} is Spark's old form: write --master yarn --deploy-mode {mode}")]
    OldYarn { url: String, mode: String },
    #[error(transparent)]
    Spark(#[from] AddressError),
    #[error(transparent)]
    LocalCluster(#[from] SpecError),
}

impl FromStr for MasterUrl {
    type Err = MasterUrlError;

    fn from_str(url: &str) -> Result<Self, MasterUrlError> {
        if url == "yarn" {
            Ok(Self::Yarn)
        } else if let Some(mode @ ("client" | "cluster")) = url.strip_prefix("yarn-") {
            Err(MasterUrlError::OldYarn { url: url.to_owned(), mode: mode.to_owned() })
        } else if url.starts_with("spark://") {
            Ok(Self::Spark(parse_masters(url)?))
        } else if url.starts_with("local-cluster") {
            Ok(Self::LocalCluster(url.parse()?))
        } else if url == "local" || url.starts_with("local[") {
            Err(MasterUrlError::Local { url: url.to_owned() })
        } else {
            Err(MasterUrlError::Unknown { url: url.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_master_url_is_told_by_its_beginning() {
        assert_eq!("spark://a:1".parse(), Ok(MasterUrl::Spark(vec![Address::new("a", 1)])));
        assert!(matches!("local-cluster[2,1,1024]".parse(), Ok(MasterUrl::LocalCluster(_))));
        for url in ["", "locality", "YARN", "yarn://rm", "k8s://x", "a:7077", "Spark://a:1"] {
            let error = url.parse::<MasterUrl>().expect_err(url);
            assert!(matches!(error, MasterUrlError::Unknown { .. }), "{url}");
        }
        assert_eq!("yarn".parse(), Ok(MasterUrl::Yarn));
        let old = "yarn-cluster".parse::<MasterUrl>().expect_err("it is Spark's old form").to_string();
        assert_eq!(old, "\"yarn-cluster\" is Spark's old form: write --master yarn --deploy-mode cluster");
        for url in ["local", "local[4]", "local[*]"] {
            assert!(matches!(url.parse::<MasterUrl>(), Err(MasterUrlError::Local { .. })), "{url}");
        }
        assert!(matches!("spark://a".parse::<MasterUrl>(), Err(MasterUrlError::Spark(_))));
        assert!(matches!("local-cluster[]".parse::<MasterUrl>(), Err(MasterUrlError::LocalCluster(_))));
    }
}
