//! The invariants of a driver after every event.

use firesteel_placement::ExecutorLimit;
use firesteel_protocol::machine::{Violation, ensure};

use super::executors::executor::Trust;
use super::{Allocation, Driver, Phase};

pub(super) fn check(driver: &Driver) -> Result<(), Violation> {
    let wrong = |sentence| Err(Violation { machine: "driver", sentence });
    if let Some(sentence) = driver.registration.contradiction() {
        return wrong(sentence);
    }
    if let Some(sentence) = driver.tasks.contradiction(driver.executors.reach()) {
        return wrong(sentence);
    }
    let takes = |task, executor| {
        let (at, _) = driver.tasks.phase(task)?.at()?;
        (at == executor).then(|| driver.tasks.needs(task)).flatten()
    };
    if let Some(sentence) = driver.executors.contradiction(takes) {
        return wrong(sentence);
    }
    check_tasks(driver)?;
    check_peers(driver)?;
    check_exclusion(driver)?;
    check_allocation(driver)?;
    driver.effects.check("driver")
}

/// Checks that tasks run where executors run them, that no task exceeds its failure limit, and that all tasks are
/// counted.
fn check_tasks(driver: &Driver) -> Result<(), Violation> {
    let (tasks, executors) = (&driver.tasks, &driver.executors);
    for (id, task) in tasks.iter() {
        let limit = task.max_failures.unwrap_or(driver.config.max_task_failures).max(1);
        ensure!("driver", task.failures < limit, "task {id} goes on after {} failures", task.failures);
        if let Some((executor, attempt)) = task.phase.at() {
            let there = executors.get(executor).is_some_and(|row| row.runs(id));
            ensure!("driver", there, "task {attempt} runs on executor {executor}, which does not run it");
        }
    }
    let tally = tasks.tally();
    let counted =
        tally.succeeded + tally.failed + tally.cancelled + tally.waiting as u64 + tally.running as u64;
    ensure!(
        "driver",
        counted == tally.submitted || driver.is_done(),
        "{} tasks were submitted, and {counted} can be accounted for",
        tally.submitted
    );
    if let Phase::Draining { .. } = driver.phase {
        let waits = driver.farewell.is_some() && driver.registration.master().is_none();
        ensure!("driver", !tasks.is_empty() || waits, "no task is left, and the application is not done");
    }
    Ok(())
}

/// Checks that a connection is early, registered or closing, and that open questions have a Master.
fn check_peers(driver: &Driver) -> Result<(), Violation> {
    let is_registered = |peer| driver.executors.of_peer(peer).is_some();
    let app = driver.registration.app();
    for (peer, new_executor) in &driver.early {
        ensure!("driver", !is_registered(*peer), "connection {peer} is early and registered");
        let is_due = app == Some(&new_executor.app) && driver.executors.is_known(new_executor.executor);
        ensure!(
            "driver",
            !is_due,
            "executor {} still waits to be announced, although the Master has announced it",
            new_executor.executor
        );
    }
    for peer in driver.closing.iter() {
        ensure!("driver", !is_registered(peer), "connection {peer} is closing and registered");
    }
    let unanswered = driver.questions.len();
    ensure!(
        "driver",
        unanswered == 0 || driver.registration.master().is_some(),
        "{unanswered} questions wait for an answer, but no Master is connected"
    );
    Ok(())
}

/// Checks that the health tracker and the executors agree, and that not every executor is excluded.
fn check_exclusion(driver: &Driver) -> Result<(), Violation> {
    let executors = &driver.executors;
    let could = || executors.iter().map(|(_, row)| row).filter(|row| row.could_offer());
    ensure!(
        "driver",
        could().count() == 0 || could().any(|row| row.trust == Trust::Trusted),
        "every executor is excluded"
    );
    for (id, row) in executors.iter() {
        let excluded = driver.health.is_excluded(id, &row.host);
        ensure!("driver", excluded == (row.trust == Trust::Excluded), "executor {id}: {:?}", row.trust);
    }
    Ok(())
}

/// Checks that, with dynamic allocation, targets are within their bounds and the idle executors are recorded.
fn check_allocation(driver: &Driver) -> Result<(), Violation> {
    let bounds = match driver.config.allocation {
        Allocation::Dynamic(bounds) if !driver.is_done() => bounds,
        Allocation::Dynamic(_) | Allocation::Fixed => return Ok(()),
    };
    for (id, target) in driver.targets.iter() {
        let within = matches!(target, ExecutorLimit::AtMost(total) if bounds.clamp(total) == total);
        ensure!("driver", within, "the target of profile {id} is {target:?}, out of {bounds:?}");
    }
    let idle = driver.executors.iter().filter(|(_, row)| row.is_idle()).map(|(id, _)| id);
    ensure!("driver", idle.eq(driver.scaling.idle()), "executors are idle that are taken for busy, or busy");
    Ok(())
}
