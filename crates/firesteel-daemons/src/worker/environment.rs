//! The variables that an executor finds in its environment.
//!
//! | variable | value |
//! |---|---|
//! | `FIRESTEEL_APP_ID` | its application's id |
//! | `FIRESTEEL_EXECUTOR_ID` | its number there |
//! | `FIRESTEEL_WORKER_ID` | its Worker's id |
//! | `FIRESTEEL_EXECUTOR_DIR` | its own directory, in which it starts unless the application says otherwise |
//! | `FIRESTEEL_FILES_DIR` | where the files are that its application brings, if it does |
//! | `FIRESTEEL_CORES` | its cores |
//! | `FIRESTEEL_MEMORY_MIB` | its memory in MiB |
//! | `FIRESTEEL_RESOURCE_<NAME>` | the addresses of that resource that are its own, with commas between |
//!
//! They come on top of the Worker's own environment and of what the application asked for, and win over both.

use std::collections::BTreeMap;
use std::path::Path;

use firesteel_core::ids::WorkerId;
use firesteel_core::worker::ExecutorPlan;
use firesteel_placement::Resources;

use super::work_directory::files_of;

/// Its application's id.
pub const APP_ID: &str = "FIRESTEEL_APP_ID";
/// Its number there.
pub const EXECUTOR_ID: &str = "FIRESTEEL_EXECUTOR_ID";
/// Its Worker's id.
pub const WORKER_ID: &str = "FIRESTEEL_WORKER_ID";
/// Its own directory.
pub const EXECUTOR_DIR: &str = "FIRESTEEL_EXECUTOR_DIR";
/// Where the files are that its application brings.
pub const FILES_DIR: &str = "FIRESTEEL_FILES_DIR";
/// Its cores.
pub const CORES: &str = "FIRESTEEL_CORES";
/// Its memory in MiB.
pub const MEMORY_MIB: &str = "FIRESTEEL_MEMORY_MIB";
/// What the name of a resource's variable begins with.
pub const RESOURCE: &str = "FIRESTEEL_RESOURCE_";
/// The same for the addresses that a task of the executor may use.
pub const TASK_RESOURCE: &str = "FIRESTEEL_TASK_RESOURCE_";

/// Everything that is added to the Worker's environment for this executor.
#[must_use]
pub fn of(plan: &ExecutorPlan, worker: &WorkerId, directory: &Path) -> BTreeMap<String, String> {
    let mut variables = plan.command.environment.clone();
    variables.extend(addresses(RESOURCE, &plan.resources));
    variables.extend([
        (APP_ID.to_owned(), plan.executor.app.to_string()),
        (EXECUTOR_ID.to_owned(), plan.executor.executor.to_string()),
        (WORKER_ID.to_owned(), worker.to_string()),
        (EXECUTOR_DIR.to_owned(), directory.display().to_string()),
        (CORES.to_owned(), plan.cores.0.to_string()),
        (MEMORY_MIB.to_owned(), plan.memory.0.to_string()),
    ]);
    if !plan.files.is_empty() {
        let files = directory.with_file_name(files_of(worker));
        variables.insert(FILES_DIR.to_owned(), files.display().to_string());
    }
    variables
}

/// What is added to an executor's environment for a task that may use these addresses:
/// `FIRESTEEL_TASK_RESOURCE_<NAME>`, with commas between.
pub fn of_task(resources: &Resources) -> impl Iterator<Item = (String, String)> {
    addresses(TASK_RESOURCE, resources)
}

/// `FIRESTEEL_RESOURCE_GPU`; what may not stand in a variable's name becomes `_`.
fn addresses(prefix: &str, resources: &Resources) -> impl Iterator<Item = (String, String)> {
    let fit = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    resources.iter().map(move |(resource, addresses)| {
        let name: String = resource.chars().map(fit).collect();
        (format!("{prefix}{name}"), addresses.collect::<Vec<_>>().join(","))
    })
}

/// The names of the Worker's own variables that its executors must not inherit: a Worker that runs inside
/// another Worker's executor, or in a task of one, has those addresses.
pub fn not_inherited() -> impl Iterator<Item = std::ffi::OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let text = name.to_string_lossy();
        text.starts_with(RESOURCE) || text.starts_with(TASK_RESOURCE) || name == FILES_DIR
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::executor_runner::tests::plan;

    #[test]
    fn an_executors_own_variables_win_over_those_that_were_asked_for() {
        let mut plan = plan("true", &[]);
        for (name, value) in [("COLOUR", "red"), (CORES, "64")] {
            plan.command.environment.insert(name.to_owned(), value.to_owned());
        }
        for address in ["1", "0"] {
            plan.resources.insert("gpu-a100", address);
        }
        plan.files.push("tool".to_owned());
        let variables = of(&plan, &WorkerId::new("worker-1"), Path::new("/srv/app-1/3"));
        let expected = [
            ("COLOUR", "red"),
            ("FIRESTEEL_APP_ID", "app-1"),
            ("FIRESTEEL_CORES", "2"),
            ("FIRESTEEL_EXECUTOR_DIR", "/srv/app-1/3"),
            ("FIRESTEEL_EXECUTOR_ID", "3"),
            ("FIRESTEEL_FILES_DIR", "/srv/app-1/files-worker-1"),
            ("FIRESTEEL_MEMORY_MIB", "512"),
            ("FIRESTEEL_RESOURCE_GPU_A100", "0,1"),
            ("FIRESTEEL_WORKER_ID", "worker-1"),
        ];
        let found: Vec<(&str, &str)> = variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(found, expected);
    }
}
