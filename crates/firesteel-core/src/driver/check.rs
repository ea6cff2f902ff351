//! What holds of a driver after every event.

use super::tasks::Place;
use super::{Driver, Phase};
use crate::machine::{Violation, ensure};

pub(super) fn check(driver: &Driver) -> Result<(), Violation> {
    let (tasks, executors) = (&driver.tasks, &driver.executors);
    let wrong = |sentence| Err(Violation { machine: "driver", sentence });
    if let Some(sentence) = driver.registration.contradiction() {
        return wrong(sentence);
    }
    if let Some(sentence) = tasks.contradiction() {
        return wrong(sentence);
    }
    let takes = |task, executor| {
        let attempt = tasks.attempt_of(task)?;
        let (spec, at) = (tasks.spec(task)?, tasks.executor_of(attempt)?);
        (at == executor).then(|| spec.cores_taken())
    };
    if let Some(sentence) = executors.contradiction(takes) {
        return wrong(sentence);
    }
    for (id, task) in tasks.iter() {
        let limit = driver.config.max_task_failures.max(1);
        ensure!("driver", task.failures < limit, "task {id} goes on after {} failures", task.failures);
        if let Place::Running { executor, attempt, .. } = &task.place {
            let there = executors.get(*executor).is_some_and(|row| row.running().contains(&id));
            ensure!("driver", there, "task {attempt} runs on executor {executor}, which does not run it");
        }
    }
    let tally = tasks.tally();
    let counted = tally.succeeded + tally.failed + tally.waiting as u64 + tally.running as u64;
    ensure!(
        "driver",
        counted == tally.submitted || driver.phase == Phase::Done,
        "{} tasks were submitted, and {counted} can be accounted for",
        tally.submitted
    );
    for peer in driver.early.keys() {
        ensure!("driver", executors.of_peer(*peer).is_none(), "connection {peer} is early and registered");
    }
    for peer in &driver.closing {
        ensure!("driver", executors.of_peer(*peer).is_none(), "connection {peer} is closing and registered");
    }
    if driver.phase == Phase::Draining {
        ensure!("driver", !tasks.is_empty(), "no task is left, and the application is not done");
    }
    ensure!("driver", driver.effects.is_empty(), "an effect was kept back");
    Ok(())
}
