//! The Master's journal: its records on a disk, and the recovery of a Master from them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::BytesMut;
use firesteel_host::journal::{Contents, Directory, JournalError, Storage, Tail, Writer};
use firesteel_master::{Config, Master, Record, RecoveryError, UnknownExecutors, UnreadableRecord};
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::Timestamp;
use firesteel_zookeeper::{Ensemble, Znodes, ZooKeeperError};

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    ZooKeeper(#[from] ZooKeeperError),
    /// The journal contains bytes that are not records.
    #[error("{path}: {error}")]
    Unreadable { path: PathBuf, error: UnreadableRecord },
    /// The Master was asked to begin with a new state, but a state already exists.
    #[error(
        "{path} already has the state of a Master, and --new is for a new state. Leave --new out to go on with it, or move \
         it away"
    )]
    NotNew {
        /// The path of the existing state.
        path: PathBuf,
    },
    #[error("{path}: {error}")]
    Contradictory { path: PathBuf, error: RecoveryError },
}

#[derive(Debug)]
pub struct Recorded {
    pub path: PathBuf,
    /// All records: first those of the image (the state at the beginning of the journal), then those of each later
    /// batch.
    pub batches: Vec<Vec<Record>>,
    pub tail: Tail,
    pub length: u64,
}

impl Recorded {
    /// Reads the records of a journal. `None` if the journal has no records yet.
    ///
    /// # Errors
    /// The journal cannot be read, or is damaged.
    pub fn read(directory: &Directory) -> Result<Option<Self>, StateError> {
        directory.read()?.map(|(path, contents)| Self::decoded(path, &contents)).transpose()
    }

    /// Reads the records of the journal that Masters keep in these servers of ZooKeeper, below this node. `None` if the
    /// journal has no records yet.
    ///
    /// # Errors
    /// The servers cannot be reached, or the journal is damaged.
    pub async fn read_in_zookeeper(servers: &str, node: &str) -> Result<Option<Self>, StateError> {
        let (servers, directory) = (servers.to_owned(), node.to_owned());
        let ensemble = Ensemble { servers, directory, session: Duration::from_secs(4), identity: None };
        firesteel_zookeeper::read(&ensemble).await?.map(Self::of_nodes).transpose()
    }

    /// Reads the records in the nodes of a journal. There are no end marks: each piece is there as a whole, or not at
    /// all.
    fn of_nodes(nodes: (PathBuf, Vec<u8>)) -> Result<Self, StateError> {
        let recorded = Self::of(nodes)?;
        Ok(match recorded.tail {
            Tail::Unmarked => Self { tail: Tail::Whole, ..recorded },
            Tail::Whole | Tail::Torn { .. } => recorded,
        })
    }

    /// Reads the records in a copy of a journal file.
    ///
    /// # Errors
    ///
    /// The file is damaged.
    pub fn of((path, file): (PathBuf, Vec<u8>)) -> Result<Self, StateError> {
        match Contents::of(file) {
            Ok(contents) => Self::decoded(path, &contents),
            Err(damage) => Err(JournalError::Damaged { path, damage }.into()),
        }
    }

    fn decoded(path: PathBuf, contents: &Contents) -> Result<Self, StateError> {
        match records(contents) {
            Ok(batches) => Ok(Self { path, batches, tail: contents.tail(), length: contents.length() }),
            Err(error) => Err(StateError::Unreadable { path, error }),
        }
    }

    /// Whether the state is new. A Master with a new state does not end unknown executors at once.
    #[must_use]
    pub fn is_new(&self) -> bool {
        let held = |record: &Record| match record {
            Record::ForeignHeld(held) => Some(*held),
            _ => None,
        };
        self.batches.iter().flatten().rev().find_map(held).unwrap_or(false)
    }

    /// Whether the end of the journal is missing. A journal of a release that gave no identities has no end mark.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        let has_identity =
            |record: &Record| matches!(record, Record::Founded(counters) if counters.state.is_some());
        self.tail == Tail::Unmarked
            && self.batches.first().is_some_and(|image| image.iter().any(has_identity))
    }

    /// The last whole part of the journal, in words.
    fn place_of_end(&self) -> String {
        match self.batches.len() {
            0 | 1 => "its image".to_owned(),
            batches => format!("its batch {}", batches - 1),
        }
    }

    /// Recovers the Master from these records.
    ///
    /// # Errors
    ///
    /// The records contradict each other.
    pub fn recover(self, config: Config, now: Timestamp) -> Result<Master, StateError> {
        let path = self.path;
        let records = self.batches.into_iter().flatten();
        Master::recover(config, now, records).map_err(|error| StateError::Contradictory { path, error })
    }
}

fn records(contents: &Contents) -> Result<Vec<Vec<Record>>, UnreadableRecord> {
    std::iter::once(contents.image()).chain(contents.batches()).map(Record::read_all).collect()
}

/// Opens the journal in this directory, recovers the Master from it, and begins a new generation.
///
/// # Errors
/// The journal cannot be used, or is damaged.
pub fn open(path: &Path, config: Config, now: Timestamp) -> Result<(Master, Writer), StateError> {
    let directory = Directory::lock(path)?;
    let recorded = Recorded::read(&directory)?;
    match &recorded {
        None => tracing::info!("keeping the state in {}, which is new", path.display()),
        Some(recorded) if config.foreign == UnknownExecutors::Ended && !recorded.is_new() => {
            return Err(StateError::NotNew { path: path.to_owned() });
        }
        Some(_) => {}
    }
    begin(recorded, directory, path, config, now)
}

/// Recovers the Master from the contents of these nodes, and begins a new generation there.
///
/// # Errors
/// The nodes cannot be written, or their contents are damaged.
pub fn take_over(
    read: Option<(PathBuf, Vec<u8>)>,
    znodes: Znodes,
    config: Config,
    now: Timestamp,
) -> Result<(Master, Writer), StateError> {
    let recorded = read.map(Recorded::of_nodes).transpose()?;
    let place = recorded.as_ref().map_or_else(|| "ZooKeeper".into(), |recorded| recorded.path.clone());
    begin(recorded, znodes, &place, config, now)
}

/// Recovers the Master from these records, which were read from this place. Begins a new generation.
fn begin(
    recorded: Option<Recorded>,
    storage: impl Storage + 'static,
    place: &Path,
    config: Config,
    now: Timestamp,
) -> Result<(Master, Writer), StateError> {
    let config = Config { state_place: place.display().to_string(), ..config };
    let master = match recorded {
        None => Master::recover(config, now, []).expect("no record contradicts another one"),
        Some(recorded) => {
            if let Tail::Torn { at, bytes } = recorded.tail {
                tracing::warn!(
                    "{}: the last {bytes} bytes, from offset {at}, were not written completely when the Master stopped; \
                     nobody was told of what they say, and they are dropped",
                    recorded.path.display()
                );
            }
            let is_cut = recorded.is_cut();
            if is_cut {
                tracing::warn!(
                    "{}: the end is missing after {}: it is an incomplete copy, was cut, or has zeros in place of its end. \
                     Later decisions may be lost. The state counts as an old copy: each application leaves out numbers of \
                     executors, so that none is given twice. To go on without loss, stop this Master now and start it \
                     with a complete copy of its state",
                    recorded.path.display(),
                    recorded.place_of_end()
                );
            }
            let timeout = config.recovery_timeout;
            let master = recorded.recover(Config { is_cut, ..config }, now)?;
            let away = master.away();
            tracing::info!(
                "recovered {}, {} and {} from {}; waiting up to {} s for them to return",
                counted(away.workers, "Worker"),
                counted(away.applications, "application"),
                counted(away.executors, "executor"),
                place.display(),
                timeout.as_secs()
            );
            master
        }
    };
    let writer = Writer::begin(storage, &image(&master))?;
    Ok((master, writer))
}

#[must_use]
pub fn image(master: &Master) -> BytesMut {
    encoded(&master.image())
}

#[must_use]
pub fn encoded(records: &[Record]) -> BytesMut {
    let mut bytes = BytesMut::new();
    Record::append_all(records, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests;
