//! An application is submitted: it gets an id, its files are staged, and the ResourceManager is told.
//!
//! Whatever goes wrong on the way takes the staged files away again.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use firesteel_placement::MiB;
use firesteel_placement::locality::Topology;
use firesteel_yarn::YarnClient;
use firesteel_yarn::messages::application::GetNewApplicationResponse;
use firesteel_yarn::messages::cluster::NodeState;
use firesteel_yarn::messages::records::ApplicationId;
use tokio::task::spawn_blocking;

use super::blueprint::{self, Blueprint, Deploy, Hadoop, LocalFile};
use super::contexts;
use super::racks::{DEFAULT_RACK, RackError, Racks};
use super::site::{AskError, Patience, Site, SiteError};
use super::staging::{Place, RemoteFile, Staging, StagingError};
use super::wished::Wished;
use firesteel_daemons::files::OfferedFiles;
use firesteel_settings::yarn::{Afterwards, Mode, YarnSettings};

/// An application that is to run on YARN.
#[derive(Clone, Debug)]
pub struct Request {
    /// On which cluster.
    pub site: Site,
    /// What YARN is told.
    pub settings: YarnSettings,
    /// Its name.
    pub name: String,
    /// Its properties, for its ApplicationMaster.
    pub properties: BTreeMap<String, String>,
    /// In which directory its own is made, for what its containers find.
    pub staging: Place,
    /// The program that all nodes have already. `None`: a copy of this one is staged.
    pub program: Option<Place>,
    /// What it brings that is on HDFS already.
    pub remote: Vec<RemoteFile>,
    /// Where its driver is.
    pub deploy: Deploy,
    /// What its driver reads in its container.
    pub inputs: Vec<Input>,
    /// Where its tasks would like to run, as far as that is known.
    pub wished: Wished,
}

/// A file that is staged for a driver in a container, and its name there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// What it is called.
    pub name: &'static str,
    /// What it has.
    pub content: Content,
}

/// What a staged file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// These bytes.
    Bytes(Vec<u8>),
    /// What that file has.
    File(PathBuf),
    /// What can be read from standard input.
    StandardInput,
    /// A table of the hosts' racks.
    Racks,
}

/// Why an application was not submitted.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// A ResourceManager was asked in vain.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// A container of the cluster never has so much.
    #[error(
        "{what} needs {asked} {unit} in its container ({keys}), and this cluster gives a container {most} at most: ask \
         for less, or have {limits} raised"
    )]
    TooLarge {
        /// Who.
        what: &'static str,
        /// How much it needs.
        asked: i64,
        /// Of what.
        unit: &'static str,
        /// The properties that say so.
        keys: &'static str,
        /// The most that there is.
        most: i64,
        /// The cluster's settings.
        limits: &'static str,
    },
    /// Files cannot be staged.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// It is not known which host is in which rack.
    #[error(transparent)]
    Racks(#[from] RackError),
    /// This program cannot be found.
    #[error("cannot find the firesteel program: {0}")]
    Program(io::Error),
    /// The ResourceManager gives no id.
    #[error("the ResourceManager sent no id for the application")]
    NoId,
}

impl From<SiteError> for SubmitError {
    fn from(error: SiteError) -> Self {
        Self::Ask(AskError::Site(error))
    }
}

/// An application that has an id, and perhaps nothing else yet.
#[derive(Debug)]
pub struct Draft {
    /// Its id.
    pub application: ApplicationId,
    /// What a container may have at most.
    new: GetNewApplicationResponse,
    client: YarnClient,
}

/// An application that was submitted.
#[derive(Debug)]
pub struct Submitted {
    /// What its ApplicationMaster is told.
    pub blueprint: Blueprint,
    /// Which host is in which rack.
    pub topology: Topology,
    /// What its containers find.
    pub staged: Staged,
}

/// What was staged for an application; taken away when nobody has this any more, unless it is to be kept.
#[derive(Debug)]
pub struct Staged {
    staging: Arc<Staging>,
    afterwards: Afterwards,
}

impl Drop for Staged {
    fn drop(&mut self) {
        match self.afterwards {
            Afterwards::Deleted => self.staging.delete(),
            Afterwards::Kept => {}
        }
    }
}

impl Staged {
    /// Leaves it to somebody else: the ApplicationMaster takes it away when the application is over.
    pub fn leave(mut self) {
        self.afterwards = Afterwards::Kept;
    }
}

impl Request {
    /// Asks for an id. Somebody waits: a ResourceManager that is not there is not tried for long.
    ///
    /// # Errors
    /// The ResourceManager cannot be asked, or the application is too large for any container.
    pub async fn draft(&self) -> Result<Draft, SubmitError> {
        let client = self.site.client(Patience::Short)?;
        let new = client.new_application().await.map_err(|error| self.site.explained(error))?;
        let application = new.application_id.ok_or(SubmitError::NoId)?;
        let draft = Draft { application, new, client };
        self.check_sizes(&draft)?;
        Ok(draft)
    }

    /// Source: Spark on YARN, 4.0.1, which looks at memory alone.
    fn check_sizes(&self, draft: &Draft) -> Result<(), SubmitError> {
        let Some(most) = &draft.new.maximum_capability else { return Ok(()) };
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

    /// Stages the application's files and submits it. Whoever does not wait for that has the application killed and,
    /// since this then ends, its files taken away.
    ///
    /// # Errors
    /// Files cannot be staged, or the ResourceManager objects.
    pub async fn submit(&self, draft: &Draft, files: &OfferedFiles) -> Result<Submitted, SubmitError> {
        let topology = self.topology(&draft.client).await?;
        let staged = self.stage(draft.application).await?;
        let (blueprint, own) = self.fill(&staged, files.clone(), &topology).await?;
        // An ApplicationMaster finds what its executors find, and what it is told besides.
        let inputs = self.inputs(&staged, &topology).await?;
        let all: Vec<LocalFile> = blueprint.files.iter().cloned().chain(own).chain(inputs).collect();
        let acls = contexts::acls(blueprint.view_acl.as_deref(), blueprint.modify_acl.as_deref());
        let container = contexts::master_container(&all, &self.environment(), acls);
        let context = contexts::submission(draft.application, &self.name, &self.settings, container);
        draft.client.submit(context).await.map_err(|error| self.site.explained(error))?;
        Ok(Submitted { blueprint, topology, staged })
    }

    /// What an ApplicationMaster finds in its environment.
    fn environment(&self) -> BTreeMap<String, String> {
        let mut environment = self.settings.master_environment.clone();
        environment.entry("SPARK_USER".to_owned()).or_insert_with(|| self.site.user.clone());
        environment
    }

    /// What the ResourceManager says of its nodes, and for hosts that are none what the configuration says.
    async fn topology(&self, client: &YarnClient) -> Result<Topology, SubmitError> {
        let nodes = client.nodes(&[NodeState::Running]).await.map_err(|error| self.site.explained(error))?;
        let rack = |node: &firesteel_yarn::messages::cluster::NodeReport| {
            let host = node.node_id.as_ref()?.host().to_owned();
            Some((host, node.rack_name().to_owned())).filter(|(_, rack)| !rack.is_empty())
        };
        let told: BTreeMap<String, String> = nodes.iter().filter_map(rack).collect();
        let racks = Racks::of(&self.site.conf)?;
        let wished = self.wished.clone();
        let found = spawn_blocking(move || {
            // What nobody would be asked about need not be read.
            let hosts = if racks == Racks::None { BTreeSet::new() } else { wished.hosts() };
            racks.topology(&hosts, &told)
        })
        .await;
        Ok(found.expect("looking for racks does not panic")?)
    }

    /// What there is to say of hosts whose racks nobody was asked for.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub fn unasked(&self) -> Result<Option<&'static str>, RackError> {
        let is_asked = matches!(Racks::of(&self.site.conf)?, Racks::Script { .. });
        Ok((is_asked && self.wished == Wished::Unknown).then_some(
            "net.topology.script.file.name is asked for hosts that are known when an application is submitted, and those              of items from standard input are not: hosts that are no nodes of the cluster share one rack",
        ))
    }

    async fn stage(&self, application: ApplicationId) -> Result<Staged, SubmitError> {
        let base = self.staging.clone();
        let making = spawn_blocking(move || Staging::create(&base, application));
        let staging = Arc::new(making.await.expect("staging does not panic")?);
        Ok(Staged { staging, afterwards: self.settings.afterwards })
    }

    /// Puts everything there; what executors find is in the blueprint, what the ApplicationMaster finds besides follows.
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

    /// Puts what the driver reads there.
    async fn inputs(&self, staged: &Staged, topology: &Topology) -> Result<Vec<LocalFile>, SubmitError> {
        let (staging, inputs) = (Arc::clone(&staged.staging), self.inputs.clone());
        let rows: Vec<String> = topology.iter().map(|(host, rack)| format!("{host} {rack}\n")).collect();
        let add = move |Input { name, content }| match content {
            Content::Bytes(bytes) => staging.add_bytes(name, &bytes),
            Content::File(path) => staging.add_file(name, &path),
            Content::StandardInput => staging.add_all(name, &mut io::stdin()),
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
            staging: match self.settings.afterwards {
                Afterwards::Deleted => Some(staged.staging.directory().clone()),
                Afterwards::Kept => None,
            },
            max_attempts,
            racks: blueprint::Racks { hosts, default: Some(DEFAULT_RACK.to_owned()) },
        })
    }
}
