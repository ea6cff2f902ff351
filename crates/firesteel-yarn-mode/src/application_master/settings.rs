//! The settings of an ApplicationMaster, and the configuration of its state machine.

use std::time::Duration;

use firesteel_application_master::allocator;
use firesteel_application_master::{Config, Mode};
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::AppId;
use firesteel_settings::application::ApplicationSettings;
use firesteel_settings::application_master::ApplicationMasterSettings;
use firesteel_settings::{Origin, Properties, SettingError};

use super::Attempt;
use crate::blueprint::{Blueprint, Deploy};

pub(super) fn of(blueprint: &Blueprint) -> Result<ApplicationMasterSettings, SettingError> {
    let mut properties = Properties::default();
    for (key, value) in &blueprint.properties {
        properties.set(key, value.clone(), Origin::Conf);
    }
    ApplicationMasterSettings::of(&properties, &ApplicationSettings::of(&properties)?)
}

/// The configuration of the state machine. `address` is where drivers can reach the ApplicationMaster.
pub(super) fn config(
    settings: &ApplicationMasterSettings,
    blueprint: &Blueprint,
    attempt: &Attempt,
    address: &Address,
) -> Config {
    let application = attempt.id.application_id.unwrap_or_default();
    // The ResourceManager ends an ApplicationMaster that is silent for longer than its expiry.
    let heartbeat = settings.allocator.heartbeat.min(Duration::from_millis(blueprint.hadoop.expiry) / 2);
    Config {
        app: AppId::new(application.to_string()),
        url: address.url(),
        mode: match &blueprint.deploy {
            Deploy::Client => Mode::Client,
            Deploy::Unmanaged => Mode::Unmanaged,
            Deploy::Cluster(_) => Mode::Cluster,
        },
        attempt: u32::try_from(attempt.id.attempt_id()).unwrap_or(1),
        most_attempts: blueprint.max_attempts,
        wait_time: settings.wait_time,
        silence: settings.silence,
        longest_message: settings.longest_message,
        executors: settings.executors,
        task_cores: settings.task_cores,
        allocator: allocator::Config {
            topology: blueprint.racks.topology(),
            heartbeat,
            initial_pause: settings.allocator.initial_pause.min(heartbeat),
            ..settings.allocator.clone()
        },
    }
}

#[cfg(test)]
mod tests {
    use firesteel_yarn::credentials::Credentials;
    use firesteel_yarn::messages::records::ApplicationAttemptId;
    use firesteel_yarn::messages::security::Token;

    use super::*;
    use crate::blueprint::tests::blueprint;

    #[test]
    fn heartbeats_come_before_the_resource_manager_gives_up() {
        let attempt = Attempt {
            id: ApplicationAttemptId::default(),
            token: Token::default(),
            host: "h".to_owned(),
            credentials: Credentials::default(),
        };
        let pauses = |expiry, pairs: &[(&str, &str)]| {
            let mut blueprint = blueprint();
            blueprint.properties =
                pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
            blueprint.hadoop.expiry = expiry;
            let settings = of(&blueprint).expect("they can be used");
            let config = config(&settings, &blueprint, &attempt, &Address::new("h", 1)).allocator;
            (config.heartbeat.as_millis(), config.initial_pause.as_millis())
        };
        assert_eq!(pauses(900_000, &[]), (3000, 200));
        assert_eq!(pauses(1000, &[]), (500, 200));
        let slow = ("spark.yarn.scheduler.initial-allocation.interval", "1s");
        assert_eq!(pauses(1000, &[slow]), (500, 500));
        let often = ("spark.yarn.scheduler.heartbeat.interval-ms", "500");
        assert_eq!(pauses(900_000, &[often, slow]), (500, 500));
    }
}
