//! The options of an application: the options of spark-submit, and the cluster to use.

use std::collections::BTreeSet;

use clap::Args;
use firesteel_apps::cluster::Cluster;
use firesteel_apps::local_cluster::{Directory, LocalClusterSpec, Options};
use firesteel_apps::master_url::{MasterUrl, MasterUrlError};
use firesteel_daemons::worker::capacity;
use firesteel_host::progress::Progress;
use firesteel_placement::advanced::words::counted;
use firesteel_placement::{Cores, ExecutorLimit, MiB, policy_names};
use firesteel_settings::application::ApplicationSettings;
use firesteel_settings::{Origin, Properties, Reader, keys, resources};

use crate::cli::client::ask;
use crate::cli::exit::{Exit, Failure};
use crate::cli::options::any_bytes::any_bytes;
use crate::cli::options::conf::Conf;
use crate::cli::own_program;
use crate::cli::yarn::request;

/// The options of spark-submit that say which resources an application asks for. They take precedence over properties.
#[allow(rustdoc::broken_intra_doc_links, reason = "help, not Markdown: brackets are no links")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(in crate::cli) struct Submit {
    /// Cluster: spark://HOST:PORT[,HOST:PORT..], yarn or local-cluster[WORKERS,CORES,MIB]
    ///
    /// yarn is the YARN cluster of $HADOOP_CONF_DIR or $YARN_CONF_DIR. local-cluster[2,4,8192] is started and ended
    /// with this command: two Workers with 4 cores and 8192 MiB each. [default: spark.master, then $MASTER]
    #[arg(long, value_name = "URL", help_heading = "Application")]
    master: Option<String>,
    /// Name of the application
    ///
    /// By default it is spark.app.name, else the name of the program that the application runs. A session of the shell
    /// is called "firesteel shell", and an application that is only planned "new".
    #[arg(long, help_heading = "Application")]
    name: Option<String>,
    /// Cores of all executors together [default: as many as possible]
    #[arg(long, value_name = "CORES", help_heading = "Application")]
    total_executor_cores: Option<String>,
    /// Cores of each executor [default: all of a Worker; on YARN 1]
    #[arg(long, value_name = "CORES", help_heading = "Application")]
    executor_cores: Option<String>,
    /// Memory of each executor, such as 512m or 2g [default: 1g]
    ///
    /// It is reserved for the executor, not enforced as a limit.
    #[arg(long, value_name = "SIZE", help_heading = "Application")]
    executor_memory: Option<String>,
    /// Number of executors [default: as many as the cores allow; on YARN 2]
    #[arg(long, value_name = "COUNT", help_heading = "Application")]
    num_executors: Option<String>,
    /// Custom resource of each executor, such as gpu=2 or gpu:A100=1; may be repeated
    ///
    /// A part of one address, such as gpu=0.25, is shared with other executors, if the Master allows it.
    #[arg(
        long = "executor-resource",
        value_name = "NAME=AMOUNT",
        help_heading = "Application",
        hide_short_help = true
    )]
    executor_resources: Vec<String>,
    /// Files to copy into each executor's directory, where the command then runs; may be repeated
    ///
    /// PATH#NAME copies the file under another name.
    #[arg(long, value_name = "PATH[#NAME],..", help_heading = "Application", value_parser = any_bytes())]
    files: Vec<String>,
    /// Archives to unpack in each executor's directory: .tar, .tar.gz, .tgz, .zip or .jar; may be repeated
    ///
    /// Each is unpacked into a directory that has the archive's full name, such as lib.tgz/; PATH#NAME sets another
    /// one: lib.tgz#lib.
    #[arg(long, value_name = "PATH[#NAME],..", help_heading = "Application", hide_short_help = true, value_parser = any_bytes())]
    archives: Vec<String>,
    /// Queue of the cluster [default: the Master's queue default, or its first; on YARN default]
    #[arg(long, value_name = "NAME", help_heading = "Scheduling", hide_short_help = true)]
    queue: Option<String>,
    /// Priority in the queue; higher numbers run first [default: 0; on YARN the queue's]
    #[arg(
        long,
        value_name = "NUMBER",
        help_heading = "Scheduling",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    priority: Option<String>,
    /// Start this many executors together, and none until all of them fit; needs --executor-cores [default: 1]
    #[arg(long, value_name = "COUNT", help_heading = "Scheduling", hide_short_help = true)]
    gang: Option<String>,
    /// Estimate of how long the application runs after it has started, such as 10m, for planning ahead; not a limit
    /// [default: not known]
    #[arg(long, value_name = "DURATION", help_heading = "Scheduling", hide_short_help = true)]
    run_time: Option<String>,
    /// The rule that chooses Workers.
    #[arg(
        long,
        value_name = "NAME",
        help = concat!("Rule that chooses Workers: ", policy_names!(), " [default: the Master's]"),
        help_heading = "Scheduling",
        hide_short_help = true
    )]
    placement_policy: Option<String>,
    /// Where the driver runs: client (in this process) or cluster (in a YARN container) [default: client]
    ///
    /// Only --master yarn has cluster mode. Spark's properties for YARN are listed below the options.
    #[arg(long, value_name = "MODE", help_heading = "YARN", hide_short_help = true)]
    deploy_mode: Option<String>,
    #[command(flatten)]
    conf: Conf,
}

/// The options that say which resources of its executor a task uses. They take precedence over properties.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct TaskOptions {
    /// Custom resource for each task: whole addresses, such as gpu=1, or a share of one, at most gpu=0.5; may be
    /// repeated
    #[arg(
        long = "task-resource",
        value_name = "NAME=AMOUNT",
        help_heading = "Tasks",
        hide_short_help = true
    )]
    task_resources: Vec<String>,
    /// Exit codes after which a task is not retried, such as 2,124-126, or none [default: 124, a timeout]
    #[arg(long, value_name = "CODES", help_heading = "Tasks", hide_short_help = true)]
    fatal_exit_codes: Option<String>,
}

/// The settings that result from the options and properties.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) settings: ApplicationSettings,
    pub(super) cluster: Cluster,
    /// All properties, for callers that read further properties.
    pub(super) properties: Properties,
}

impl Submission {
    /// Refuses an application that requests no executors. For commands that would otherwise wait forever.
    pub(super) fn wants_executors(&self) -> Result<(), Failure> {
        if self.settings.executors != ExecutorLimit::AtMost(0) {
            return Ok(());
        }
        let words = "--num-executors (spark.executor.instances) is 0, so nothing can run: set at least 1";
        Err(Failure::of(failed_setting(&self.properties, keys::EXECUTOR_INSTANCES), words))
    }
}

impl Submit {
    /// Resolves the options. `name` is the default name of the application. Remarks are shown through `progress`.
    pub(super) fn resolve(
        &self,
        tasks: &TaskOptions,
        name: &str,
        progress: &Progress,
    ) -> Result<Submission, Failure> {
        let mut properties = self.properties()?;
        set_amounts(&mut properties, "--task-resource", keys::TASK_RESOURCE, &tasks.task_resources)?;
        if let Some(codes) = &tasks.fatal_exit_codes {
            properties.set(keys::FATAL_EXIT_CODES, codes.as_str(), Origin::Flag("--fatal-exit-codes"));
        }
        let settings = ApplicationSettings::of(&properties).map_err(|error| Failure::setting(&error))?;
        if let Some(remark) = unitless(&properties) {
            progress.remark(remark);
        }
        let cluster = cluster(&settings, &mut properties, name, progress)?;
        let settings = ApplicationSettings::of(&properties).map_err(|error| Failure::setting(&error))?;
        if let Cluster::Local(options) = &cluster {
            check_room(&settings, options.spec, &properties)?;
        }
        Ok(Submission { settings, cluster, properties })
    }

    /// Whether an option names the Master, which takes precedence over files and variables.
    pub(in crate::cli) fn names_a_master(&self) -> bool {
        self.master.is_some()
    }

    /// The properties, overridden by the options.
    pub(in crate::cli) fn properties(&self) -> Result<Properties, Failure> {
        let mut properties = self.conf.of_application(|properties| self.write_to(properties))?;
        set_amounts(
            &mut properties,
            "--executor-resource",
            keys::EXECUTOR_RESOURCE,
            &self.executor_resources,
        )?;
        Ok(properties)
    }

    pub(in crate::cli) fn property(option: &str) -> Option<&'static str> {
        let lists = [("--files", keys::FILES), ("--archives", keys::ARCHIVES)];
        let submit = Self::default();
        let single = submit.options().map(|(flag, key, _)| (flag, key));
        single.into_iter().chain(lists).find(|(flag, _)| *flag == option).map(|(_, key)| key)
    }

    /// The options with a single value, and the property that each option sets.
    fn options(&self) -> [(&'static str, &'static str, &Option<String>); 14] {
        [
            ("--master", keys::MASTER, &self.master),
            ("--deploy-mode", keys::DEPLOY_MODE, &self.deploy_mode),
            ("--name", keys::APP_NAME, &self.name),
            ("--total-executor-cores", keys::CORES_MAX, &self.total_executor_cores),
            ("--executor-cores", keys::EXECUTOR_CORES, &self.executor_cores),
            ("--executor-memory", keys::EXECUTOR_MEMORY, &self.executor_memory),
            ("--num-executors", keys::EXECUTOR_INSTANCES, &self.num_executors),
            ("--placement-policy", keys::PLACEMENT_POLICY, &self.placement_policy),
            // The cluster decides which of the two applies.
            ("--queue", keys::QUEUE, &self.queue),
            ("--queue", keys::YARN_QUEUE, &self.queue),
            ("--priority", keys::PRIORITY, &self.priority),
            ("--priority", keys::YARN_PRIORITY, &self.priority),
            ("--gang", keys::GANG, &self.gang),
            ("--run-time", keys::RUN_TIME, &self.run_time),
        ]
    }

    fn write_to(&self, properties: &mut Properties) {
        for (flag, key, value) in self.options() {
            if let Some(value) = value {
                properties.set(key, value.as_str(), Origin::Flag(flag));
            }
        }
        let lists = [("--files", keys::FILES, &self.files), ("--archives", keys::ARCHIVES, &self.archives)];
        for (flag, key, values) in lists {
            if !values.is_empty() {
                properties.set(key, values.join(","), Origin::Flag(flag));
            }
        }
    }
}

/// Sets the property of each resource that an option names.
pub(super) fn set_amounts(
    properties: &mut Properties,
    flag: &'static str,
    key: &str,
    values: &[String],
) -> Result<(), Failure> {
    let usage = |words: String| Failure::of(Exit::Usage, words);
    let mut names = BTreeSet::new();
    for text in values {
        let (name, amount) = text
            .split_once('=')
            .filter(|(name, _)| resources::is_name(name))
            .ok_or_else(|| usage(format!("{flag} cannot be {text:?}: write NAME=AMOUNT, such as gpu=1")))?;
        if !names.insert(name) {
            return Err(usage(format!("{flag} {name}={amount} repeats {name}: give each resource once")));
        }
        properties.set(&key.replace("NAME", name), amount, Origin::Flag(flag));
    }
    Ok(())
}

/// Determines the cluster to run on. In a local cluster, the default memory of an executor is limited to the memory of
/// a Worker.
fn cluster(
    settings: &ApplicationSettings,
    properties: &mut Properties,
    name: &str,
    progress: &Progress,
) -> Result<Cluster, Failure> {
    let url = settings.master.as_ref().map(|url| url.parse().map_err(|error| unusable(&error, properties)));
    let url = url.transpose()?;
    let given = match url {
        Some(MasterUrl::Yarn) => return Ok(Cluster::Yarn(Box::new(request::of(properties, name)?))),
        Some(MasterUrl::Spark(masters)) => {
            request::refuse_cluster_mode(properties)?;
            let keyring = ask::keyring(&masters, properties)?;
            return Ok(Cluster::Running(masters, keyring));
        }
        Some(MasterUrl::LocalCluster(spec)) => Some(spec),
        None => None,
    };
    request::refuse_cluster_mode(properties)?;
    let spec = given.unwrap_or_else(|| {
        let spec = this_machine(settings);
        progress.remark(format_args!("no --master given: starting {spec} on this machine"));
        spec
    });
    if properties.get(keys::EXECUTOR_MEMORY).is_none() && settings.executor_memory > spec.memory {
        let all = Origin::Derived("all that a Worker of the local cluster has");
        properties.set(keys::EXECUTOR_MEMORY, format!("{}m", spec.memory.0), all);
    }
    let program = own_program()?;
    let properties = for_daemons(properties);
    Ok(Cluster::Local(Options { spec, program, directory: Directory::Temporary, properties }))
}

/// The failure for an unusable master URL. The message names the origin of the URL, unless that is the command line.
pub(in crate::cli) fn unusable(error: &MasterUrlError, properties: &Properties) -> Failure {
    match properties.origin(keys::MASTER) {
        Some(origin) if !origin.is_command_line() => {
            Failure::of(Exit::Configuration, format!("{} of {origin}: {error}", keys::MASTER))
        }
        Some(_) | None => Failure::with(Exit::Usage, error),
    }
}

/// A warning about an amount of memory that is so small that its unit was probably forgotten.
fn unitless(properties: &Properties) -> Option<String> {
    const LITTLE: u64 = 32;
    let text = properties.get(keys::EXECUTOR_MEMORY)?;
    let mib: u64 = text.parse().ok().filter(|mib| *mib <= LITTLE)?;
    Some(format!("{} is {text}, which is {mib} MiB; did you mean {mib}g?", keys::EXECUTOR_MEMORY))
}

/// Refuses executors that no Worker of a local cluster can hold. No other Workers can join, so the
/// application would wait forever.
fn check_room(
    settings: &ApplicationSettings,
    spec: LocalClusterSpec,
    properties: &Properties,
) -> Result<(), Failure> {
    let refuse = |key: &str, has: String, what_to_do: String| {
        let asked = properties.get(key).unwrap_or_default();
        let sentence = format!(
            "{key} is {asked}, and a Worker of {spec} has {has}, so no executor can start: {what_to_do}"
        );
        Err(Failure::of(failed_setting(properties, key), sentence))
    };
    let larger = |spec: LocalClusterSpec| format!("ask for less, or start larger Workers: --master '{spec}'");
    let resource = settings.executor_resources.iter().find(|(_, amount)| !amount.is_none());
    match (settings.executor_cores, resource) {
        (Some(cores), _) if cores > spec.cores => {
            let has = counted(spec.cores.0, "core");
            refuse(keys::EXECUTOR_CORES, has, larger(LocalClusterSpec { cores, ..spec }))
        }
        _ if settings.executor_memory > spec.memory => {
            let memory = settings.executor_memory;
            refuse(
                keys::EXECUTOR_MEMORY,
                spec.memory.to_string(),
                larger(LocalClusterSpec { memory, ..spec }),
            )
        }
        (_, Some((name, _))) => {
            let key = keys::EXECUTOR_RESOURCE.replace("NAME", name);
            refuse(
                &key,
                "none".to_owned(),
                "use a cluster whose Workers have it (firesteel worker --resource)".to_owned(),
            )
        }
        (Some(_) | None, None) => Ok(()),
    }
}

/// The exit code for an invalid property, which depends on whether it comes from the command line.
pub(in crate::cli) fn failed_setting(properties: &Properties, key: &str) -> Exit {
    match properties.origin(key) {
        Some(origin) if !origin.is_command_line() => Exit::Configuration,
        Some(_) | None => Exit::Usage,
    }
}

/// The properties that the daemons of a local cluster read, each `key=value`. The Workers run no external shuffle
/// service: only Spark's applications have shuffles, and only one service can run on a machine.
fn for_daemons(properties: &Properties) -> Vec<String> {
    let is_theirs = |key: &str| {
        !key.starts_with("spark.shuffle.")
            && keys::find(key)
                .is_some_and(|key| key.readers.iter().any(|reader| *reader != Reader::Application))
    };
    properties.iter().filter(|(key, _)| is_theirs(key)).map(|(key, value)| format!("{key}={value}")).collect()
}

/// A local cluster of two Workers, each with half of the machine. If an executor needs more than that: one Worker.
fn this_machine(settings: &ApplicationSettings) -> LocalClusterSpec {
    let (cores, memory) = (capacity::cores(), capacity::memory());
    let half = Cores((cores.0 + 1) / 2);
    let two = cores > Cores(1)
        && settings.executor_cores.is_none_or(|asked| asked <= half)
        && settings.executor_memory.0 <= memory.0 / 2;
    match two {
        true => LocalClusterSpec { workers: 2, cores: half, memory: MiB(memory.0 / 2) },
        false => LocalClusterSpec { workers: 1, cores, memory },
    }
}
