//! The launch context of an executor, for the NodeManager: command, environment and files.

use std::collections::BTreeMap;
use std::path::Path;

use firesteel_application_master::Launch;
use firesteel_placement::Resources;
use firesteel_protocol::ids::{ProfileId, WorkerId};
use firesteel_protocol::messages::TaskDirectory;
use firesteel_protocol::process::Placeholder;
use firesteel_worker::ExecutorPlan;
use firesteel_yarn::credentials::TokenFileFormat;
use firesteel_yarn::messages::launch::{ApplicationAclMap, ContainerLaunchContext, StringLocalResourceMap};
use firesteel_yarn::messages::records::StringStringMap;

use super::Attempt;
use super::quoting::{self, HERE, LOGS};
use crate::blueprint::{BINARY, Blueprint};
use crate::contexts::{acls, local_resource};
use firesteel_daemons::worker::environment;

/// The variable with the NodeManager page that shows the executor's output.
const LOG_URL: &str = "FIRESTEEL_LOG_URL";
/// The variable with the submitting user. The user is part of the address of log pages.
const USER: &str = "SPARK_USER";

/// The data that the containers of all executors have in common.
#[derive(Debug)]
pub(super) struct Launching {
    name: String,
    environment: BTreeMap<String, String>,
    files: Vec<StringLocalResourceMap>,
    brings_files: bool,
    acls: Vec<ApplicationAclMap>,
    tokens: Vec<u8>,
}

impl Launching {
    pub(super) fn of(blueprint: &Blueprint, attempt: &Attempt) -> Self {
        let mut environment = blueprint.environment.clone();
        environment.insert(USER.to_owned(), blueprint.user.clone());
        Self {
            name: blueprint.name.clone(),
            environment,
            files: blueprint.files.iter().map(local_resource).collect(),
            brings_files: blueprint.files.iter().any(|file| file.name != BINARY),
            acls: acls(blueprint.view_acl.as_deref(), blueprint.modify_acl.as_deref()),
            tokens: attempt.credentials.write(TokenFileFormat::Writable),
        }
    }

    pub(super) fn context(&self, launch: Launch) -> ContainerLaunchContext {
        let command = vec![command(&launch)];
        let environment = self.environment_of(launch);
        let pair = |(name, text): (String, String)| {
            let value = if text == HERE { text } else { quoting::value(&text) };
            StringStringMap { key: Some(name), value: Some(value) }
        };
        ContainerLaunchContext {
            local_resources: self.files.clone(),
            tokens: Some(self.tokens.clone()),
            environment: environment.into_iter().map(pair).collect(),
            command,
            application_acls: self.acls.clone(),
            ..ContainerLaunchContext::default()
        }
    }

    /// The variables of an executor, with the same names as on a Worker. A NodeManager replaces [`HERE`] by the
    /// container's directory.
    fn environment_of(&self, launch: Launch) -> BTreeMap<String, String> {
        let Launch { container: _, node, executor, command, directory, cores, memory } = launch;
        let worker = node.as_ref().map(|node| node.address.to_string()).unwrap_or_default();
        let asked = command.environment.clone();
        let plan = ExecutorPlan {
            executor,
            profile: ProfileId::DEFAULT,
            app_name: self.name.clone(),
            command: command.into(),
            directory,
            cores,
            memory,
            resources: Resources::default(),
            on_worker: Resources::default(),
            files: Vec::new(),
        };
        let mut environment = self.environment.clone();
        environment.extend(environment::of(&plan, &asked, &WorkerId::new(worker), Path::new(HERE)));
        if self.brings_files {
            environment.insert(environment::FILES_DIR.to_owned(), HERE.to_owned());
        }
        if let Some(node) = node {
            environment.insert(LOG_URL.to_owned(), node.logs);
        }
        environment
    }
}

/// The command line of an executor, which redirects the output to files.
fn command(launch: &Launch) -> String {
    let own = Placeholder::Firesteel.word();
    let words = std::iter::once(&launch.command.program).chain(&launch.command.arguments);
    let words = words.map(|word| match word == own {
        // In quotes of its own, because the directory's name may contain blanks.
        true => format!("'{HERE}/{BINARY}'"),
        false => quoting::word(word),
    });
    let words: Vec<String> = words.collect();
    let enter = match &launch.directory {
        TaskDirectory::Executor => String::new(),
        TaskDirectory::Path(path) => format!("cd {} && exec ", quoting::word(path)),
    };
    format!("{enter}{} 1>{LOGS}/stdout 2>{LOGS}/stderr", words.join(" "))
}
