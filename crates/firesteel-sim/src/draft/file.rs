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

mod applications;
mod builder;
mod entries;
mod fault;
mod names;
mod scalar;

use firesteel_placement::Cores;
use firesteel_protocol::Timestamp;
use firesteel_protocol::scheduling::queues::Queues;
use firesteel_protocol::scheduling::{Backfill, SchedulingSettings};
use toml::Spanned;

use super::Draft;
use builder::{DraftBuilder, line_of};
use entries::DraftFile;
pub use fault::{Fault, FileError};

pub const MOST_WORKERS: u64 = 100_000;
pub const MOST_APPLICATIONS: u64 = 10_000;
/// The maximum number of cores of all Workers of a file. It also limits the number of executors.
pub const MOST_EXECUTORS: u64 = 2_000_000;
/// Maximum length of a name, in bytes.
pub const LONGEST_NAME: usize = 200;

impl Draft {
    /// Reads a file in TOML.
    ///
    /// # Errors
    /// The file has a mistake. The error describes the first mistake.
    pub fn from_toml(text: &str) -> Result<Self, FileError> {
        let file = parse(text)?;
        let queues = file.queues.as_ref().map_or(Ok(Queues::default()), |queues| {
            queues.as_ref().parse().map_err(|error| FileError {
                line: line_of(text, queues.span().start),
                field: "queues".to_owned(),
                fault: Fault::Queue(error),
            })
        })?;
        let nameless = file.workers.iter().map(At::as_ref).filter(|worker| worker.name.is_none());
        let counts = nameless.map(|worker| worker.count.map_or(1, |count| count.0) as u64);
        let digits = counts.fold(0, u64::saturating_add).to_string().len();
        let draft = Self::empty(&file, queues);
        DraftBuilder::new(text, digits, draft).build(file)
    }

    fn empty(file: &DraftFile, queues: Queues) -> Self {
        Self {
            scheduling: SchedulingSettings {
                default_cores: file.default_cores.map_or(Cores::UNLIMITED, |cores| Cores(cores.0)),
                queues,
                backfill: match file.backfill {
                    Some(false) => Backfill::Off,
                    Some(true) | None => Backfill::On,
                },
                ..SchedulingSettings::default()
            },
            now: Timestamp::default(),
            workers: Vec::new(),
            drivers: Vec::new(),
            applications: Vec::new(),
            reserved: None,
        }
    }
}

fn parse(text: &str) -> Result<DraftFile, FileError> {
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

/// A field with its position in the file.
type At<T> = Spanned<T>;
