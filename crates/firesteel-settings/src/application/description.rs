//! The description of an application for the Master.

use firesteel_protocol::messages::{
    ApplicationDescription, Placing, ResourceProfile, Submitter, WantedExecutors, Work,
};

use super::ApplicationSettings;

/// Describes an application with this name, whose executors do this work.
#[must_use]
pub fn describe(name: String, settings: &ApplicationSettings, mut work: Work) -> ApplicationDescription {
    for (variable, value) in &settings.executor_environment {
        work.command.environment_mut().entry(variable.clone()).or_insert_with(|| value.clone());
    }
    ApplicationDescription::new(
        Submitter::new(name, user()),
        WantedExecutors {
            profile: ResourceProfile {
                cores: settings.executor_cores,
                memory: Some(settings.executor_memory),
                resources: settings.executor_resources.clone(),
            },
            max_cores: settings.max_cores,
            limit: settings.executors,
            ..WantedExecutors::default()
        },
        Placing {
            policy: settings.policy,
            queue: settings.queue.clone(),
            priority: settings.priority,
            gang: settings.gang,
        },
        work,
    )
}

/// The submitting user: the value of `SPARK_USER`, as in Spark. If it is not set, the user of this process.
#[must_use]
pub fn user() -> String {
    let named = std::env::var("SPARK_USER").ok().filter(|name| !name.is_empty());
    let id = nix::unistd::getuid();
    let looked_up = || nix::unistd::User::from_uid(id).ok().flatten().map(|user| user.name);
    named.or_else(looked_up).unwrap_or_else(|| id.to_string())
}
