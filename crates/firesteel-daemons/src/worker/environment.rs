//! The environment variables of an executor.
//!
//! | variable | value |
//! |---|---|
//! | `FIRESTEEL_APP_ID` | the application's id |
//! | `FIRESTEEL_EXECUTOR_ID` | the executor's number in the application |
//! | `FIRESTEEL_WORKER_ID` | the Worker's id |
//! | `FIRESTEEL_EXECUTOR_DIR` | the executor's own directory, in which it starts unless the application says otherwise |
//! | `FIRESTEEL_FILES_DIR` | the directory of the files that the application brings, if it brings any |
//! | `FIRESTEEL_CORES` | the number of cores |
//! | `FIRESTEEL_MEMORY_MIB` | the memory in MiB |
//! | `FIRESTEEL_RESOURCE_<NAME>` | the executor's addresses of this resource, separated by commas |
//!
//! Precedence: these variables, then those that the application asked for, then the Worker's own environment.

use std::collections::BTreeMap;
use std::path::Path;

use firesteel_core::ids::WorkerId;
use firesteel_core::secret::EXECUTOR_SECRET;
use firesteel_core::worker::ExecutorPlan;
use firesteel_placement::Resources;

use super::work_directory::files_of;

/// The variable with the id of the application.
pub const APP_ID: &str = "FIRESTEEL_APP_ID";
/// The variable with the executor's number in its application.
pub const EXECUTOR_ID: &str = "FIRESTEEL_EXECUTOR_ID";
/// The variable with the id of the cluster driver.
pub const DRIVER_ID: &str = "FIRESTEEL_DRIVER_ID";
/// The variable with the Masters of the cluster, which commands like `firesteel map` read.
pub const MASTER: &str = "MASTER";
/// The variable with the id of the Worker.
pub const WORKER_ID: &str = "FIRESTEEL_WORKER_ID";
/// The variable with the executor's own directory.
pub const EXECUTOR_DIR: &str = "FIRESTEEL_EXECUTOR_DIR";
/// The variable with the directory of the application's files.
pub const FILES_DIR: &str = "FIRESTEEL_FILES_DIR";
/// The variable with the number of cores.
pub const CORES: &str = "FIRESTEEL_CORES";
/// The variable with the memory in MiB.
pub const MEMORY_MIB: &str = "FIRESTEEL_MEMORY_MIB";
/// The prefix of the variables with resource addresses.
pub const RESOURCE: &str = "FIRESTEEL_RESOURCE_";
/// The prefix of the variables with the resource addresses that a task may use.
pub const TASK_RESOURCE: &str = "FIRESTEEL_TASK_RESOURCE_";

/// All variables that this executor gets on top of the Worker's environment: those that its command asks for, and ours.
#[must_use]
pub fn of(
    plan: &ExecutorPlan,
    asked: &BTreeMap<String, String>,
    worker: &WorkerId,
    directory: &Path,
) -> BTreeMap<String, String> {
    let mut variables = asked.clone();
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

/// The variables that a task gets on top of its executor's environment: `FIRESTEEL_TASK_RESOURCE_<NAME>`,
/// with the addresses separated by commas.
pub fn of_task(resources: &Resources) -> impl Iterator<Item = (String, String)> {
    addresses(TASK_RESOURCE, resources)
}

/// The variables of these resources, such as `FIRESTEEL_RESOURCE_GPU`. Characters that a variable's name
/// cannot have become `_`.
fn addresses(prefix: &str, resources: &Resources) -> impl Iterator<Item = (String, String)> {
    let fit = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    resources.iter().map(move |(resource, addresses)| {
        let name: String = resource.chars().map(fit).collect();
        (format!("{prefix}{name}"), addresses.collect::<Vec<_>>().join(","))
    })
}

/// By which a service manager tells a daemon how it is watched.
const SERVICE_MANAGER: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// The names of the Worker's own variables that its executors must not inherit. A Worker that runs inside
/// another Worker's executor, or in one of its tasks, has resource addresses of its own, and its executors have
/// other secrets. What the service manager watches is the Worker.
pub fn not_inherited() -> impl Iterator<Item = std::ffi::OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let text = name.to_string_lossy();
        text.starts_with(RESOURCE)
            || text.starts_with(TASK_RESOURCE)
            || name == FILES_DIR
            || name == EXECUTOR_SECRET
            || SERVICE_MANAGER.contains(&&*text)
    })
}

/// The Worker's own variables, as far as executors inherit them and they are text.
#[must_use]
pub fn inherited() -> BTreeMap<String, String> {
    let mut variables: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    for name in not_inherited() {
        variables.remove(&*name.to_string_lossy());
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::executor_runner::tests::plan;

    #[test]
    fn an_executors_own_variables_win_over_those_that_were_asked_for() {
        let mut plan = plan("true", &[]);
        let asked = [("COLOUR", "red"), (CORES, "64")];
        let asked = asked.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        for address in ["1", "0"] {
            plan.resources.insert("gpu-a100", address);
        }
        plan.files.push("tool".to_owned());
        let variables = of(&plan, &asked, &WorkerId::new("worker-1"), Path::new("/srv/app-1/3"));
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
