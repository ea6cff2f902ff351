//! `firesteel journal check`: checks whether a Master can be recovered from a journal.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use firesteel_daemons::master_journal::{Recorded, StateError};
use firesteel_host::journal::{Damage, Directory, JournalError, Tail};
use firesteel_host::plain;
use firesteel_placement::advanced::words::counted;
use firesteel_protocol::byte_text;
use serde::Serialize;

use super::{Source, failure, recovered};
use crate::cli::client::document;
use crate::cli::exit::{self, Exit, Failure};

const SCHEMA: u32 = 1;

/// The options of `firesteel journal check`: which journal is checked.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  firesteel journal check recovery-7077
  firesteel journal check --repair recovery-7077

A batch that was being written when the Master stopped is reported and does no harm: nobody was told of it, and the Master \
drops it. A journal whose end is missing counts as an old copy: the Master starts, and gives no number twice. Any other damage \
keeps a Master from starting. To go on there are two ways:

  firesteel journal check --repair DIR    keeps what is before the damage, and the damaged file under another name
  mv DIR DIR.damaged                      forgets everything: Workers and drivers register anew, executors are replaced

After a repair the Master knows nothing of what was decided after the damage began: it ends executors that were launched \
since, and replaces them. The journal counts as an old copy.

Exit codes: 0 the journal is whole, or was repaired; 1 it is damaged, or cannot be read; 2 wrong usage.")]
pub(super) struct Check {
    #[command(flatten)]
    source: Source,
    /// Cut a damaged journal before the damage. The Master must not run
    #[arg(long)]
    repair: bool,
    /// Print one JSON value
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let directory = &self.source.directory;
        if self.repair && self.source.in_zookeeper().is_some() {
            return Err(Failure::of(
                Exit::Usage,
                "--repair: a journal in ZooKeeper cannot be repaired, only checked".to_owned(),
            ));
        }
        let mut copy = None;
        if self.repair
            && let Some(damaged) = damaged(directory)?
        {
            let kept = damaged.cut().map_err(|error| {
                Failure::of(Exit::Failure, format!("cannot repair {}: {error}", damaged.path.display()))
            })?;
            if !self.json {
                say_repaired(&kept);
            }
            copy = Some(byte_text::of_os(kept));
        }
        let recorded = self.source.read()?;
        let found = Found::of(recorded).map_err(|error| failure(&error))?;
        exit::written(match self.json {
            true => document::print(SCHEMA, Found { damaged_copy: copy, ..found }),
            false => print(&found.lines()),
        })
    }
}

/// A damaged file, and the offset of the damage.
struct Damaged {
    path: PathBuf,
    at: u64,
    /// The journal's directory, locked so that no Master writes while the check runs.
    _directory: Directory,
}

/// Finds the damage in a journal. `None` if there is no damage, or if it cannot be cut off.
fn damaged(directory: &Path) -> Result<Option<Damaged>, Failure> {
    if !directory.is_dir() {
        return Ok(None);
    }
    let locked = Directory::lock(directory).map_err(|error| Failure::with(Exit::Failure, &error))?;
    match locked.read() {
        Err(JournalError::Damaged { path, damage: Damage::Batch { at, .. } }) => {
            Ok(Some(Damaged { path, at, _directory: locked }))
        }
        Ok(_) | Err(_) => Ok(None),
    }
}

impl Damaged {
    /// Cuts the file off at the damage. Returns the path of a copy of the whole file.
    fn cut(&self) -> io::Result<PathBuf> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let copy = self.path.with_file_name(format!("damaged-{name}"));
        fs::copy(&self.path, &copy)?;
        let file = fs::OpenOptions::new().write(true).open(&self.path)?;
        file.set_len(self.at)?;
        file.sync_all()?;
        Ok(copy)
    }
}

fn say_repaired(copy: &Path) {
    let _ = writeln!(plain::stderr(), "firesteel: repaired; the damaged file is now {}", copy.display());
}

/// The contents of a journal, and the state that a Master would recover from it.
#[derive(Serialize)]
struct Found {
    path: String,
    length_bytes: u64,
    later_writes: u64,
    records: u64,
    /// The last write, if it is incomplete.
    torn: Option<Torn>,
    /// Whether the end is missing, so that later writes may be lost.
    end_missing: bool,
    workers: u64,
    applications: u64,
    executors_live: u64,
    completed: u64,
    /// The copy of the damaged file, if it was repaired.
    damaged_copy: Option<String>,
}

/// A write that is incomplete.
#[derive(Serialize)]
struct Torn {
    offset_bytes: u64,
    length_bytes: u64,
}

impl Found {
    fn of(recorded: Recorded) -> Result<Self, StateError> {
        let Recorded { path, batches, tail, length } = &recorded;
        let records: usize = batches.iter().map(Vec::len).sum();
        let path = byte_text::of_os(path.clone());
        let (length_bytes, later_writes) = (*length, (batches.len() as u64).saturating_sub(1));
        let torn = match tail {
            Tail::Torn { at, bytes } => Some(Torn { offset_bytes: *at, length_bytes: *bytes }),
            Tail::Whole | Tail::Unmarked => None,
        };
        let end_missing = recorded.is_cut();
        let view = recovered(recorded)?.view();
        Ok(Self {
            path,
            length_bytes,
            later_writes,
            records: records as u64,
            torn,
            end_missing,
            workers: view.workers.iter().filter(|worker| !worker.state.is_gone()).count() as u64,
            applications: view.applications.len() as u64,
            executors_live: view.applications.iter().map(|application| application.executors_live).sum(),
            completed: view.completed.len() as u64,
            damaged_copy: None,
        })
    }

    /// The facts as lines for people, one line per fact.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{}: whole, {} bytes: an image and {}, {}",
            self.path,
            self.length_bytes,
            counted(self.later_writes, "later write"),
            counted(self.records, "record")
        )];
        if let Some(Torn { offset_bytes, length_bytes }) = self.torn {
            lines.push(format!(
                "the last {length_bytes} bytes, from offset {offset_bytes}, were not written completely; nobody was told of \
                 what they say, and the Master will drop them"
            ));
        }
        if self.end_missing {
            lines.push(format!(
                "the end is missing after {}; later writes may be lost, and the Master will count this state as an old copy",
                counted(self.later_writes, "later write")
            ));
        }
        lines.push(format!(
            "{}, {} with {}, {}",
            counted(self.workers, "Worker"),
            counted(self.applications, "application"),
            counted(self.executors_live, "executor"),
            counted(self.completed, "ended application")
        ));
        lines
    }
}

fn print(lines: &[String]) -> io::Result<()> {
    let mut stdout = plain::stdout();
    for line in lines {
        writeln!(stdout, "{line}")?;
    }
    stdout.flush()
}
