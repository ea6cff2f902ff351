//! A draft from a file in TOML.
//!
//! ```toml
//! [[workers]]
//! name = "gpu-#"                 # gpu-1 to gpu-4
//! count = 4
//! cores = 64
//! memory = "256g"
//! resources = { gpu = 4 }
//!
//! [[applications]]
//! name = "training"
//! max-cores = 64
//! executor-cores = 16
//! executor-memory = "48g"
//! resources = { gpu = 1 }
//! running = [{ worker = "gpu-1", executors = 2 }]
//! ```
//!
//! `fixtures/plan/README.md` describes every field.

mod form;
mod scalar;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use firesteel_core::address::Address;
use firesteel_core::ids::{ProfileId, WorkerId};
use firesteel_core::messages::{
    ApplicationDescription, Offered, Placing, ResourceProfile, Submitter, WantedExecutors, Work,
    WorkerDescription,
};
use firesteel_core::process::Command;
use firesteel_core::queues::{QueueError, Queues};
use firesteel_core::scheduling::{Backfill, Preemption};
use firesteel_placement::{Cores, ExecutorLimit, MiB, ResourceAmounts};
use toml::Spanned;

use super::{Draft, DraftApplication, DraftExecutor};
use form::{ApplicationForm, Form, RunningForm, WorkerForm};

/// So many Workers a file may have at most.
pub const MOST_WORKERS: u64 = 100_000;
/// So many applications a file may have at most.
pub const MOST_APPLICATIONS: u64 = 10_000;
/// So many cores all Workers of a file may have together, and so many executors there can be.
pub const MOST_EXECUTORS: u64 = 2_000_000;
/// The longest name, in bytes.
pub const LONGEST_NAME: usize = 200;
/// Memory of an executor whose application names none. Source: Spark, 4.0.1 (`spark.executor.memory`).
const EXECUTOR_MEMORY: MiB = MiB(1024);

/// What is wrong with a file: `line 7: workers[0].memory: "64q" is no amount of memory: ..`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {}{fault}", at(field))]
pub struct FileError {
    /// The line, from 1.
    pub line: u64,
    /// The path of the field, as in `workers[0].memory`; empty where there is none.
    pub field: String,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is no TOML, or not of the form.
    #[error("{0}")]
    Form(String),
    /// There is no Worker.
    #[error("there is no Worker: write [[workers]] with cores and memory")]
    NoWorkers,
    /// A name is empty, or too long to be shown.
    #[error("a name has 1 to {LONGEST_NAME} letters, this one {length}")]
    Name {
        /// How many it has.
        length: usize,
    },
    /// A name stands there twice.
    #[error("{name:?} is the name of another one: give each a name of its own, or one entry a count")]
    NameTwice {
        /// Which.
        name: String,
    },
    /// More than can be planned.
    #[error("{what} are {found} in all: at most {most} can be planned")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many there may be.
        most: u64,
    },
    /// An executor runs on a Worker that is not there.
    #[error("no Worker is called {worker:?}: {}", called(like.as_deref()))]
    NoSuchWorker {
        /// What it is called.
        worker: String,
        /// The name of one that is there.
        like: Option<String>,
    },
    /// Executors run on a Worker that has no room for them.
    #[error(
        "{worker} has no room for them: lower executors, or give the Worker more cores, memory or resources"
    )]
    NoRoom {
        /// Which.
        worker: String,
    },
    /// The queues are none, or the application's is not among them.
    #[error("{0}")]
    Queue(QueueError),
    /// Executors of no fixed size are to begin at once.
    #[error("executors that begin at once have a number of cores each: write executor-cores")]
    GangWithoutCores,
    /// More executors are to begin at once than the application asks for.
    #[error("{gang} executors are to begin at once, and the application asks for {most}: lower gang")]
    GangTooLarge {
        /// How many at once.
        gang: u64,
        /// How many it asks for.
        most: u64,
    },
    /// Executors of no fixed size run without their cores being told.
    #[error("the application has no executor-cores: write how many cores each has, cores = 4")]
    NoCores,
}

impl Draft {
    /// Reads a file.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn from_toml(text: &str) -> Result<Self, FileError> {
        let form = parse(text)?;
        let queues = form.queues.as_ref().map_or(Ok(Queues::default()), |queues| {
            queues.as_ref().parse().map_err(|error| FileError {
                line: line_of(text, queues.span().start),
                field: "queues".to_owned(),
                fault: Fault::Queue(error),
            })
        })?;
        let nameless = form.workers.iter().map(At::as_ref).filter(|worker| worker.name.is_none());
        let counts = nameless.map(|worker| worker.count.map_or(1, |count| count.0) as u64);
        let digits = counts.fold(0, u64::saturating_add).to_string().len();
        let draft = Self::empty(&form, queues);
        Reader { text, free: BTreeMap::new(), digits, nameless: 0, draft }.read(form)
    }

    fn empty(form: &Form, queues: Queues) -> Self {
        Self {
            default_cores: form.default_cores.map_or(Cores::UNLIMITED, |cores| Cores(cores.0)),
            queues,
            backfill: match form.backfill {
                Some(false) => Backfill::Off,
                Some(true) | None => Backfill::On,
            },
            preemption: Preemption::Off,
            workers: Vec::new(),
            applications: Vec::new(),
        }
    }
}

fn parse(text: &str) -> Result<Form, FileError> {
    let wrong = |field: String, error: &toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let field = field.split('.').filter(|part| !part.starts_with("$__")).collect::<Vec<_>>().join(".");
        let message = error.message().lines().collect::<Vec<_>>().join(" ");
        FileError { line: line_of(text, start), field, fault: Fault::Form(message) }
    };
    let toml = toml::de::Deserializer::parse(text).map_err(|error| wrong(String::new(), &error))?;
    serde_path_to_error::deserialize(toml).map_err(|error| {
        let field = error.path().to_string().trim_end_matches(['?', '.']).to_owned();
        wrong(field, error.inner())
    })
}

/// Makes a draft of the form.
struct Reader<'a> {
    text: &'a str,
    /// What each Worker has left for executors that run already.
    free: BTreeMap<WorkerId, (Cores, MiB, ResourceAmounts)>,
    /// Workers without a name are numbered through: with so many digits, and so far.
    digits: usize,
    nameless: u64,
    draft: Draft,
}

impl Reader<'_> {
    fn read(mut self, form: Form) -> Result<Draft, FileError> {
        if form.workers.is_empty() {
            return Err(FileError { line: 1, field: "workers".to_owned(), fault: Fault::NoWorkers });
        }
        let (mut workers, mut cores, mut addresses) = (0_u64, 0_u64, 0_u64);
        for (index, worker) in form.workers.into_iter().enumerate() {
            let (at, field) = (worker.span(), format!("workers[{index}]"));
            let worker = worker.into_inner();
            let count = worker.count.map_or(1, |count| count.0) as u64;
            workers += count;
            cores = cores.saturating_add(count.saturating_mul(worker.cores.0 as u64));
            self.bound(&at, &format!("{field}.count"), "Workers", workers, MOST_WORKERS)?;
            self.bound(&at, &format!("{field}.cores"), "the cores of Workers", cores, MOST_EXECUTORS)?;
            let each: u64 = worker.resources.values().map(|amount| amount.0 as u64).sum();
            addresses = addresses.saturating_add(count.saturating_mul(each));
            let what = "the addresses of Workers";
            self.bound(&at, &format!("{field}.resources"), what, addresses, MOST_EXECUTORS)?;
            self.named(&at, &format!("{field}.name"), worker.name.as_deref())?;
            self.named(&at, &format!("{field}.host"), worker.host.as_deref())?;
            self.workers(&worker, count, &at, &field)?;
        }
        let mut names = BTreeSet::new();
        let mut applications = 0;
        for (index, application) in form.applications.into_iter().enumerate() {
            let (at, field) = (application.span(), format!("applications[{index}]"));
            let application = application.into_inner();
            let count = application.count.map_or(1, |count| count.0) as u64;
            applications += count;
            self.bound(&at, &format!("{field}.count"), "applications", applications, MOST_APPLICATIONS)?;
            self.named(&at, &format!("{field}.name"), application.name.as_deref())?;
            let pattern =
                application.name.as_deref().map_or_else(|| format!("app-{}", index + 1), str::to_owned);
            for name in expanded(&pattern, count) {
                if !names.insert(name.clone()) {
                    return Err(self.error(&at, &format!("{field}.name"), Fault::NameTwice { name }));
                }
                let application = self.application(name, &application, &at, &field)?;
                self.draft.applications.push(application);
            }
        }
        Ok(self.draft)
    }

    fn workers(
        &mut self,
        form: &WorkerForm,
        count: u64,
        at: &Range<usize>,
        field: &str,
    ) -> Result<(), FileError> {
        let ids: Vec<String> = match &form.name {
            Some(pattern) => expanded(pattern, count),
            None => {
                let (first, digits) = (self.nameless + 1, self.digits);
                self.nameless += count;
                (first..first + count).map(|number| format!("worker-{number:0digits$}")).collect()
            }
        };
        let hosts = form.host.as_deref().map_or_else(|| ids.clone(), |host| expanded(host, count));
        let (cores, memory) = (Cores(form.cores.0), form.memory.0);
        let resources: ResourceAmounts =
            form.resources.iter().map(|(name, amount)| (name.clone(), amount.0 as u64)).collect();
        for (name, host) in ids.into_iter().zip(hosts) {
            let id = WorkerId::new(name.as_str());
            if self.free.insert(id.clone(), (cores, memory, resources.clone())).is_some() {
                return Err(self.error(at, &format!("{field}.name"), Fault::NameTwice { name }));
            }
            let addresses = |(name, &amount): (&String, &u64)| (name.clone(), addresses(amount));
            // Workers on one host have each a port of their own, as long as there are any.
            let port = (self.draft.workers.len() % usize::from(u16::MAX)) as u16;
            self.draft.workers.push(WorkerDescription::new(
                id,
                Address::new(host, port),
                Offered { cores, memory, resources: resources.iter().map(addresses).collect() },
                "",
            ));
        }
        Ok(())
    }

    fn application(
        &mut self,
        name: String,
        form: &ApplicationForm,
        at: &Range<usize>,
        field: &str,
    ) -> Result<DraftApplication, FileError> {
        let gang = self.gang(form).map_err(|fault| self.error(at, &format!("{field}.gang"), fault))?;
        if let Err(error) = self.draft.queues.find(form.queue.as_deref()) {
            return Err(self.error(at, &format!("{field}.queue"), Fault::Queue(error)));
        }
        let resources = form.resources.iter().map(|(name, amount)| (name.clone(), amount.0 as u64));
        let profile = ResourceProfile {
            cores: form.executor_cores.map(|cores| Cores(cores.0)),
            memory: Some(form.executor_memory.map_or(EXECUTOR_MEMORY, |memory| memory.0)),
            resources: resources.collect(),
        };
        let mut running = Vec::new();
        for (index, executors) in form.running.iter().enumerate() {
            let field = format!("{field}.running[{index}]");
            running.extend(self.running(executors, &profile, &field)?);
        }
        let limit = form.num_executors.map_or(ExecutorLimit::Unlimited, ExecutorLimit::AtMost);
        Ok(DraftApplication {
            description: ApplicationDescription::new(
                Submitter::new(name, ""),
                WantedExecutors {
                    profile,
                    max_cores: form.max_cores.map(|cores| Cores(cores.0)),
                    limit,
                    ..WantedExecutors::default()
                },
                Placing {
                    policy: form.placement_policy,
                    queue: form.queue.clone(),
                    priority: form.priority,
                    gang,
                },
                Work::of(Command::of("true")),
            ),
            profiles: Vec::new(),
            running,
        })
    }

    /// How many executors are to begin at once: no more than the application asks for.
    fn gang(&self, form: &ApplicationForm) -> Result<u64, Fault> {
        let Some(gang) = form.gang.map(|gang| gang.0 as u64).filter(|gang| *gang > 1) else { return Ok(0) };
        let each = form.executor_cores.ok_or(Fault::GangWithoutCores)?.0 as u64;
        let cores = form.max_cores.map_or(self.draft.default_cores.0, |cores| cores.0) as u64;
        let most = (cores / each).min(form.num_executors.unwrap_or(u64::MAX));
        match gang <= most {
            true => Ok(gang),
            false => Err(Fault::GangTooLarge { gang, most }),
        }
    }

    fn running(
        &mut self,
        form: &RunningForm,
        profile: &ResourceProfile,
        field: &str,
    ) -> Result<Vec<DraftExecutor>, FileError> {
        let (at, worker) = (form.worker.span(), form.worker.as_ref().as_str());
        let id = WorkerId::new(worker);
        let Some(cores) = form.cores.map(|cores| Cores(cores.0)).or(profile.cores) else {
            return Err(self.error(&at, field, Fault::NoCores));
        };
        let memory = profile.memory.unwrap_or(EXECUTOR_MEMORY);
        let (profile, resources) = (ProfileId::DEFAULT, profile.resources.clone());
        let executor = DraftExecutor { profile, worker: id, cores, memory, resources };
        let mut executors = Vec::new();
        for _ in 0..form.executors.map_or(1, |executors| executors.0) {
            let Some(free) = self.free.get_mut(&executor.worker) else {
                let like = self.draft.workers.first().map(|worker| worker.id.to_string());
                let fault = Fault::NoSuchWorker { worker: worker.to_owned(), like };
                return Err(self.error(&at, &format!("{field}.worker"), fault));
            };
            if !take(free, &executor) {
                return Err(self.error(&at, field, Fault::NoRoom { worker: worker.to_owned() }));
            }
            executors.push(executor.clone());
        }
        Ok(executors)
    }

    /// Refuses a name that is none.
    fn named(&self, at: &Range<usize>, field: &str, name: Option<&str>) -> Result<(), FileError> {
        match name.map(str::len) {
            None | Some(1..=LONGEST_NAME) => Ok(()),
            Some(length) => Err(self.error(at, field, Fault::Name { length })),
        }
    }

    fn bound(
        &self,
        at: &Range<usize>,
        field: &str,
        what: &'static str,
        found: u64,
        most: u64,
    ) -> Result<(), FileError> {
        match found > most {
            true => Err(self.error(at, field, Fault::TooMany { what, found, most })),
            false => Ok(()),
        }
    }

    fn error(&self, at: &Range<usize>, field: &str, fault: Fault) -> FileError {
        FileError { line: line_of(self.text, at.start), field: field.to_owned(), fault }
    }
}

/// Takes an executor's share; nothing if there is not enough.
fn take(free: &mut (Cores, MiB, ResourceAmounts), executor: &DraftExecutor) -> bool {
    let (cores, memory, resources) = free;
    let enough = |(name, amount): (&String, &u64)| resources.get(name).copied().unwrap_or(0) >= *amount;
    if *cores < executor.cores || *memory < executor.memory || !executor.resources.iter().all(enough) {
        return false;
    }
    *cores -= executor.cores;
    *memory -= executor.memory;
    for (name, amount) in &executor.resources {
        if let Some(free) = resources.get_mut(name) {
            *free -= amount;
        }
    }
    true
}

/// The names that a pattern stands for: its last row of `#` is the number, from 1, with as many digits as the last
/// number has and at least as many as there are `#`. One without `#` is a name, or gets `-#` if there are several.
fn expanded(pattern: &str, count: u64) -> Vec<String> {
    let Some(end) = pattern.rfind('#') else {
        return match count {
            1 => vec![pattern.to_owned()],
            _ => expanded(&format!("{pattern}-#"), count),
        };
    };
    let (before, after) = (pattern[..=end].trim_end_matches('#'), &pattern[end + 1..]);
    let digits = count.to_string().len().max(end + 1 - before.len());
    (1..=count).map(|number| format!("{before}{number:0digits$}{after}")).collect()
}

/// Addresses, numbered from 0.
fn addresses(amount: u64) -> BTreeSet<String> {
    (0..amount).map(|address| address.to_string()).collect()
}

fn line_of(text: &str, at: usize) -> u64 {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() as u64 + 1
}

fn at(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!("{field}: ") }
}

fn called(like: Option<&str>) -> String {
    like.map_or_else(String::new, |like| format!("the first is called {like:?}"))
}

/// A field and where it stands.
type At<T> = Spanned<T>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_numbers_its_names_so_that_they_sort() {
        assert_eq!(expanded("w", 1), ["w"]);
        assert_eq!(expanded("w", 2), ["w-1", "w-2"]);
        assert_eq!(expanded("rack#-host-##.example", 2), ["rack#-host-01.example", "rack#-host-02.example"]);
        let ten = expanded("w#", 10);
        assert_eq!((ten[0].as_str(), ten[9].as_str()), ("w01", "w10"));
    }
}
