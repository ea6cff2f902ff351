//! Determines a peer's generation of Scala and release of Spark from the peer's messages.

use crate::java::Graph;

/// A generation of Spark: releases whose messages have nearly the same classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Spark 3 with Scala 2.12.
    Scala2_12,
    /// Spark 4, with Scala 2.13.
    Scala2_13,
}

/// Releases of Spark that cannot be distinguished by their messages. An executor must run the same release as its
/// driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each variant is the release of that number")]
pub enum Release {
    V3_3,
    V3_4To3_5,
    V4_0,
    V4_1To4_2,
    V4_3,
}

/// The class of references to endpoints.
const REFERENCE: &str = "org.apache.spark.rpc.RpcEndpointRef";

/// The class of Spark's own failures.
const EXCEPTION: &str = "org.apache.spark.SparkException";

/// The class of resource profiles.
pub(crate) const PROFILE: &str = "org.apache.spark.resource.ResourceProfile";

impl Generation {
    /// The numbers of the generation's known releases, such as `4.0`.
    pub fn numbers(self) -> &'static [&'static str] {
        match self {
            Self::Scala2_12 => &["3.3", "3.4", "3.5"],
            Self::Scala2_13 => &["4.0", "4.1", "4.2", "4.3"],
        }
    }
}

/// The numbers of the possible releases of a peer that sent this failure; `None` if the failure shows no known release.
pub(crate) fn of_failure(failure: &Graph) -> Option<&'static [&'static str]> {
    match failure.find_class(EXCEPTION)?.serial {
        7_929_173_446_620_107_692 => Some(&["3.3"]),
        -2_151_559_301_433_228_860 => Some(&["3.4"]),
        -8_295_328_470_332_075_411 => Some(&["3.5"]),
        236_930_103_154_366_046 => Some(&["4.0"]),
        -6_239_517_610_739_762_819 => Some(&["4.1"]),
        -7_990_402_199_496_604_704 => Some(&["4.2", "4.3"]),
        _ => None,
    }
}

impl Release {
    /// The numbers of the releases, such as `4.0`.
    pub fn numbers(self) -> &'static [&'static str] {
        match self {
            Self::V3_3 => &["3.3"],
            Self::V3_4To3_5 => &["3.4", "3.5"],
            Self::V4_0 => &["4.0"],
            Self::V4_1To4_2 => &["4.1", "4.2"],
            Self::V4_3 => &["4.3"],
        }
    }

    /// The release of Spark that an application's registration shows.
    pub fn of(registration: &Graph) -> Option<Self> {
        let serial = |name| registration.find_class(name).map(|class| class.serial);
        // Spark 3.3 describes no profile in a registration.
        let release = match serial(PROFILE) {
            Some(profile) => Self::of_profile(profile),
            None => Some(Self::V3_3),
        };
        release.filter(|release| serial(REFERENCE) == Some(release.reference()))
    }

    /// The release whose resource profiles have this serial version id.
    pub(crate) fn of_profile(serial: i64) -> Option<Self> {
        match serial {
            6_817_910_790_482_746_242 => Some(Self::V3_4To3_5),
            -6_369_593_179_083_993_645 => Some(Self::V4_0),
            -2_517_983_430_696_660_228 => Some(Self::V4_1To4_2),
            -1_872_747_411_836_192_885 => Some(Self::V4_3),
            _ => None,
        }
    }

    /// The possible releases of a Worker, from its registration. More than one is possible, since a Worker's
    /// registration has no resource profile.
    pub(crate) fn of_worker(registration: &Graph) -> Vec<Self> {
        let reference = registration.find_class(REFERENCE).map(|class| class.serial);
        reference.map(Self::of_reference).unwrap_or_default()
    }

    /// The releases whose references to endpoints have this serial version id.
    fn of_reference(serial: i64) -> Vec<Self> {
        let all = [Self::V3_3, Self::V3_4To3_5, Self::V4_0, Self::V4_1To4_2, Self::V4_3];
        all.into_iter().filter(|release| release.reference() == serial).collect()
    }

    /// The serial version id of references to endpoints in this release.
    fn reference(self) -> i64 {
        match self {
            Self::V3_3 => -3_992_716_321_891_270_988,
            Self::V3_4To3_5 => -2_184_441_956_866_814_275,
            Self::V4_0 => 3_898_290_494_905_438_830,
            Self::V4_1To4_2 | Self::V4_3 => -6_062_078_299_962_416_402,
        }
    }
}
