//! The settings of a running Master's scheduler, written as properties. This is the inverse of
//! [`master`](super::master).

use std::time::Duration;

use firesteel_placement::{Cores, Policy, Strategy};
use firesteel_protocol::scheduling::{Backfill, GangPreemption, Preemption, SchedulingSettings};

use crate::key::Default::{Otherwise, Value};
use crate::keys;
use crate::values::duration;

/// The settings that decide how executors are assigned to applications, with their values. Settings without a value are
/// left out.
#[must_use]
pub fn settings(scheduling: &SchedulingSettings) -> Vec<(&'static str, String)> {
    let SchedulingSettings {
        rule,
        strategy,
        worker_order,
        default_cores,
        queues,
        backfill,
        preemption,
        order,
        reservations,
        gang_preemption,
    } = scheduling;
    let spread_out = *strategy == Strategy::SpreadOut;
    let (preempted, interval) = match *preemption {
        Preemption::Off => (0, None),
        Preemption::AtMost { executors, every } => (executors, Some(every)),
    };
    let gang = |of: fn(GangPreemption) -> Duration| gang_preemption.map(|gang| duration::write(of(gang)));
    let written = [
        (keys::PLACEMENT_POLICY, Some(rule.clone())),
        (keys::SPREAD_OUT, Some(spread_out.to_string())),
        (keys::WORKER_ORDER, Some(worker_order.to_string())),
        (keys::DEFAULT_CORES, (*default_cores < Cores::UNLIMITED).then(|| default_cores.to_string())),
        (keys::QUEUES, (!queues.is_empty()).then(|| queues.to_string())),
        (keys::BACKFILL, Some((*backfill == Backfill::On).to_string())),
        (keys::RESERVATIONS, Some(reservations.to_string())),
        (keys::ORDER, Some(order.to_string())),
        (keys::PREEMPTION, Some(preempted.to_string())),
        (keys::PREEMPTION_INTERVAL, interval.map(duration::write)),
        (keys::GANG_PATIENCE, gang(|gang| gang.patience)),
        (keys::GANG_REACH, gang(|gang| gang.reach)),
    ];
    written.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

/// The settings that differ from their defaults.
#[must_use]
pub fn changed_settings(scheduling: &SchedulingSettings) -> Vec<(&'static str, String)> {
    let is_default = |key: &str, value: &str| match keys::find(key).map(|key| key.default) {
        Some(Value(default)) => value == default,
        Some(Otherwise(_)) | None => key == keys::PLACEMENT_POLICY && value == Policy::Spark.name(),
    };
    settings(scheduling).into_iter().filter(|(key, value)| !is_default(key, value)).collect()
}

/// The settings that differ from their defaults, except the settings for choosing Workers, because another policy would
/// replace those.
#[must_use]
pub fn changed_beside_the_policy(scheduling: &SchedulingSettings) -> Vec<(&'static str, String)> {
    let of_policy = [keys::PLACEMENT_POLICY, keys::SPREAD_OUT, keys::WORKER_ORDER];
    changed_settings(scheduling).into_iter().filter(|(key, _)| !of_policy.contains(key)).collect()
}

#[cfg(test)]
mod tests {
    use firesteel_master::Master;

    use super::*;
    use crate::Properties;
    use crate::daemon::master::config;

    /// The scheduler settings of a Master with these properties.
    fn view(properties: &[&str]) -> SchedulingSettings {
        let properties = Properties::parse(properties.iter().copied()).expect("they are properties");
        Master::new(config(&properties, "spark://m:1".to_owned()).expect("they can be used"))
            .view()
            .scheduling
    }

    fn lines(settings: Vec<(&'static str, String)>) -> Vec<String> {
        settings.into_iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    const ALL: [&str; 12] = [
        "firesteel.placement.policy=expr:left.cores",
        "spark.deploy.spreadOutApps=false",
        "spark.deploy.workerSelectionPolicy=MEMORY_FREE_ASC",
        "spark.deploy.defaultCores=3",
        "firesteel.master.queues=prod=3,dev=1",
        "firesteel.master.backfill=false",
        "firesteel.master.reservations=4",
        "firesteel.master.order=shortest",
        "firesteel.master.preemption=2",
        "firesteel.master.preemption.interval=1500ms",
        "firesteel.master.preemption.gangPatience=20s",
        "firesteel.master.preemption.gangReach=5min",
    ];

    #[test]
    fn what_a_master_tells_are_the_properties_that_it_was_given() {
        assert_eq!(lines(settings(&view(&ALL))), ALL);
        assert_eq!(lines(changed_settings(&view(&ALL))), ALL);
        assert_eq!(lines(changed_beside_the_policy(&view(&ALL))), ALL[3..]);
        for property in &ALL[..8] {
            assert_eq!(lines(changed_settings(&view(&[property]))), [*property]);
        }
    }

    #[test]
    fn defaults_are_no_changes() {
        assert_eq!(lines(changed_settings(&view(&[]))), [""; 0]);
        let preemption = ["firesteel.master.preemption=2", "firesteel.master.preemption.gangPatience=0"];
        let told = view(&preemption);
        assert_eq!(
            lines(changed_settings(&told)),
            ["firesteel.master.preemption=2", "firesteel.master.preemption.gangPatience=0s"]
        );
        assert_eq!(
            lines(settings(&told)),
            [
                "firesteel.placement.policy=spark",
                "spark.deploy.spreadOutApps=true",
                "spark.deploy.workerSelectionPolicy=CORES_FREE_DESC",
                "firesteel.master.backfill=true",
                "firesteel.master.reservations=1",
                "firesteel.master.order=registration",
                "firesteel.master.preemption=2",
                "firesteel.master.preemption.interval=60s",
                "firesteel.master.preemption.gangPatience=0s",
                "firesteel.master.preemption.gangReach=0s",
            ]
        );
    }
}
