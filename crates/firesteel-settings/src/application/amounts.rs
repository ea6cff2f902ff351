//! Custom resources of an application: the amounts per executor, and the amounts per task.

use firesteel_placement::advanced::resources::{TaskAmount, TaskResources};
use firesteel_placement::advanced::resources::{kind, without_kind};
use firesteel_placement::advanced::words::counted;
use firesteel_placement::{Amount, Cores, ResourceAmounts};

use crate::daemon::resources::is_name;
use crate::{Origin, Properties, SettingError, keys};

const AMOUNT: &str = "a whole number, or a fraction from 0.0001 to 0.5 by which tasks share an address";
const PART: &str = "at most the part of an address that the executor has, in thousandths: 0.001 to 0.999";
const AMOUNT_OF_ONE: &str = "a whole number, or a part of one address from 0.001 to 0.999";
const KIND: &str = "the name of a kind, such as A100: ASCII letters, digits and any of -_.:";

/// The amounts of executors, from `spark.executor.resource.NAME.amount`. The names include the kinds from
/// `firesteel.executor.resource.NAME.kind`.
pub(super) fn of_executors(properties: &Properties) -> Result<ResourceAmounts, SettingError> {
    let amount = |(name, _): (&str, &str)| {
        let amount = amount(properties, &executor_key(name))?;
        Ok((with_kind(properties, keys::EXECUTOR_RESOURCE_KIND, name)?, amount))
    };
    properties.family(keys::EXECUTOR_RESOURCE).map(amount).collect()
}

/// The amounts of a cluster driver, from `spark.driver.resource.NAME.amount`. Amounts of 0 are left out.
pub(super) fn of_driver(properties: &Properties) -> Result<ResourceAmounts, SettingError> {
    let amount = |(name, _): (&str, &str)| {
        Ok((name.to_owned(), amount(properties, &keys::DRIVER_RESOURCE.replace("NAME", name))?))
    };
    let mut amounts: ResourceAmounts =
        properties.family(keys::DRIVER_RESOURCE).map(amount).collect::<Result<_, SettingError>>()?;
    amounts.retain(|_, amount| !amount.is_none());
    Ok(amounts)
}

fn amount(properties: &Properties, key: &str) -> Result<Amount, SettingError> {
    let sound = |text: &str| -> Option<Amount> {
        text.parse().ok().filter(|amount: &Amount| amount.addresses() <= u64::from(u32::MAX))
    };
    Ok(properties.read(key, AMOUNT_OF_ONE, sound)?.unwrap_or_default())
}

/// The name of a resource, with the kind from this property unless the name already has a kind.
pub(crate) fn with_kind(properties: &Properties, key: &str, name: &str) -> Result<String, SettingError> {
    let sound = |text: &str| is_name(text).then(|| text.to_owned());
    let said = properties.read(&key.replace("NAME", without_kind(name)), KIND, sound)?;
    Ok(match said.filter(|_| kind(name).is_none()) {
        Some(kind) => format!("{name}:{kind}"),
        None => name.to_owned(),
    })
}

/// The amounts of tasks, from `spark.task.resource.NAME.amount`. Amounts of 0 are left out. If executors have only a
/// fraction of an address, a task's fraction is taken as it is. Otherwise it has Spark's meaning.
pub(super) fn of_tasks(
    properties: &Properties,
    executors: &ResourceAmounts,
) -> Result<TaskResources, SettingError> {
    let amount = |(name, _): (&str, &str)| {
        let plain = without_kind(name);
        let each = TaskAmount::of_amounts(executors, plain);
        let expected = if each.is_part() { PART } else { AMOUNT };
        let read = |text: &str| TaskAmount::of_executor(text, each).ok();
        let amount = properties.read(&task_key(name), expected, read)?;
        Ok((plain.to_owned(), amount.unwrap_or(TaskAmount::Whole(0))))
    };
    let all: Result<TaskResources, SettingError> =
        properties.family(keys::TASK_RESOURCE).map(amount).collect();
    Ok(all?.into_iter().filter(|(_, amount)| *amount != TaskAmount::Whole(0)).collect())
}

/// Checks that an executor can run a task.
///
/// Source: Spark, 4.0.1, which does not start such an application.
pub(super) fn check(
    executor: &ResourceAmounts,
    task: &TaskResources,
    properties: &Properties,
) -> Result<(), SettingError> {
    for (name, amount) in task {
        let each = TaskAmount::of_amounts(executor, name);
        if amount.tasks_on(each) != Some(0) {
            continue;
        }
        let written = |key: &'static str, name: &str| {
            let family = properties.family(key).map(|(written, _)| written);
            let written = family.into_iter().find(|written| without_kind(written) == name);
            key.replace("NAME", written.unwrap_or(name))
        };
        let (task_key, executor_key) =
            (written(keys::TASK_RESOURCE, name), written(keys::EXECUTOR_RESOURCE, name));
        let is_written = |key: &str| properties.origin(key).is_some_and(Origin::is_command_line);
        let is_usage = is_written(&task_key) || is_written(&executor_key);
        let value = properties.get(&task_key).unwrap_or_default().to_owned();
        return Err(match properties.get(&executor_key) {
            Some(_) => SettingError::TooFewAddresses { task_key, value, executor_key, each, is_usage },
            None => SettingError::NoAddresses { task_key, value, executor_key, is_usage },
        });
    }
    Ok(())
}

/// The resources that stay partly idle on every executor, because another resource limits the number of its tasks.
/// `cores` are the cores of an executor and of a task, if they are fixed.
///
/// Source: Spark, 4.0.1, which warns of wasted resources.
pub(super) fn idle(
    cores: Option<(Cores, Cores)>,
    executor: &ResourceAmounts,
    task: &TaskResources,
) -> Option<String> {
    let by_cores = cores.map(|(each, task)| {
        let slots = u64::try_from(each.0 / task.0.max(1)).unwrap_or(0);
        (counted(each.0, "core"), slots)
    });
    let by_name = task.iter().filter_map(|(name, amount)| {
        let each = TaskAmount::of_amounts(executor, name);
        Some((format!("{each} of {name}"), amount.tasks_on(each)?))
    });
    let all: Vec<(String, u64)> = by_cores.into_iter().chain(by_name).collect();
    let (scarce, least) = all.iter().min_by_key(|(_, slots)| *slots)?;
    let (idle, most) = all.iter().max_by_key(|(_, slots)| *slots).filter(|(_, most)| most > least)?;
    let tasks = counted(*least, "task");
    Some(format!(
        "an executor has {scarce}, so it runs {tasks} at once; its {idle} would be enough for {most}"
    ))
}

fn executor_key(name: &str) -> String {
    keys::EXECUTOR_RESOURCE.replace("NAME", name)
}

fn task_key(name: &str) -> String {
    keys::TASK_RESOURCE.replace("NAME", name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ApplicationSettings;

    fn settings(pairs: &[&str]) -> Result<ApplicationSettings, SettingError> {
        ApplicationSettings::of(&Properties::parse(pairs.iter().copied())?)
    }

    #[test]
    fn a_task_takes_no_more_than_an_executor_has() {
        let said = |pairs: &[&str]| settings(pairs).expect_err("it cannot run").to_string();
        assert_eq!(
            said(&["spark.task.resource.gpu.amount=0.5"]),
            "spark.task.resource.gpu.amount is 0.5 and spark.executor.resource.gpu.amount is not set: no executor \
             could run a task; set it, too (--executor-resource NAME=AMOUNT)"
        );
        assert_eq!(
            said(&["spark.task.resource.gpu.amount=2", "spark.executor.resource.gpu.amount=1"]),
            "spark.task.resource.gpu.amount is 2 and spark.executor.resource.gpu.amount is 1: no executor could run \
             a task; raise one or lower the other"
        );
        assert_eq!(
            said(&["spark.task.resource.gpu.amount=0.6", "spark.executor.resource.gpu.amount=1"]),
            "spark.task.resource.gpu.amount cannot be \"0.6\": write a whole number, or a fraction from 0.0001 to \
             0.5 by which tasks share an address"
        );
        for amount in ["0", "0.25", "1", "2"] {
            let task = format!("spark.task.resource.gpu.amount={amount}");
            assert!(settings(&[&task, "spark.executor.resource.gpu.amount=2"]).is_ok(), "{amount}");
        }
    }

    #[test]
    fn a_task_takes_no_more_than_the_part_of_an_address_that_its_executor_has() {
        let [quarter, half] =
            ["spark.executor.resource.gpu.amount=0.25", "spark.executor.resource.gpu.amount=0.5"];
        let task = |amount: &str| format!("spark.task.resource.gpu.amount={amount}");
        for (executor, amount, tasks) in [(quarter, "0.25", 1), (half, "0.25", 2), (half, "0.3", 1)] {
            let settings = settings(&[executor, &task(amount)]).expect("it can run");
            let [each] = ["gpu"].map(|name| TaskAmount::of_amounts(&settings.executor_resources, name));
            assert_eq!(settings.task_resources["gpu"].tasks_on(each), Some(tasks), "{executor} {amount}");
        }
        for amount in ["0.26", "0.5", "1"] {
            let said = settings(&[quarter, &task(amount)]).expect_err("it cannot run").to_string();
            let sentence = format!(
                "spark.task.resource.gpu.amount is {amount} and spark.executor.resource.gpu.amount is 0.25: no executor \
                 could run a task; raise one or lower the other"
            );
            assert_eq!(said, sentence);
        }
    }

    #[test]
    fn a_kind_is_part_of_the_name_or_a_property() {
        let of = |pairs: &[&str]| settings(pairs).map(|settings| settings.executor_resources);
        let a100 = ResourceAmounts::from([("gpu:A100".to_owned(), Amount::Whole(1))]);
        assert_eq!(of(&["spark.executor.resource.gpu:A100.amount=1"]), Ok(a100.clone()));
        let kind = "firesteel.executor.resource.gpu.kind=A100";
        assert_eq!(of(&["spark.executor.resource.gpu.amount=1", kind]), Ok(a100));
        assert!(
            of(&["spark.executor.resource.gpu.amount=1", "firesteel.executor.resource.gpu.kind=A 100"])
                .is_err()
        );
        let tasks = ["spark.executor.resource.gpu:A100.amount=1", "spark.task.resource.gpu.amount=1"];
        assert!(settings(&tasks).is_ok());
    }

    #[test]
    fn what_stays_idle_is_told() {
        let said = |pairs: &[&str]| settings(pairs).expect("they fit").idle_resources();
        let gpus = ["spark.executor.resource.gpu.amount=2", "spark.task.resource.gpu.amount=1"];
        let [executor, task] = gpus;
        assert_eq!(said(&[executor, task]), None, "nobody knows how many cores there will be");
        assert_eq!(said(&[executor, task, "spark.executor.cores=2"]), None);
        assert_eq!(
            said(&[executor, task, "spark.executor.cores=8"]).as_deref(),
            Some("an executor has 2 of gpu, so it runs 2 tasks at once; its 8 cores would be enough for 8")
        );
        assert_eq!(
            said(&[executor, "spark.task.resource.gpu.amount=0.5", "spark.executor.cores=1"]).as_deref(),
            Some("an executor has 1 core, so it runs 1 task at once; its 2 of gpu would be enough for 4")
        );
    }
}
