//! Reads the cluster and its applications from a file, from a running Master, or from a size.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use firesteel_apps::local_cluster::LocalClusterSpec;
use firesteel_apps::master_url::MasterUrl;
use firesteel_daemons::wording::worker::state_in_words;
use firesteel_host::standard;
use firesteel_placement::Resources;
use firesteel_placement::Rule;
use firesteel_protocol::Timestamp;
use firesteel_protocol::address::Address;
use firesteel_protocol::ids::WorkerId;
use firesteel_protocol::messages::{MasterView, Offered, Work, WorkerDescription, WorkerView};
use firesteel_protocol::process::Command;
use firesteel_protocol::scheduling::SchedulingSettings;
use firesteel_protocol::state_reader::Extent;
use firesteel_settings::application::ApplicationSettings;
use firesteel_settings::description::describe;
use firesteel_settings::scheduling::changed_beside_the_policy;
use firesteel_sim::draft::{Draft, DraftApplication};

use crate::cli::client::ask::{self, Cluster, Masters, keyring};
use crate::cli::exit::{Exit, Failure};
use crate::cli::submission::submit::{Submit, unusable};

/// A cluster and the applications to plan for.
pub(super) struct Source {
    /// The name of the source for people: a path, a URL or a size.
    pub(super) name: String,
    pub(super) draft: Draft,
    /// The running Master that was asked. `None`: the source is no Master.
    pub(super) asked: Option<AskedMaster>,
}

/// The settings with which a running Master decides.
pub(super) struct AskedMaster {
    /// The Master's rule for applications that name no policy.
    pub(super) rule: Rule,
    /// The Master's other scheduler settings that differ from the defaults, with their values.
    pub(super) settings: Vec<(&'static str, String)>,
}

impl Source {
    /// The name without directories.
    pub(super) fn short_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// The states of Workers that are not fully available to all applications.
    pub(super) fn states(&self) -> BTreeMap<&WorkerId, String> {
        let states =
            self.draft.workers.iter().map(|worker| (&worker.id, state_in_words(worker, self.draft.now)));
        states.filter(|(_, state)| state != "ALIVE").collect()
    }
}

/// Reads the cluster of the file. Without a file, reads the cluster that the options name. Appends the application that
/// the options describe.
pub(super) fn read(file: Option<&Path>, submit: &Submit) -> Result<Source, Failure> {
    let properties = submit.properties()?;
    let settings = ApplicationSettings::of(&properties).map_err(|error| Failure::setting(&error))?;
    if let Some(path) = file {
        if submit.names_a_master() {
            let words = "CLUSTER and --master exclude each other: leave out one of them";
            return Err(Failure::of(Exit::Usage, words));
        }
        let mut source = of_file(path)?;
        if *submit != Submit::default() {
            source.draft.applications.push(asking(&settings, source.draft.now));
        }
        return Ok(source);
    }
    let master = settings.master.as_deref().map(str::parse).transpose();
    let mut source = match master.map_err(|error| unusable(&error, &properties))? {
        Some(MasterUrl::LocalCluster(spec)) => of_size(spec),
        Some(MasterUrl::Spark(masters)) => {
            let keyring = keyring(&masters, &properties)?;
            of_master(&Cluster::of(masters, keyring, "plan"))?
        }
        Some(MasterUrl::Yarn) => {
            let words = "YARN places executors by its own rules: give a CLUSTER, or a Master with --master spark://HOST:PORT";
            return Err(Failure::of(Exit::Usage, words));
        }
        None => of_master(&Masters::of(None).cluster("plan")?)?,
    };
    source.draft.applications.push(asking(&settings, source.draft.now));
    Ok(source)
}

fn of_file(path: &Path) -> Result<Source, Failure> {
    let refuse = |words: String| Failure::of(Exit::Usage, words);
    let (name, text) = if path == Path::new("-") {
        let mut text = String::new();
        let read = standard::stdin().and_then(|stdin| stdin.lock().read_to_string(&mut text));
        ("standard input".to_owned(), read.map(|_| text))
    } else {
        (path.display().to_string(), std::fs::read_to_string(path))
    };
    let text = text.map_err(|error| refuse(format!("cannot read {name}: {error}")))?;
    let draft = Draft::from_toml(&text).map_err(|error| refuse(format!("{name}: {error}")))?;
    Ok(Source { name, draft, asked: None })
}

fn of_size(spec: LocalClusterSpec) -> Source {
    let LocalClusterSpec { workers, cores, memory } = spec;
    let digits = workers.to_string().len();
    let now = Timestamp::default();
    let worker = |number: u32| {
        let name = format!("worker-{number:0digits$}");
        let (id, resources) = (WorkerId::new(name.as_str()), Resources::default());
        let offered = Offered { cores, memory, resources };
        WorkerView::unused(&WorkerDescription::new(id, Address::new(name, 0), offered, ""), now)
    };
    let workers = (1..=workers).map(worker).collect();
    let draft = Draft {
        scheduling: SchedulingSettings::default(),
        now,
        workers,
        drivers: Vec::new(),
        applications: Vec::new(),
        reserved: None,
    };
    Source { name: spec.to_string(), draft, asked: None }
}

fn of_master(cluster: &Cluster) -> Result<Source, Failure> {
    let view = ask::now(cluster.state(Extent::Executors(0)))?;
    let details = ask::now(async {
        let mut details = Vec::new();
        for application in &view.applications {
            details.push(cluster.application(application.id.as_str()).await?);
        }
        Ok(details)
    })?;
    let draft = Draft::of_running(&view, &details);
    let settings = changed_beside_the_policy(&view.scheduling);
    let MasterView { url, scheduling: SchedulingSettings { rule, .. }, .. } = view;
    let rule: Rule = rule.parse().map_err(|error| {
        let words = format!(
            "{url} places executors by {rule:?}, which this version does not know ({error}): name one with --policy"
        );
        Failure::of(Exit::Failure, words)
    })?;
    Ok(Source { name: url, draft, asked: Some(AskedMaster { rule, settings }) })
}

/// The application that the options describe, as if it registered now.
fn asking(settings: &ApplicationSettings, now: Timestamp) -> DraftApplication {
    let name = settings.name.clone().unwrap_or_else(|| "new".to_owned());
    let description = describe(name, settings, Work::of(nothing()));
    DraftApplication::new(description, now)
}

/// A placeholder for a command. It is never run.
fn nothing() -> Command {
    Command::of("true")
}
