//! An application on a real cluster: its submission, its reports and its driver.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use firesteel_daemons::driver_daemon::{self, Application, Handle, Report};
use firesteel_daemons::files::OfferedFiles;
use firesteel_engine::driver::TaskRequest;
use firesteel_placement::Cores;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::TaskId;
use firesteel_protocol::messages::{TaskDirectory, TaskSpec};
use firesteel_protocol::process::Command;
use firesteel_settings::Properties;
use firesteel_settings::application::ApplicationSettings;
use firesteel_settings::listen::Listen;
use firesteel_testkit::yarn::{NODES, YarnCluster};
use firesteel_yarn::YarnClient;
use firesteel_yarn::ipc::Retry;
use firesteel_yarn::messages::application::{
    ApplicationReport, ApplicationSubmissionContext, YarnApplicationState,
};
use firesteel_yarn::messages::launch::{
    ContainerLaunchContext, LocalResource, LocalResourceType, LocalResourceVisibility,
    StringLocalResourceMap, Url,
};
use firesteel_yarn::messages::records::{ApplicationId, Resource};
use firesteel_yarn_mode::blueprint::{
    BINARY, Blueprint, Deploy, FILE, Hadoop, LocalFile, LocalKind, Racks, Visibility,
};
use firesteel_yarn_mode::staging::SharedPath;
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::wait::wait_async;

/// Small executors, and an ApplicationMaster with short intervals.
const PROPERTIES: [(&str, &str); 6] = [
    ("spark.executor.memory", "128m"),
    ("spark.executor.memoryOverhead", "64m"),
    ("spark.executor.cores", "1"),
    ("spark.executor.instances", "3"),
    ("spark.yarn.scheduler.heartbeat.interval-ms", "500"),
    ("spark.yarn.am.waitTime", "60s"),
];

/// The limit for a report.
const LONGEST: Duration = Duration::from_secs(180);

const RETRY: Retry = Retry {
    first: Duration::from_millis(200),
    longest: Duration::from_secs(2),
    within: Duration::from_secs(60),
};

pub(crate) struct Submitted {
    pub(crate) client: YarnClient,
    pub(crate) id: ApplicationId,
    pub(crate) blueprint: Blueprint,
    staging: TempDir,
}

impl Submitted {
    /// Submits an application whose driver is in this process.
    pub(crate) async fn new(cluster: &YarnCluster, deploy: Deploy, attempts: u32) -> Self {
        let client = YarnClient::new(vec![cluster.resource_manager.clone()], "alice", RETRY);
        let id = client.new_application().await.expect("there is an id").application_id.expect("it is there");
        let staging = TempDir::new().expect("a directory");
        let binary = staging.path().join(BINARY);
        // A copy would take time; a hard link is the same file.
        std::fs::hard_link(env!("CARGO_BIN_EXE_firesteel"), &binary)
            .or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_firesteel"), &binary).map(drop))
            .expect("it is staged");
        let blueprint = Blueprint {
            name: "numbers".to_owned(),
            user: "alice".to_owned(),
            deploy,
            properties: pairs(&PROPERTIES),
            hadoop: Hadoop { schedulers: vec![cluster.scheduler.clone()], ..Hadoop::default() },
            files: vec![local_file(BINARY, &binary)],
            environment: pairs(&[("ODD", "a \"b\" $c `d` \\e {{PWD}} <LOG_DIR>")]),
            view_acl: None,
            modify_acl: None,
            staging: Some(SharedPath::local(staging.path())),
            max_attempts: attempts,
            racks: Racks { hosts: pairs(&NODES), default: Some("/default-rack".to_owned()) },
        };
        let submitted = Self { client, id, blueprint, staging };
        submitted.submit().await;
        submitted
    }

    async fn submit(&self) {
        let unmanaged = self.blueprint.deploy == Deploy::Unmanaged;
        let told = self.staging.path().join(FILE);
        std::fs::write(&told, self.blueprint.to_json()).expect("there is room");
        let files = [local_file(FILE, &told)].into_iter().chain(self.blueprint.files.clone());
        let command =
            format!("./{BINARY} application-master --blueprint {FILE} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr");
        let launch = ContainerLaunchContext {
            local_resources: files.map(|file| resource(&file)).collect(),
            command: vec![command],
            ..ContainerLaunchContext::default()
        };
        let context = ApplicationSubmissionContext {
            application_id: Some(self.id),
            application_name: Some(self.blueprint.name.clone()),
            queue: Some("default".to_owned()),
            am_container_spec: Some(if unmanaged { ContainerLaunchContext::default() } else { launch }),
            unmanaged_am: Some(unmanaged),
            max_app_attempts: Some(i32::try_from(self.blueprint.max_attempts).expect("it is small")),
            resource: (!unmanaged).then(|| Resource::new(256, 1)),
            application_type: Some("FIRESTEEL".to_owned()),
            ..ApplicationSubmissionContext::default()
        };
        self.client.submit(context).await.expect("it is taken");
    }

    /// Waits until its report satisfies `is_so`.
    pub(crate) async fn reported(&self, is_so: impl Fn(&ApplicationReport) -> bool) -> ApplicationReport {
        let look = async || Some(self.client.report(self.id).await.expect("it is known")).filter(&is_so);
        wait_async("the report of an application", LONGEST, look).await
    }

    /// Waits until this attempt or a later one runs. Returns the address of its ApplicationMaster.
    pub(crate) async fn master(&self, attempt: i32) -> Address {
        let report = self.reported(|report| {
            let now = report.current_application_attempt_id.unwrap_or_default().attempt_id();
            report.yarn_application_state() == YarnApplicationState::Running
                && now >= attempt
                && report.rpc_port() > 0
        });
        let report = report.await;
        Address::new(report.host(), u16::try_from(report.rpc_port()).expect("it is a port"))
    }

    pub(crate) async fn driver(&self, masters: Vec<Address>) -> (Handle, mpsc::Receiver<Report>) {
        let pairs: Vec<String> =
            self.blueprint.properties.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let properties = Properties::parse(pairs.iter().map(String::as_str)).expect("they are pairs");
        let settings = ApplicationSettings::of(&properties).expect("they can be used");
        let files = OfferedFiles::open(&[], &[]).await.expect("there are none");
        let name = self.blueprint.name.clone();
        let application = Application { name, masters, keyring: None, settings, files };
        let listen = Listen { bind: Address::new("127.0.0.1", 0), advertised: None };
        driver_daemon::start(application, listen).await.expect("it can listen")
    }

    /// Whether its staged files still exist.
    pub(crate) fn is_staged(&self) -> bool {
        self.staging.path().exists()
    }
}

pub(crate) fn task(number: u64, script: &str) -> (TaskId, TaskRequest) {
    let command = Command {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        environment: BTreeMap::new(),
    };
    let spec =
        TaskSpec { command, directory: TaskDirectory::Executor, stdin: Default::default(), cores: Cores(1) };
    (TaskId(number), spec.into())
}

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn local_file(name: &str, path: &Path) -> LocalFile {
    let path: PathBuf = path.canonicalize().expect("it is there");
    let about = path.metadata().expect("it is there");
    let changed = about.modified().expect("it is known").duration_since(UNIX_EPOCH).expect("not before 1970");
    LocalFile {
        name: name.to_owned(),
        url: format!("file://{}", path.display()),
        size: about.len(),
        timestamp: u64::try_from(changed.as_millis()).expect("not so far"),
        kind: LocalKind::File,
        visibility: Visibility::Application,
    }
}

fn resource(file: &LocalFile) -> StringLocalResourceMap {
    let path = file.url.strip_prefix("file://").expect("it is local");
    let url = Url {
        scheme: Some("file".to_owned()),
        port: Some(-1),
        file: Some(path.to_owned()),
        ..Url::default()
    };
    let resource = LocalResource {
        resource: Some(url),
        size: i64::try_from(file.size).ok(),
        timestamp: i64::try_from(file.timestamp).ok(),
        r#type: Some(LocalResourceType::File.into()),
        visibility: Some(LocalResourceVisibility::Application.into()),
        ..LocalResource::default()
    };
    StringLocalResourceMap { key: Some(file.name.clone()), value: Some(resource) }
}
