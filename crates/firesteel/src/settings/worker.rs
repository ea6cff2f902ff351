//! A Worker's settings out of properties.

use std::time::Duration;

use super::duration::Unit;
use super::{Properties, SettingError, keys};

/// What of a Worker's settings comes from properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSettings {
    /// `spark.worker.maxRegistrationRetries`.
    pub max_registration_retries: u32,
    /// `firesteel.worker.killGrace`.
    pub kill_grace: Duration,
}

impl WorkerSettings {
    /// The settings. What is not set has Spark's default.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn of(properties: &Properties) -> Result<Self, SettingError> {
        Ok(Self {
            max_registration_retries: properties.count(keys::MAX_REGISTRATION_RETRIES)?.unwrap_or(16),
            kill_grace: properties
                .duration(keys::KILL_GRACE, Unit::Seconds)?
                .unwrap_or(Duration::from_secs(10)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_reaches_its_field() {
        let parsed = |pairs: &[&str]| {
            WorkerSettings::of(&Properties::parse(pairs.iter().copied()).expect("they are pairs"))
        };
        let defaults = WorkerSettings { max_registration_retries: 16, kill_grace: Duration::from_secs(10) };
        assert_eq!(parsed(&[]), Ok(defaults));
        let set = WorkerSettings { max_registration_retries: 2, kill_grace: Duration::from_millis(5) };
        let pairs = ["spark.worker.maxRegistrationRetries=2", "firesteel.worker.killGrace=5ms"];
        assert_eq!(parsed(&pairs), Ok(set));
    }
}
