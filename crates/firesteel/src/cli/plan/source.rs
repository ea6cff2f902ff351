//! Where the cluster and the applications come from: a file, a running Master, or a size.

use std::io::Read as _;
use std::path::Path;

use firesteel::description::describe;
use firesteel::local_cluster::LocalClusterSpec;
use firesteel::master_url::MasterUrl;
use firesteel::settings::application::ApplicationSettings;
use firesteel_core::ids::WorkerId;
use firesteel_core::master::Queues;
use firesteel_core::messages::{
    ApplicationDescription, ApplicationView, Deciding, MasterView, WorkerDescription, WorkerState, WorkerView,
};
use firesteel_core::process::Command;
use firesteel_placement::{Cores, Resources};
use firesteel_sim::draft::{Draft, DraftApplication, DraftExecutor, Stake};

use crate::cli::ask::{self, Cluster};
use crate::cli::exit::{Exit, Failure};
use crate::cli::submit::{Submit, unusable};

/// What is planned.
pub(super) struct Source {
    /// What it is called, for people: a path, a URL, a size.
    pub(super) name: String,
    pub(super) draft: Draft,
    /// How the Master that was asked decides, if one was.
    pub(super) deciding: Option<Deciding>,
}

impl Source {
    /// The name without the folders before it.
    pub(super) fn short_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

/// A file's cluster, or else the one that the options name; the application that they describe comes last.
pub(super) fn read(file: Option<&Path>, submit: &Submit) -> Result<Source, Failure> {
    let properties = submit.properties()?;
    let settings = ApplicationSettings::of(&properties).map_err(|error| Failure::setting(&error))?;
    if let Some(path) = file {
        if submit.names_a_master() {
            let words = "both a CLUSTER and a --master: leave out the one that is not to be planned";
            return Err(Failure::of(Exit::Usage, words));
        }
        let mut source = of_file(path)?;
        if *submit != Submit::default() {
            source.draft.applications.push(asking(&settings));
        }
        return Ok(source);
    }
    let master = settings.master.as_deref().map(str::parse).transpose();
    let mut source = match master.map_err(|error| unusable(&error, &properties))? {
        Some(MasterUrl::LocalCluster(spec)) => of_size(spec),
        Some(MasterUrl::Spark(masters)) => of_master(&Cluster::of(Some(masters), "plan"), &settings)?,
        Some(MasterUrl::Yarn) => {
            let words = "where YARN puts executors is YARN's own affair: plan a cluster of Firesteel's, with --master or CLUSTER";
            return Err(Failure::of(Exit::Usage, words));
        }
        None => of_master(&Cluster::of(None, "plan"), &settings)?,
    };
    source.draft.applications.push(asking(&settings));
    Ok(source)
}

fn of_file(path: &Path) -> Result<Source, Failure> {
    let refuse = |words: String| Failure::of(Exit::Usage, words);
    let (name, text) = if path == Path::new("-") {
        let mut text = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut text);
        ("standard input".to_owned(), read.map(|_| text))
    } else {
        (path.display().to_string(), std::fs::read_to_string(path))
    };
    let text = text.map_err(|error| refuse(format!("cannot read {name}: {error}")))?;
    let draft = Draft::from_toml(&text).map_err(|error| refuse(format!("{name}: {error}")))?;
    Ok(Source { name, draft, deciding: None })
}

fn of_size(spec: LocalClusterSpec) -> Source {
    let LocalClusterSpec { workers, cores, memory } = spec;
    let digits = workers.to_string().len();
    let worker = |number: u32| {
        let name = format!("worker-{number:0digits$}");
        let id = WorkerId::new(name.as_str());
        let (resources, work_dir) = (Resources::default(), String::new());
        WorkerDescription { id, host: name, port: 0, cores, memory, resources, work_dir }
    };
    let workers = (1..=workers).map(worker).collect();
    let draft = Draft {
        default_cores: Cores::UNLIMITED,
        queues: Queues::default(),
        workers,
        applications: Vec::new(),
    };
    Source { name: spec.to_string(), draft, deciding: None }
}

fn of_master(cluster: &Cluster, settings: &ApplicationSettings) -> Result<Source, Failure> {
    let view = ask::now(cluster.state())?;
    let left_out = view.left_out.workers + view.left_out.applications + view.left_out.executors;
    if left_out > 0 {
        let words = format!(
            "{} has more than it can tell at once, {left_out} rows too many: nothing is planned",
            view.url
        );
        return Err(Failure::of(Exit::Failure, words));
    }
    let MasterView { url, deciding, workers, applications, .. } = view;
    let draft = Draft {
        default_cores: deciding.default_cores,
        // Nobody else asks for anything, so there are no turns.
        queues: Queues::default(),
        workers: workers.iter().filter(|it| it.state == WorkerState::Alive).map(worker).collect(),
        applications: applications.iter().map(|view| staying(view, settings)).collect(),
    };
    Ok(Source { name: url, draft, deciding: Some(deciding) })
}

fn worker(view: &WorkerView) -> WorkerDescription {
    WorkerDescription {
        id: view.id.clone(),
        host: view.host.clone(),
        port: view.port,
        cores: view.cores,
        memory: view.memory,
        resources: view.resources.clone(),
        work_dir: String::new(),
    }
}

/// An application that is there keeps its executors; what else it asks for is nothing that is asked about.
fn staying(view: &ApplicationView, settings: &ApplicationSettings) -> DraftApplication {
    let live = view.executors.iter().filter(|executor| !executor.state.is_finished());
    let running = live.map(|executor| DraftExecutor {
        worker: executor.worker.clone(),
        cores: executor.cores,
        memory: executor.memory,
        resources: executor.resources.amounts(),
    });
    let description = ApplicationDescription {
        max_cores: view.max_cores,
        user: view.user.clone(),
        ..describe(view.name.clone(), settings, nothing())
    };
    DraftApplication { description, running: running.collect(), stake: Stake::Stays }
}

/// The application that the options describe.
fn asking(settings: &ApplicationSettings) -> DraftApplication {
    let name = settings.name.clone().unwrap_or_else(|| "new".to_owned());
    let description = describe(name, settings, nothing());
    DraftApplication { description, running: Vec::new(), stake: Stake::Asks }
}

/// Nothing is run.
fn nothing() -> Command {
    Command { program: "true".to_owned(), arguments: Vec::new(), environment: Default::default() }
}
