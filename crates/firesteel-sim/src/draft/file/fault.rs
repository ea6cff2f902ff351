//! Mistakes in a file.

use firesteel_protocol::scheduling::queues::QueueError;

use super::LONGEST_NAME;

/// A mistake in a file: `line 7: workers[0].memory: invalid value: string "64q", expected ..`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {}{fault}", at(field))]
pub struct FileError {
    /// The number of the line, counted from 1.
    pub line: u64,
    /// The path of the field, as in `workers[0].memory`. Empty if the mistake is not in a field.
    pub field: String,
    pub fault: Fault,
}

/// A mistake in a field or in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The text is not TOML, or has unknown or missing fields.
    #[error("{0}")]
    Form(String),
    #[error("the file has no Workers: add [[workers]] with cores and memory")]
    NoWorkers,
    #[error("a name must have 1 to {LONGEST_NAME} bytes, but this one has {length}")]
    Name { length: usize },
    #[error("two entries have the name {name:?}: give each its own name, or write one entry with a count")]
    NameTwice { name: String },
    /// The file has more entries of a kind than allowed.
    #[error("too many {what}: {found}, but at most {most} can be planned")]
    TooMany { what: &'static str, found: u64, most: u64 },
    /// An executor runs on an unknown Worker.
    #[error("unknown Worker {worker:?}{}", called(like.as_deref()))]
    NoSuchWorker {
        worker: String,
        /// An existing name that is similar.
        like: Option<String>,
    },
    /// Executors run on a Worker that has too little free for them.
    #[error(
        "{worker} has no room for these executors: lower executors, or give the Worker more cores, memory or resources"
    )]
    NoRoom { worker: String },
    /// An executor cannot request these amounts.
    #[error("{error}")]
    Executor {
        /// Why the amounts are not valid.
        error: String,
    },
    /// The queues are invalid, or do not include the application's queue.
    #[error("{0}")]
    Queue(QueueError),
    /// The executors of a gang have no fixed number of cores.
    #[error("a gang needs executors of a fixed size: add executor-cores")]
    GangWithoutCores,
    #[error("the gang has {gang} executors, but the application asks for {most}: lower gang")]
    GangTooLarge {
        gang: u64,
        /// The number of executors that the application requests.
        most: u64,
    },
    /// The number of cores of running executors is neither fixed nor given.
    #[error(
        "the number of cores of these executors is unknown: add cores = 4, or executor-cores to the application"
    )]
    NoCores,
}

fn at(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!("{field}: ") }
}

fn called(like: Option<&str>) -> String {
    like.map_or_else(String::new, |like| format!(": the first Worker is {like:?}"))
}
