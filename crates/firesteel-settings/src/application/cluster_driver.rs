//! The settings of a cluster driver, from properties.

use firesteel_placement::{Cores, MiB, ResourceAmounts};

use super::amounts;
use crate::{Properties, SettingError, keys};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverSettings {
    pub in_cluster: bool,
    pub cores: Cores,
    pub memory: MiB,
    pub supervise: bool,
    pub resources: ResourceAmounts,
}

impl DriverSettings {
    /// Reads the settings. Settings that are not set have Spark's default.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn of(properties: &Properties) -> Result<Self, SettingError> {
        let in_cluster = properties.read(keys::DEPLOY_MODE, "client or cluster", |text| match text {
            "client" => Some(false),
            "cluster" => Some(true),
            _ => None,
        })?;
        Ok(Self {
            in_cluster: in_cluster.unwrap_or(false),
            cores: properties.cores(keys::DRIVER_CORES)?.unwrap_or(Cores(1)),
            memory: properties.memory(keys::DRIVER_MEMORY)?.unwrap_or(MiB(1024)),
            supervise: properties.boolean(keys::DRIVER_SUPERVISE)?.unwrap_or(false),
            resources: amounts::of_driver(properties)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use firesteel_placement::Amount;

    use super::*;

    #[test]
    fn every_key_reaches_its_field() {
        let parsed = |pairs: &[&str]| {
            DriverSettings::of(&Properties::parse(pairs.iter().copied()).expect("they are pairs"))
        };
        let (cores, memory) = (Cores(1), MiB(1024));
        let none = ResourceAmounts::new();
        let defaults = DriverSettings { in_cluster: false, cores, memory, supervise: false, resources: none };
        assert_eq!(parsed(&[]), Ok(defaults));
        let all = [
            "spark.submit.deployMode=cluster",
            "spark.driver.cores=2",
            "spark.driver.memory=3g",
            "spark.driver.supervise=true",
            "spark.driver.resource.gpu.amount=2",
            "spark.driver.resource.fpga.amount=0",
        ];
        let (cores, memory) = (Cores(2), MiB(3072));
        let resources = [("gpu".to_owned(), Amount::Whole(2))].into();
        let expected = DriverSettings { in_cluster: true, cores, memory, supervise: true, resources };
        assert_eq!(parsed(&all), Ok(expected));
        for pair in [
            "spark.submit.deployMode=here",
            "spark.driver.cores=0",
            "spark.driver.memory=much",
            "spark.driver.resource.gpu.amount=-1",
        ] {
            assert!(parsed(&[pair]).is_err(), "{pair}");
        }
    }
}
