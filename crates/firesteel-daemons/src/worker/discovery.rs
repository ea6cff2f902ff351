//! Finds the addresses of a Worker's custom resources: in Spark's file, by discovery scripts, and by nvidia-smi.
//!
//! Source: Spark ResourceUtils, 4.0.1, which has no time limit for scripts and no defaults for GPUs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use std::{fs, io};

use firesteel_host::plain;
use firesteel_host::process::process_group::ProcessGroup;
use firesteel_placement::Resources;
use firesteel_placement::advanced::resources::without_kind;
use firesteel_protocol::process::Signal;
use firesteel_settings::resources::{GPU, MOST, ResourceRequest, WorkerResources, is_name};
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

/// How long a program may take to print addresses.
const PATIENCE: Duration = Duration::from_secs(30);

/// The maximum length of what a program prints, in bytes.
const LONGEST: u64 = 1 << 20;

/// The component of a Worker's resources in Spark's file.
const COMPONENT: &str = "spark.worker";

/// The program that comes with the driver of NVIDIA's GPUs.
const NVIDIA_SMI: &str = "nvidia-smi";

/// Why the addresses of a custom resource are not known.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    #[error("{path}: {error}")]
    File { path: PathBuf, error: Unreadable },
    #[error("the resource {name:?}: {program}: {error}")]
    Program { name: String, program: String, error: NotPrinted },
    #[error(
        "the resource {name:?}: there are {found} addresses, and spark.worker.resource.{name}.amount is {amount}"
    )]
    TooFew { name: String, found: usize, amount: usize },
    #[error("the resource {name:?}: {address:?} cannot be an address: letters, digits and -_.: can")]
    Address { name: String, address: String },
    #[error("the resource {name:?} has the address {address:?} twice")]
    Twice { name: String, address: String },
    #[error("the resource {name:?}: more than {MOST} addresses were found")]
    TooMany { name: String },
}

/// Why a file has no addresses.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error(
        "it is not a list such as [{{\"id\": {{\"componentName\": \"spark.worker\", \"resourceName\": \"gpu\"}}, \"addresses\": \
         [\"0\"]}}]: {0}"
    )]
    Json(#[from] serde_json::Error),
}

/// Why a program has printed no addresses.
#[derive(Debug, thiserror::Error)]
pub enum NotPrinted {
    #[error("it cannot be run: {0}")]
    Io(#[from] io::Error),
    #[error("it has not ended within {} s", PATIENCE.as_secs())]
    Late,
    /// With the last line of its standard error.
    #[error("it failed with {status}{said}")]
    Failed { status: std::process::ExitStatus, said: String },
    #[error(
        "it printed {said:?}, and not a line such as {{\"name\": \"gpu\", \"addresses\": [\"0\", \"1\"]}}: {error}"
    )]
    Json { said: String, error: serde_json::Error },
    #[error("it printed addresses of {0:?}")]
    Other(String),
}

/// The addresses of one resource of a component, in Spark's file.
#[derive(Debug, Deserialize)]
struct Allocation {
    id: ResourceId,
    addresses: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceId {
    component_name: String,
    resource_name: String,
}

/// What a discovery script prints.
#[derive(Debug, Deserialize)]
struct Printed {
    name: String,
    addresses: Vec<String>,
}

/// Finds all addresses. Programs run as the user of the Worker, one after the other.
///
/// # Errors
/// A file or a program does not give what it should. As in Spark, the Worker then does not start.
pub async fn discover(wanted: WorkerResources) -> Result<Resources, DiscoveryError> {
    let WorkerResources { flags, requests, file, has_gpus } = wanted;
    let is_given = |name: &str| flags.iter().any(|(flag, _)| without_kind(flag) == without_kind(name));
    let mut in_file = match file {
        Some(path) => read(&path).map_err(|error| DiscoveryError::File { path, error })?,
        None => BTreeMap::new(),
    };
    in_file.retain(|name, _| !is_given(name));
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (name, request) in requests {
        let ResourceRequest { name: with_kind, amount, script } = request;
        let found = match (in_file.remove(&name), script) {
            (Some(addresses), _) => addresses,
            (None, Some(script)) => printed(&name, &script).await?,
            (None, None) => (0..amount).map(|address| address.to_string()).collect(),
        };
        if found.len() < amount {
            return Err(DiscoveryError::TooFew { name, found: found.len(), amount });
        }
        all.push((with_kind, found));
    }
    all.extend(in_file);
    if has_gpus && !all.iter().any(|(name, _)| without_kind(name) == GPU) {
        all.extend(gpus(NVIDIA_SMI).await?);
    }
    all.iter().try_for_each(|(name, addresses)| check(name, addresses))?;
    for (name, addresses) in &all {
        tracing::info!("found {} of {name}: {}", addresses.len(), addresses.join(" "));
    }
    let flags = flags.iter().map(|(name, addresses)| {
        (name.to_owned(), addresses.into_iter().map(str::to_owned).collect::<Vec<_>>())
    });
    Ok(flags.chain(all.into_iter().filter(|(_, addresses)| !addresses.is_empty())).collect())
}

fn check(name: &str, addresses: &[String]) -> Result<(), DiscoveryError> {
    if addresses.len() > MOST {
        return Err(DiscoveryError::TooMany { name: name.to_owned() });
    }
    for (index, address) in addresses.iter().enumerate() {
        if !is_name(address) {
            return Err(DiscoveryError::Address { name: name.to_owned(), address: address.clone() });
        }
        if addresses[..index].contains(address) {
            return Err(DiscoveryError::Twice { name: name.to_owned(), address: address.clone() });
        }
    }
    Ok(())
}

/// The addresses of a Worker in Spark's file, by name.
fn read(path: &Path) -> Result<BTreeMap<String, Vec<String>>, Unreadable> {
    let all: Vec<Allocation> = serde_json::from_slice(&fs::read(path)?)?;
    let of_workers = all.into_iter().filter(|it| it.id.component_name == COMPONENT);
    Ok(of_workers.map(|it| (it.id.resource_name, it.addresses)).collect())
}

/// The addresses that a discovery script prints.
async fn printed(name: &str, script: &Path) -> Result<Vec<String>, DiscoveryError> {
    let failed = |error| DiscoveryError::Program {
        name: name.to_owned(),
        program: script.display().to_string(),
        error,
    };
    let said = run(Command::new(script)).await.map_err(failed)?;
    let Printed { name: its, addresses } = serde_json::from_str(&said)
        .map_err(|error| failed(NotPrinted::Json { said: plain::clean(said.trim()), error }))?;
    if its != name {
        return Err(failed(NotPrinted::Other(its)));
    }
    Ok(addresses)
}

/// The GPUs that the driver of this machine shows, by model.
async fn gpus(program: &str) -> Result<Vec<(String, Vec<String>)>, DiscoveryError> {
    let mut command = Command::new(program);
    command.arg("-L");
    match run(command).await {
        Ok(said) => Ok(listed(&said)),
        // No driver, no GPU.
        Err(NotPrinted::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            tracing::warn!("firesteel.worker.gpus=auto: there is no {NVIDIA_SMI} here, so there are no GPUs");
            Ok(Vec::new())
        }
        Err(error) => {
            Err(DiscoveryError::Program { name: GPU.to_owned(), program: program.to_owned(), error })
        }
    }
}

/// Reads the list of `nvidia-smi -L`. A GPU that is divided by MIG is offered as its parts, which have UUIDs; others by
/// their number. Lines of other forms are about GPUs that cannot be used.
///
/// ```text
/// GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-..)
///   MIG 1g.5gb      Device  0: (UUID: MIG-c6d4f1ef-..)
/// GPU 1: Tesla T4 (UUID: GPU-..)
/// ```
fn listed(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut whole: Option<(String, String)> = None;
    let mut offer = |name: String, address: String| match found.iter_mut().find(|(other, _)| *other == name) {
        Some((_, addresses)) => addresses.push(address),
        None => found.push((name, vec![address])),
    };
    for line in text.lines() {
        let uuid =
            line.split_once("(UUID: ").and_then(|(_, rest)| rest.split_once(')')).map(|(uuid, _)| uuid);
        let Some(uuid) = uuid else { continue };
        if let Some(rest) = line.strip_prefix("GPU ") {
            if let Some((name, number)) = whole.take() {
                offer(name, number);
            }
            let Some((number, rest)) = rest.split_once(": ") else { continue };
            let model = rest.split(" (UUID: ").next().unwrap_or_default();
            whole = Some((kind_of(model), number.trim().to_owned()));
        } else if let Some(rest) = line.trim_start().strip_prefix("MIG ") {
            whole = None;
            let profile = rest.split_whitespace().next().unwrap_or_default();
            offer(kind_of(profile), uuid.to_owned());
        }
    }
    if let Some((name, number)) = whole {
        offer(name, number);
    }
    found
}

/// The name of the resource for a model, such as `gpu:A100-SXM4-40GB` for `NVIDIA A100-SXM4-40GB`.
fn kind_of(model: &str) -> String {
    let model = model.trim().trim_start_matches("NVIDIA ");
    let sound =
        |letter: char| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '-' };
    let kind: String = model.chars().map(sound).collect();
    if kind.is_empty() { GPU.to_owned() } else { format!("{GPU}:{kind}") }
}

/// Runs a program to its end, and returns what it printed.
async fn run(mut command: Command) -> Result<String, NotPrinted> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let group = ProcessGroup::of(&child);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let finished = async {
        let (mut said, mut complained) = (Vec::new(), Vec::new());
        let (mut stdout, mut stderr) =
            (stdout.expect("it is a pipe").take(LONGEST), stderr.expect("it is a pipe").take(LONGEST));
        tokio::try_join!(stdout.read_to_end(&mut said), stderr.read_to_end(&mut complained))?;
        io::Result::Ok((child.wait().await?, said, complained))
    };
    let finished = timeout(PATIENCE, finished).await;
    let Ok(finished) = finished else {
        group.signal(Signal::Kill);
        return Err(NotPrinted::Late);
    };
    let (status, said, complained) = finished?;
    if !status.success() {
        let complained = String::from_utf8_lossy(&complained);
        let last = complained.lines().rfind(|line| !line.trim().is_empty());
        let said = last.map(|line| format!(": {}", plain::clean(line.trim()))).unwrap_or_default();
        return Err(NotPrinted::Failed { status, said });
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use firesteel_settings::{Properties, WorkerSettings};

    use super::*;

    /// A directory with programs and files.
    fn with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::write(&path, text).expect("it is written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        directory
    }

    async fn found(directory: &tempfile::TempDir, pairs: &[&str], flags: &[&str]) -> Result<String, String> {
        let at = |pair: &&str| pair.replace("DIR", &directory.path().display().to_string());
        let pairs: Vec<String> = pairs.iter().map(at).collect();
        let properties = Properties::parse(pairs.iter().map(String::as_str)).expect("they are pairs");
        let wanted = WorkerSettings::of(&properties).expect("they are sound").resources;
        let flags = firesteel_settings::resources::parse(flags.iter().copied()).expect("they are resources");
        let found = discover(wanted.with_flags(flags)).await;
        found.map(|found| found.to_string()).map_err(|error| error.to_string())
    }

    const GPUS: &str = "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"0\",\"3\",\"GPU-5d\"]}'\n";

    #[tokio::test]
    async fn addresses_come_from_flags_then_the_file_then_scripts_then_amounts() {
        let file = r#"[{"id": {"componentName": "spark.worker", "resourceName": "gpu"}, "addresses": ["7", "8"]},
            {"id": {"componentName": "spark.worker", "resourceName": "nic"}, "addresses": ["eth0"]},
            {"id": {"componentName": "spark.driver", "resourceName": "fpga"}, "addresses": ["f"]}]"#;
        let directory = with(&[("gpus", GPUS), ("file", file)]);
        let script = "spark.worker.resource.gpu.discoveryScript=DIR/gpus";
        let (amount, file) = ("spark.worker.resource.gpu.amount=2", "spark.worker.resourcesFile=DIR/file");
        for (pairs, flags, expected) in [
            (&[amount][..], &[][..], "gpu=0,1"),
            (&[amount, script], &[], "gpu=0,3,GPU-5d"),
            (&[script], &[], "gpu=0,3,GPU-5d"),
            (&[amount, script, "firesteel.worker.resource.gpu.kind=T4"], &[], "gpu:T4=0,3,GPU-5d"),
            (&[amount, script, file], &[], "gpu=7,8;nic=eth0"),
            (&[file], &["gpu=5,"], "gpu=5;nic=eth0"),
            (&[amount, "spark.worker.resource.gpu.discoveryScript=/nowhere"], &["gpu=5,"], "gpu=5"),
        ] {
            assert_eq!(found(&directory, pairs, flags).await, Ok(expected.to_owned()), "{pairs:?} {flags:?}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_found_is_said_with_its_reason() {
        let directory = with(&[
            ("gpus", GPUS),
            ("fails", "#!/bin/sh\necho first >&2; echo 'no devices were found' >&2; exit 9\n"),
            ("text", "#!/bin/sh\necho GPU 0\n"),
            ("other", "#!/bin/sh\necho '{\"name\": \"fpga\", \"addresses\": []}'\n"),
            ("odd", "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"a b\"]}'\n"),
            ("twice", "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"0\", \"0\"]}'\n"),
            ("file", "{}"),
        ]);
        let amount = "spark.worker.resource.gpu.amount=4";
        for (setting, words) in [
            (
                "gpu.discoveryScript=DIR/gpus",
                "there are 3 addresses, and spark.worker.resource.gpu.amount is 4",
            ),
            ("gpu.discoveryScript=DIR/nowhere", "it cannot be run: No such file"),
            ("gpu.discoveryScript=DIR/fails", "it failed with exit status: 9: no devices were found"),
            ("gpu.discoveryScript=DIR/text", "it printed \"GPU 0\", and not a line such as"),
            ("gpu.discoveryScript=DIR/other", "it printed addresses of \"fpga\""),
        ] {
            let pairs = [amount, &format!("spark.worker.resource.{setting}")];
            let error = found(&directory, &pairs, &[]).await.expect_err(setting);
            assert!(error.starts_with("the resource \"gpu\": ") && error.contains(words), "{error}");
        }
        for (setting, words) in [
            ("spark.worker.resource.gpu.discoveryScript=DIR/odd", "\"a b\" cannot be an address"),
            ("spark.worker.resource.gpu.discoveryScript=DIR/twice", "has the address \"0\" twice"),
            ("spark.worker.resourcesFile=DIR/file", "it is not a list such as"),
            ("spark.worker.resourcesFile=DIR/nowhere", "No such file"),
        ] {
            let error = found(&directory, &[setting], &[]).await.expect_err(setting);
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn gpus_are_offered_by_model_and_parts_of_them_by_uuid() {
        let none = "No devices found.\n";
        let eight: String = (0..8)
            .map(|number| format!("GPU {number}: NVIDIA H100 80GB HBM3 (UUID: GPU-{number:08}-a)\n"))
            .collect();
        let mixed = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6)\n  MIG 3g.20gb     Device  0: (UUID: MIG-1)\n  \
                     MIG 1g.5gb      Device  1: (UUID: MIG-2)\n  MIG 1g.5gb      Device  2: (UUID: MIG-3)\n\
                     GPU 1: Tesla T4 (UUID: GPU-6)\n";
        let failing = "GPU 0: NVIDIA L4 (UUID: GPU-1)\n\
                       Unable to determine the device handle for gpu 0000:41:00.0: GPU is lost. Reboot the system to recover this GPU\n\
                       GPU 2: NVIDIA L4 (UUID: GPU-3)\n";
        for (text, expected) in [
            (none, ""),
            ("GPU 0: NVIDIA H200 (UUID: GPU-1)\n", "gpu:H200=0"),
            (&eight, "gpu:H100-80GB-HBM3=0,1,2,3,4,5,6,7"),
            (mixed, "gpu:1g.5gb=MIG-2,MIG-3;gpu:3g.20gb=MIG-1;gpu:Tesla-T4=1"),
            (failing, "gpu:L4=0,2"),
        ] {
            assert_eq!(listed(text).into_iter().collect::<Resources>().to_string(), expected, "{text}");
        }
    }

    #[tokio::test]
    async fn a_machine_without_a_driver_has_no_gpus_and_a_driver_that_fails_is_an_error() {
        assert_eq!(gpus("/nowhere/nvidia-smi").await.expect("it is no error"), []);
        let directory = with(&[("nvidia-smi", "#!/bin/sh\necho 'Failed to initialize NVML' >&2; exit 18\n")]);
        let error = gpus(&directory.path().join("nvidia-smi").display().to_string()).await;
        let error = error.expect_err("it fails").to_string();
        assert!(error.contains("exit status: 18: Failed to initialize NVML"), "{error}");
    }
}
