//! The submission of an application: the application gets an id, its files are staged, and it is submitted to the
//! ResourceManager.
//!
//! If a step fails, the staged files are deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use firesteel_host::standard;
use firesteel_placement::MiB;
use firesteel_placement::advanced::locality::Topology;
use firesteel_yarn::YarnClient;
use firesteel_yarn::messages::application::GetNewApplicationResponse;
use firesteel_yarn::messages::cluster::NodeState;
use firesteel_yarn::messages::records::ApplicationId;
use tokio::task::spawn_blocking;

use super::blueprint::{self, Blueprint, Deploy, Hadoop, LocalFile};
use super::contexts;
use super::preferred_hosts::PreferredHosts;
use super::racks::{DEFAULT_RACK, RackError, Racks};
use super::site::{AskError, RetryLimit, Site, SiteError};
use super::staging::{RemoteFile, SharedPath, Staging, StagingError};
use firesteel_daemons::files::OfferedFiles;
use firesteel_settings::yarn::{Cleanup, Mode, YarnSettings};

/// An application to submit to YARN.
#[derive(Clone, Debug)]
pub struct Request {
    pub site: Site,
    pub settings: YarnSettings,
    pub name: String,
    /// The application's properties, for the ApplicationMaster.
    pub properties: BTreeMap<String, String>,
    /// The directory that contains the applications' staging directories.
    pub staging: SharedPath,
    /// The path of the program, if all nodes already have it. `None`: a copy of this program is staged.
    pub program: Option<SharedPath>,
    /// The files of the application that are already on HDFS.
    pub remote: Vec<RemoteFile>,
    pub deploy: Deploy,
    /// The files that the application's driver reads in its container.
    pub inputs: Vec<DriverFile>,
    /// The hosts that the application's tasks prefer, as far as they are known.
    pub preferred_hosts: PreferredHosts,
}

/// A file that is staged for a driver in a container, and the file's name in the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverFile {
    pub name: &'static str,
    pub content: Content,
}

/// The content of a staged file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Bytes(Vec<u8>),
    File(PathBuf),
    /// The data from standard input.
    StandardInput,
    /// A table of the hosts' racks.
    Racks,
}

#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// A request to the ResourceManager failed.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// No container of the cluster is large enough.
    #[error(
        "{what} needs {asked} {unit} in its container ({keys}), and this cluster gives a container {most} at most: ask \
         for less, or have {limits} raised"
    )]
    TooLarge {
        /// The part that needs the container.
        what: &'static str,
        /// The amount that this part needs.
        asked: i64,
        unit: &'static str,
        /// The properties that set the amount.
        keys: &'static str,
        most: i64,
        /// The cluster's settings that limit the amount.
        limits: &'static str,
    },
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// The racks of hosts cannot be determined.
    #[error(transparent)]
    Racks(#[from] RackError),
    /// The path of this program cannot be found.
    #[error("cannot find the firesteel program: {0}")]
    Program(#[source] io::Error),
    #[error("the ResourceManager sent no id for the application")]
    NoId,
}

impl From<SiteError> for SubmitError {
    fn from(error: SiteError) -> Self {
        Self::Ask(AskError::Site(error))
    }
}

/// An application that has an id, but has not been submitted yet.
#[derive(Debug)]
pub struct NewApplication {
    pub application: ApplicationId,
    /// The response that contains the largest possible container.
    response: GetNewApplicationResponse,
    client: YarnClient,
}

#[derive(Debug)]
pub struct Submitted {
    pub blueprint: Blueprint,
    pub topology: Topology,
    /// The staged files of the application's containers.
    pub staged: Staged,
}

/// The staged files of an application. They are deleted when this value is dropped, unless they must be kept.
#[derive(Debug)]
pub struct Staged {
    staging: Arc<Staging>,
    cleanup: Cleanup,
}

impl Drop for Staged {
    fn drop(&mut self) {
        match self.cleanup {
            Cleanup::Delete => self.staging.delete(),
            Cleanup::Keep => {}
        }
    }
}

impl Staged {
    /// Keeps the files. The ApplicationMaster deletes them when the application is over.
    pub fn leave(mut self) {
        self.cleanup = Cleanup::Keep;
    }
}

impl Request {
    /// Requests an id. Because a user waits, a ResourceManager that cannot be reached is retried only for a short time.
    ///
    /// # Errors
    /// The request failed, or the application is too large for any container.
    pub async fn new_application(&self) -> Result<NewApplication, SubmitError> {
        let client = self.site.client(RetryLimit::Short)?;
        let response = client.new_application().await.map_err(|error| self.site.explained(error))?;
        let application = response.application_id.ok_or(SubmitError::NoId)?;
        let created = NewApplication { application, response, client };
        self.check_sizes(&created)?;
        Ok(created)
    }

    /// Checks that the containers are not too large. Source: Spark on YARN, 4.0.1, which checks only the memory.
    fn check_sizes(&self, created: &NewApplication) -> Result<(), SubmitError> {
        let Some(most) = &created.response.maximum_capability else { return Ok(()) };
        let (memory, cores) = (most.memory(), i64::from(most.virtual_cores()));
        let executor = self.settings.executors.default_container();
        let master = &self.settings.master;
        let master_memory = MiB(master.memory.0.saturating_add(master.overhead.0));
        let (memory_keys, cores_keys) = match self.settings.mode {
            Mode::Client | Mode::Unmanaged => {
                ("spark.yarn.am.memory and its overhead", "spark.yarn.am.cores")
            }
            Mode::Cluster => ("spark.driver.memory and its overhead", "spark.driver.cores"),
        };
        let (own, each) = ("the ApplicationMaster", "an executor");
        let mut asked = vec![
            (each, "MiB", "spark.executor.memory and its overhead", executor.memory.0, memory),
            (each, "vcores", "spark.executor.cores", executor.cores.0, cores),
        ];
        if self.settings.mode != Mode::Unmanaged {
            asked.push((own, "MiB", memory_keys, master_memory.0, memory));
            asked.push((own, "vcores", cores_keys, master.cores.0, cores));
        }
        let limits = |unit| match unit {
            "MiB" => "yarn.scheduler.maximum-allocation-mb or yarn.nodemanager.resource.memory-mb",
            _ => "yarn.scheduler.maximum-allocation-vcores or yarn.nodemanager.resource.cpu-vcores",
        };
        match asked.into_iter().find(|(.., asked, most)| asked > most) {
            Some((what, unit, keys, asked, most)) => {
                Err(SubmitError::TooLarge { what, asked, unit, keys, most, limits: limits(unit) })
            }
            None => Ok(()),
        }
    }

    /// Stages the application's files, and submits the application. If the user stops waiting, the caller kills the
    /// application: then this call ends, and the files are deleted.
    ///
    /// # Errors
    /// Files cannot be staged, or the ResourceManager refuses the application.
    pub async fn submit(
        &self,
        created: &NewApplication,
        files: &OfferedFiles,
    ) -> Result<Submitted, SubmitError> {
        let topology = self.topology(&created.client).await?;
        let staged = self.stage(created.application).await?;
        let (blueprint, own) = self.fill(&staged, files.clone(), &topology).await?;
        // An ApplicationMaster's container has the files of executors and the inputs of the driver.
        let inputs = self.inputs(&staged, &topology).await?;
        let all: Vec<LocalFile> = blueprint.files.iter().cloned().chain(own).chain(inputs).collect();
        let acls = contexts::acls(blueprint.view_acl.as_deref(), blueprint.modify_acl.as_deref());
        let container = contexts::master_container(&all, &self.environment(), acls);
        let context = contexts::submission(created.application, &self.name, &self.settings, container);
        created.client.submit(context).await.map_err(|error| self.site.explained(error))?;
        Ok(Submitted { blueprint, topology, staged })
    }

    /// The environment of an ApplicationMaster.
    fn environment(&self) -> BTreeMap<String, String> {
        let mut environment = self.settings.master_environment.clone();
        environment.entry("SPARK_USER".to_owned()).or_insert_with(|| self.site.user.clone());
        environment
    }

    /// The racks of hosts. The ResourceManager reports the racks of its nodes. The racks of other hosts come from the
    /// configuration.
    async fn topology(&self, client: &YarnClient) -> Result<Topology, SubmitError> {
        let nodes = client.nodes(&[NodeState::Running]).await.map_err(|error| self.site.explained(error))?;
        let rack = |node: &firesteel_yarn::messages::cluster::NodeReport| {
            let host = node.node_id.as_ref()?.host().to_owned();
            Some((host, node.rack_name().to_owned())).filter(|(_, rack)| !rack.is_empty())
        };
        let told: BTreeMap<String, String> = nodes.iter().filter_map(rack).collect();
        let racks = Racks::of(&self.site.conf)?;
        let preferred_hosts = self.preferred_hosts.clone();
        let found = spawn_blocking(move || {
            // The file of hosts is read only if a table or script can give their racks.
            let hosts = if racks == Racks::None { BTreeSet::new() } else { preferred_hosts.hosts() };
            racks.topology(&hosts, &told)
        })
        .await;
        Ok(found.expect("looking for racks does not panic")?)
    }

    /// A message for the user about hosts without a known rack.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub fn rack_warning(&self) -> Result<Option<&'static str>, RackError> {
        let is_asked = matches!(Racks::of(&self.site.conf)?, Racks::Script { .. });
        Ok((is_asked && self.preferred_hosts == PreferredHosts::Unknown).then_some(
            "the preferred hosts of items from standard input are not known at submission, so net.topology.script.file.name \
             is not run for them: hosts outside the cluster share one rack",
        ))
    }

    async fn stage(&self, application: ApplicationId) -> Result<Staged, SubmitError> {
        let base = self.staging.clone();
        let making = spawn_blocking(move || Staging::create(&base, application));
        let staging = Arc::new(making.await.expect("staging does not panic")?);
        Ok(Staged { staging, cleanup: self.settings.cleanup })
    }

    /// Stages all files. Returns the blueprint, which lists the executors' files. Also returns the further files of the
    /// ApplicationMaster.
    async fn fill(
        &self,
        staged: &Staged,
        files: OfferedFiles,
        topology: &Topology,
    ) -> Result<(Blueprint, Option<LocalFile>), SubmitError> {
        let program = std::env::current_exe().map_err(SubmitError::Program)?;
        let (staging, shared) = (Arc::clone(&staged.staging), self.program.clone());
        let remote = self.remote.clone();
        let filling = spawn_blocking(move || {
            let mut all = vec![staging.add_program(&program, shared.as_ref())?];
            all.extend(staging.add_files(&files)?);
            for file in remote {
                let file = file.described()?;
                if all.iter().any(|other| other.name == file.name) {
                    return Err(StagingError::Twice { name: file.name });
                }
                all.push(file);
            }
            Ok(all)
        });
        let files = filling.await.expect("staging does not panic")?;
        let blueprint = self.blueprint(files, staged, topology)?;
        let own = match self.settings.mode {
            Mode::Unmanaged => None,
            Mode::Client | Mode::Cluster => {
                let (staging, told) = (Arc::clone(&staged.staging), blueprint.to_json());
                let adding = spawn_blocking(move || staging.add_bytes(blueprint::FILE, &told));
                Some(adding.await.expect("staging does not panic")?)
            }
        };
        Ok((blueprint, own))
    }

    /// Stages the files that the driver reads.
    async fn inputs(&self, staged: &Staged, topology: &Topology) -> Result<Vec<LocalFile>, SubmitError> {
        let (staging, inputs) = (Arc::clone(&staged.staging), self.inputs.clone());
        let rows: Vec<String> = topology.iter().map(|(host, rack)| format!("{host} {rack}\n")).collect();
        let add = move |DriverFile { name, content }| match content {
            Content::Bytes(bytes) => staging.add_bytes(name, &bytes),
            Content::File(path) => staging.add_file(name, &path),
            Content::StandardInput => {
                let path = PathBuf::from("standard input");
                let mut stdin = standard::stdin().map_err(|error| StagingError::Io { path, error })?;
                staging.add_all(name, &mut stdin)
            }
            Content::Racks => staging.add_bytes(name, rows.concat().as_bytes()),
        };
        let adding = spawn_blocking(move || inputs.into_iter().map(add).collect::<Result<_, StagingError>>());
        Ok(adding.await.expect("staging does not panic")?)
    }

    fn blueprint(
        &self,
        files: Vec<LocalFile>,
        staged: &Staged,
        topology: &Topology,
    ) -> Result<Blueprint, SubmitError> {
        let conf = &self.site.conf;
        let millis = |name, default| Ok::<_, SiteError>(conf.count(name)?.unwrap_or(default));
        let usual = Hadoop::default();
        let of_cluster = millis("yarn.resourcemanager.am.max-attempts", 2)?;
        let max_attempts = match self.settings.mode {
            Mode::Unmanaged => 1,
            Mode::Client | Mode::Cluster => {
                let of_cluster = u32::try_from(of_cluster).unwrap_or(u32::MAX).max(1);
                self.settings.max_attempts.map_or(of_cluster, |own| own.min(of_cluster))
            }
        };
        let hosts = topology.iter().map(|(host, rack)| (host.to_owned(), rack.to_owned())).collect();
        Ok(Blueprint {
            name: self.name.clone(),
            user: self.site.user.clone(),
            deploy: self.deploy.clone(),
            properties: self.properties.clone(),
            hadoop: Hadoop {
                schedulers: self.site.schedulers()?.iter().map(ToString::to_string).collect(),
                expiry: millis("yarn.am.liveness-monitor.expiry-interval-ms", usual.expiry)?,
                resource_manager_patience: millis(
                    "yarn.resourcemanager.connect.max-wait.ms",
                    usual.resource_manager_patience,
                )?,
                node_manager_patience: millis(
                    "yarn.client.nodemanager-connect.max-wait-ms",
                    usual.node_manager_patience,
                )?,
                https: conf.get("yarn.http.policy").map_err(SiteError::from)?.as_deref()
                    == Some("HTTPS_ONLY"),
            },
            files,
            environment: BTreeMap::new(),
            view_acl: self.settings.view_acl.clone(),
            modify_acl: self.settings.modify_acl.clone(),
            staging: match self.settings.cleanup {
                Cleanup::Delete => Some(staged.staging.directory().clone()),
                Cleanup::Keep => None,
            },
            max_attempts,
            racks: blueprint::Racks { hosts, default: Some(DEFAULT_RACK.to_owned()) },
        })
    }
}
