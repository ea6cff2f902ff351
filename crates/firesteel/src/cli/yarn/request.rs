//! The submission request of `map`, `launch` and `shell` for a YARN cluster.

use firesteel_apps::cluster::Cluster;
use firesteel_apps::startup;
use firesteel_host::progress::Progress;
use firesteel_settings::application_master::EXECUTORS;
use firesteel_settings::variables::Environment;
use firesteel_settings::yarn::{Mode, YarnSettings};
use firesteel_settings::{ApplicationSettings, Origin, Properties, keys};
use firesteel_yarn_mode::blueprint::{Deploy, Program};
use firesteel_yarn_mode::cluster_mode;
use firesteel_yarn_mode::preferred_hosts::PreferredHosts;
use firesteel_yarn_mode::site::Site;
use firesteel_yarn_mode::staging::{self, RemoteFile, SharedPath, StagingError};
use firesteel_yarn_mode::submission::{DriverFile, Request};

use crate::cli::block_on;
use crate::cli::exit::{Exit, Failure};
use crate::cli::submission::submit::failed_setting;

/// Options that exist only for Firesteel's own clusters, and their replacements on YARN.
const OWN: [(&str, &str); 3] = [
    (keys::CORES_MAX, "write --num-executors and --executor-cores"),
    (keys::GANG, "leave it out, since YARN allocates containers one by one"),
    (keys::PLACEMENT_POLICY, "leave it out, since YARN chooses nodes by its own rules"),
];

/// Makes the request of an application. `name` is the default name. Sets the defaults that apply on YARN.
pub(in crate::cli) fn of(properties: &mut Properties, name: &str) -> Result<Request, Failure> {
    refuse_inapplicable(properties)?;
    add_defaults(properties);
    let setting = |error| Failure::setting(&error);
    let application = ApplicationSettings::of(properties).map_err(setting)?;
    let settings = YarnSettings::of(properties, &application).map_err(setting)?;
    let deploy = match settings.mode {
        Mode::Client => Deploy::Client,
        Mode::Unmanaged => Deploy::Unmanaged,
        // The caller that knows the command sets the program later.
        Mode::Cluster => Deploy::Cluster(Program::default()),
    };
    let environment = Environment::of_this_process();
    let site =
        Site::of(&environment, properties).map_err(|error| Failure::with(Exit::Configuration, &error))?;
    let base = staging::base(settings.staging.as_deref(), &site.user, &site.conf, &environment);
    let staging = base.map_err(|error| unstaged(&error, properties, keys::YARN_STAGING))?;
    let program = settings.binary.as_deref();
    let program =
        program.map(|location| SharedPath::of_file(location, keys::YARN_BINARY, &site.user, &site.conf));
    let program = program.transpose().map_err(|error| unstaged(&error, properties, keys::YARN_BINARY))?;
    let remote = RemoteFile::find_in(&application.files, &application.archives, &site.user, &site.conf);
    let remote = remote.map_err(|error| unstaged(&error, properties, keys::FILES))?;
    Ok(Request {
        site,
        settings,
        name: application.name.unwrap_or_else(|| name.to_owned()),
        properties: properties.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
        staging,
        program,
        remote,
        deploy,
        inputs: Vec::new(),
        preferred_hosts: PreferredHosts::default(),
    })
}

/// The failure for files that do not exist or cannot be staged. It counts as a wrong setting.
fn unstaged(error: &StagingError, properties: &Properties, key: &str) -> Failure {
    match error {
        StagingError::Conf(_)
        | StagingError::Unspoken { .. }
        | StagingError::WithoutHdfs { .. }
        | StagingError::NoNameNode { .. }
        | StagingError::Name { .. }
        | StagingError::Format { .. }
        | StagingError::NoHome => Failure::with(failed_setting(properties, key), error),
        StagingError::Io { .. }
        | StagingError::Hdfs { .. }
        | StagingError::Reserved { .. }
        | StagingError::Twice { .. } => Failure::with(Exit::Failure, error),
    }
}

/// Refuses options that have no meaning on YARN, as wrong usage. The same settings in a properties file are accepted,
/// because the file may be used for other clusters, too.
fn refuse_inapplicable(properties: &Properties) -> Result<(), Failure> {
    for (key, advice) in OWN {
        if let Some(origin) = properties.origin(key).filter(|origin| origin.is_command_line()) {
            let option = match origin {
                Origin::Flag(flag) => flag,
                _ => key,
            };
            let words = format!("{option} does not work on YARN: {advice}");
            return Err(Failure::of(Exit::Usage, words));
        }
    }
    Ok(())
}

/// Adds the defaults of an application on YARN.
///
/// Source: Spark on YARN, 4.0.1.
fn add_defaults(properties: &mut Properties) {
    let default = "the default on YARN";
    let is_dynamic =
        properties.get(keys::DYNAMIC_ALLOCATION).is_some_and(|on| on.eq_ignore_ascii_case("true"));
    if properties.get(keys::EXECUTOR_INSTANCES).is_none() && !is_dynamic {
        properties.set(keys::EXECUTOR_INSTANCES, EXECUTORS.to_string(), Origin::Derived(default));
    }
    if properties.get(keys::EXECUTOR_CORES).is_none() {
        properties.set(keys::EXECUTOR_CORES, "1", Origin::Derived(default));
    }
    for (key, _) in OWN {
        properties.unset(key);
    }
    for (all, more) in [(keys::FILES, keys::YARN_FILES), (keys::ARCHIVES, keys::YARN_ARCHIVES)] {
        if let Some(more) = properties.get(more).map(str::to_owned) {
            let both = properties.get(all).map_or(more.clone(), |files| format!("{files},{more}"));
            properties.set(all, both, Origin::Derived("spark.yarn.dist"));
        }
    }
}

/// Refuses cluster mode on Firesteel's own clusters, because they run only the drivers of `firesteel submit`.
pub(in crate::cli) fn refuse_cluster_mode(properties: &Properties) -> Result<(), Failure> {
    match properties.get(keys::DEPLOY_MODE) {
        None | Some("client") => Ok(()),
        Some(mode) => {
            let words = format!(
                "{} cannot be {mode:?} here: write client, or use --master yarn; firesteel submit runs a program on a Worker",
                keys::DEPLOY_MODE
            );
            Err(Failure::of(failed_setting(properties, keys::DEPLOY_MODE), words))
        }
    }
}

/// Refuses a shell in cluster mode, since the user types in this terminal.
pub(in crate::cli) fn refuse_shell(cluster: &Cluster) -> Result<(), Failure> {
    match cluster.in_a_container() {
        None => Ok(()),
        Some(_) => {
            let words = "a shell needs a driver on this machine: leave out --deploy-mode cluster, or use firesteel map \
                         or launch";
            Err(Failure::of(Exit::Usage, words))
        }
    }
}

/// Submits a command that runs in a container, and watches it.
pub(in crate::cli) fn submit(
    request: &Request,
    (program, inputs): (Program, Vec<DriverFile>),
    settings: &ApplicationSettings,
    progress: &Progress,
) -> Result<u8, Failure> {
    let request = Request { deploy: Deploy::Cluster(program), inputs, ..request.clone() };
    let brought = (settings.files.as_slice(), settings.archives.as_slice());
    let watching = async {
        let requests = startup::end_requests()?;
        let ending = cluster_mode::run(&request, brought, progress, requests).await;
        ending.map_err(startup::StartError::from)
    };
    let ending = block_on(watching)?;
    Ok(ending.map_err(|error| Failure::start(&error))?.exit_code())
}
