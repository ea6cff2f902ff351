//! The environment variables of an executor.
//!
//! | variable | value |
//! |---|---|
//! | `FIRESTEEL_APP_ID` | the application's id |
//! | `FIRESTEEL_EXECUTOR_ID` | the executor's number in the application |
//! | `FIRESTEEL_WORKER_ID` | the Worker's id |
//! | `FIRESTEEL_USER` | the user whom the secret of the submitter proves, if it proves one |
//! | `FIRESTEEL_EXECUTOR_DIR` | the executor's own directory, in which it starts unless the application names another |
//! | `FIRESTEEL_FILES_DIR` | the directory of the application's files, if it has any |
//! | `FIRESTEEL_CORES` | the number of cores |
//! | `FIRESTEEL_MEMORY_MIB` | the memory in MiB |
//! | `FIRESTEEL_RESOURCE_<NAME>` | the executor's addresses of this resource, separated by commas |
//! | `FIRESTEEL_RESOURCE_<NAME>_SHARE` | the executor's fraction of the address, such as `0.25`, if it is below 1 |
//! | `FIRESTEEL_RESOURCE_<NAME>_KIND` | the kind of these addresses, if the Worker reports it |
//!
//! If an application sets `FIRESTEEL_CUDA` to the name of a resource, as Firesteel's own do that ask for `gpu`, its
//! executors also get the addresses in CUDA's own variables. An executor without addresses of that resource keeps the
//! values that it inherits.
//!
//! | variable | value |
//! |---|---|
//! | `CUDA_VISIBLE_DEVICES` | the addresses, separated by commas |
//! | `CUDA_DEVICE_ORDER` | `PCI_BUS_ID`, the order of nvidia-smi's numbers |
//! | `CUDA_MPS_ACTIVE_THREAD_PERCENTAGE` | the fraction of the address in percent, if it is below 100 |
//!
//! Precedence: these variables, then the variables of the application's command, then the Worker's own environment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use firesteel_placement::advanced::resources::without_kind;
use firesteel_placement::{Quantity, Resources};
use firesteel_protocol::byte_text;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::process::PROVEN_USER;
use firesteel_protocol::secret::EXECUTOR_SECRET;
use firesteel_settings::CUDA;
use firesteel_settings::secrets::is_secret;
use firesteel_worker::ExecutorPlan;

use super::directories::work_directory::files_of;

pub const APP_ID: &str = "FIRESTEEL_APP_ID";
/// The variable with the executor's number in its application.
pub const EXECUTOR_ID: &str = "FIRESTEEL_EXECUTOR_ID";
pub const DRIVER_ID: &str = "FIRESTEEL_DRIVER_ID";
/// The variable with the Masters of the cluster, which commands like `firesteel map` read.
pub const MASTER: &str = "MASTER";
pub const WORKER_ID: &str = "FIRESTEEL_WORKER_ID";
pub const EXECUTOR_DIR: &str = "FIRESTEEL_EXECUTOR_DIR";
pub const FILES_DIR: &str = "FIRESTEEL_FILES_DIR";
pub const CORES: &str = "FIRESTEEL_CORES";
pub const MEMORY_MIB: &str = "FIRESTEEL_MEMORY_MIB";
/// The prefix of the variables with resource addresses.
pub const RESOURCE: &str = "FIRESTEEL_RESOURCE_";
/// The prefix of the variables with the resource addresses that a task may use.
pub const TASK_RESOURCE: &str = "FIRESTEEL_TASK_RESOURCE_";
/// The variable with the devices that CUDA shows to a program.
const CUDA_VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";
/// The variable with the order in which CUDA numbers devices. nvidia-smi numbers them as they are on the bus.
const CUDA_DEVICE_ORDER: &str = "CUDA_DEVICE_ORDER";
/// The variable with the share of a device, in percent, that CUDA's Multi-Process Service gives a program.
const CUDA_MPS_PERCENTAGE: &str = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE";

/// All variables that this executor gets in addition to the Worker's environment: the variables of its command, and
/// Firesteel's own variables.
#[must_use]
pub fn of(
    plan: &ExecutorPlan,
    asked: &BTreeMap<String, String>,
    worker: &WorkerId,
    directory: &Path,
) -> BTreeMap<String, String> {
    let mut variables = asked.clone();
    variables.extend(of_resources(&plan.resources, &plan.on_worker, asked));
    variables.extend([
        (APP_ID.to_owned(), plan.executor.app.to_string()),
        (EXECUTOR_ID.to_owned(), plan.executor.executor.to_string()),
        (WORKER_ID.to_owned(), worker.to_string()),
        (EXECUTOR_DIR.to_owned(), byte_text::of_os(directory)),
        (CORES.to_owned(), plan.cores.0.to_string()),
        (MEMORY_MIB.to_owned(), plan.memory.0.to_string()),
    ]);
    if !plan.files.is_empty() {
        let files = directory.with_file_name(files_of(worker));
        variables.insert(FILES_DIR.to_owned(), byte_text::of_os(files));
    }
    variables
}

/// The variables for the custom resources of an executor or a cluster driver. `on_worker` are the same resources under
/// the Worker's own names. `asked` are the variables of the command.
pub(super) fn of_resources(
    given: &Resources,
    on_worker: &Resources,
    asked: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let mut variables: Vec<_> = addresses(RESOURCE, given).collect();
    variables.extend(parts_and_kinds(given, on_worker));
    variables.extend(cuda(asked.get(CUDA).map(String::as_str), given));
    variables
}

/// The variables that a task gets in addition to its executor's environment: `FIRESTEEL_TASK_RESOURCE_<NAME>`, with the
/// addresses separated by commas. `asked` is the executor's variable [`CUDA`]. If a task uses addresses of the resource
/// named there, CUDA shows the task only these addresses.
pub fn of_task(resources: &Resources, asked: Option<&str>) -> impl Iterator<Item = (String, String)> {
    addresses(TASK_RESOURCE, resources).chain(cuda(asked, resources))
}

/// The variables with these addresses, such as `FIRESTEEL_RESOURCE_GPU`. The kinds of the addresses are left out.
fn addresses(prefix: &str, resources: &Resources) -> impl Iterator<Item = (String, String)> {
    let names: BTreeSet<&str> = resources.iter().map(|(name, _)| without_kind(name)).collect();
    names.into_iter().map(move |name| (format!("{prefix}{}", variable(name)), listed(name, resources)))
}

/// The variables that give the fraction of an address and the kinds.
fn parts_and_kinds(resources: &Resources, on_worker: &Resources) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for name in resources.iter().map(|(name, _)| without_kind(name)) {
        if let Some(part) = part_of(name, resources) {
            all.push((format!("{RESOURCE}{}_SHARE", variable(name)), part.to_string()));
        }
        let kinds: Vec<&str> = on_worker.kinds(name).into_iter().collect();
        if !kinds.is_empty() {
            all.push((format!("{RESOURCE}{}_KIND", variable(name)), kinds.join(",")));
        }
    }
    all
}

/// CUDA's variables for the resource that the application names. Empty without addresses of this resource.
fn cuda(asked: Option<&str>, resources: &Resources) -> Vec<(String, String)> {
    let Some(name) = asked.filter(|name| resources.count(name) > 0) else { return Vec::new() };
    let mut all = vec![
        (CUDA_VISIBLE_DEVICES.to_owned(), listed(name, resources)),
        (CUDA_DEVICE_ORDER.to_owned(), "PCI_BUS_ID".to_owned()),
    ];
    if let Some(part) = part_of(name, resources) {
        all.push((CUDA_MPS_PERCENTAGE.to_owned(), part.times(100).to_string()));
    }
    all
}

/// The addresses of a resource, separated by commas.
fn listed(name: &str, resources: &Resources) -> String {
    of_resource(name, resources).map(|(address, _)| address).collect::<Vec<_>>().join(",")
}

/// The fraction of the address of a resource. `None` if whole addresses are used.
fn part_of(name: &str, resources: &Resources) -> Option<Quantity> {
    of_resource(name, resources).map(|(_, part)| part).find(|part| *part < Quantity::whole(1))
}

/// The addresses of a resource, of any kind, each with the fraction that is used.
fn of_resource<'a>(name: &'a str, resources: &'a Resources) -> impl Iterator<Item = (&'a str, Quantity)> {
    let of_it = resources.parts().filter(move |(resource, ..)| without_kind(resource) == without_kind(name));
    of_it.map(|(_, address, part)| (address, part))
}

/// A name, converted to the name of a variable. Other characters become `_`.
fn variable(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().map(fit).collect()
}

/// The variables with which a service manager tells a daemon how it is watched.
const SERVICE_MANAGER: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// The names of the Worker's own variables that its executors must not inherit. A Worker that runs inside another
/// Worker's executor or task has inherited resource addresses and secrets that its own executors must not use. The
/// service manager watches only the Worker. Passwords and keys of a cloud are for the Worker, if for anybody.
pub fn not_inherited() -> impl Iterator<Item = std::ffi::OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let text = name.to_string_lossy();
        text.starts_with(RESOURCE)
            || text.starts_with(TASK_RESOURCE)
            || name == FILES_DIR
            || name == CUDA
            || name == EXECUTOR_SECRET
            || name == PROVEN_USER
            || SERVICE_MANAGER.contains(&&*text)
            || is_secret(&text)
    })
}

/// The Worker's own variables that executors inherit.
#[must_use]
pub fn inherited() -> BTreeMap<String, String> {
    let mut variables: BTreeMap<String, String> =
        std::env::vars_os().map(|(name, value)| (byte_text::of_os(name), byte_text::of_os(value))).collect();
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
            plan.on_worker.insert("gpu-a100", address);
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

    #[test]
    fn an_executor_is_told_its_part_of_an_address_and_the_kind() {
        let mut plan = plan("true", &[]);
        plan.resources = Resources::of_words([("gpu", ["7@0.125"])]).expect("it is one");
        plan.on_worker = Resources::of_words([("gpu:A100", ["7@0.125"])]).expect("it is one");
        let found = |plan: &ExecutorPlan, asked: &[(&str, &str)]| {
            let asked = asked.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let all = of(plan, &asked, &WorkerId::new("worker-1"), Path::new("/srv/app-1/3"));
            let some = all.into_iter().filter(|(name, _)| name.contains("GPU") || name.contains("CUDA_"));
            some.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        let own = [
            "FIRESTEEL_RESOURCE_GPU=7",
            "FIRESTEEL_RESOURCE_GPU_KIND=A100",
            "FIRESTEEL_RESOURCE_GPU_SHARE=0.125",
        ];
        assert_eq!(found(&plan, &[]), own);
        let order = "CUDA_DEVICE_ORDER=PCI_BUS_ID";
        let cuda = [order, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=12.5", "CUDA_VISIBLE_DEVICES=7"];
        assert_eq!(found(&plan, &[(CUDA, "gpu")]), [&cuda[..], &own].concat());
        plan.resources = Resources::from_iter([("gpu:A100", ["7", "8"])]);
        plan.on_worker = plan.resources.clone();
        let kind = "FIRESTEEL_RESOURCE_GPU_KIND=A100";
        let whole = [order, "CUDA_VISIBLE_DEVICES=7,8", "FIRESTEEL_RESOURCE_GPU=7,8", kind];
        assert_eq!(found(&plan, &[(CUDA, "gpu")]), whole);
        plan.resources = Resources::default();
        plan.on_worker = Resources::default();
        assert_eq!(found(&plan, &[(CUDA, "gpu")]), [""; 0], "it keeps what it inherits");
    }

    #[test]
    fn a_task_is_shown_the_devices_that_it_takes() {
        let taken = Resources::from_iter([("gpu", ["7"])]);
        let of = |resources: &Resources, asked| of_task(resources, asked).collect::<Vec<_>>();
        let own = ("FIRESTEEL_TASK_RESOURCE_GPU".to_owned(), "7".to_owned());
        assert_eq!(of(&taken, None), std::slice::from_ref(&own));
        let devices = (CUDA_VISIBLE_DEVICES.to_owned(), "7".to_owned());
        let order = (CUDA_DEVICE_ORDER.to_owned(), "PCI_BUS_ID".to_owned());
        assert_eq!(of(&taken, Some("gpu")), [own.clone(), devices, order]);
        assert_eq!(of(&Resources::default(), Some("gpu")), [], "it keeps those of its executor");
    }
}
