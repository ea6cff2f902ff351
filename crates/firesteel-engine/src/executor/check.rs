//! The invariants of an executor after every event.

use firesteel_placement::Cores;
use firesteel_protocol::machine::{Violation, ensure};

use super::task::Task;
use super::{Executor, Phase};

pub(super) fn check(executor: &Executor) -> Result<(), Violation> {
    let (cores, tasks) = (executor.config.cores, &executor.tasks);
    let used: Cores = tasks.values().map(Task::cores).sum();
    ensure!("executor", tasks.is_empty() || used <= cores, "{used} of {cores} cores are used");
    for (attempt, task) in tasks {
        ensure!("executor", task.cores() >= Cores(1), "task {attempt} takes {} cores", task.cores());
    }
    match executor.phase {
        Phase::Serving => {}
        Phase::Ending { .. } => {
            for (attempt, task) in tasks {
                ensure!("executor", !task.is_wanted(), "task {attempt} was not told that the executor ends");
            }
            ensure!("executor", !tasks.is_empty(), "no task is left, and the executor has not exited");
        }
        Phase::Exited => {
            ensure!("executor", tasks.is_empty(), "exited with {} tasks", tasks.len());
        }
    }
    executor.effects.check("executor")?;
    Ok(())
}
