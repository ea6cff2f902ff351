//! `firesteel journal`: inspects what a Master has recorded.

mod check;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand, ValueHint};
use firesteel_daemons::master_journal::{Recorded, StateError};
use firesteel_host::journal::{Directory, JournalError};
use firesteel_host::plain;
use firesteel_master::{Config, Master, Record};
use firesteel_protocol::Timestamp;

use super::client::document;
use super::exit::{self, Exit, Failure};
use check::Check;

const CODES: &str = "Examples:
  firesteel journal dump recovery-7077 | tail
  firesteel journal export recovery-7077 | jq '.applications[].id'

Exit codes: 0 done; 1 the journal is damaged, or cannot be read; 2 wrong usage.";

/// The options of `firesteel journal`: check, dump or export a journal.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  firesteel journal check recovery-7077
  firesteel journal dump recovery-7077 | tail
  firesteel journal export recovery-7077 | jq '.applications[].id'
  firesteel journal check zookeeper://zk-1:2181,zk-2:2181,zk-3:2181/spark

A Master may use the journal meanwhile, except for check --repair. No output has secrets: neither tokens nor the commands of \
applications.

Exit codes: 0 done, and the journal is whole; 1 it is damaged, or cannot be read; 2 wrong usage.")]
pub(super) struct Args {
    #[command(subcommand)]
    command: JournalCommand,
}

#[derive(Debug, Subcommand)]
enum JournalCommand {
    /// Check that a Master can be recovered from a journal, and say what it would know
    Check(Check),
    /// Print every record, one per line
    #[command(after_help = CODES)]
    Dump(Source),
    /// Print the recovered state as JSON, like `firesteel status --json`
    #[command(after_help = CODES)]
    Export(Source),
}

/// The argument that names a journal.
#[derive(Debug, ClapArgs)]
struct Source {
    /// Directory of the journal: spark.deploy.recoveryDirectory, or recovery-PORT where the Master was started; or
    /// zookeeper://HOST:PORT[,HOST:PORT..]/spark, with the node that is spark.deploy.zookeeper.dir
    #[arg(value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    directory: PathBuf,
}

pub(super) fn run(args: Args) -> Result<Exit, Failure> {
    match args.command {
        JournalCommand::Check(check) => check.run(),
        JournalCommand::Dump(source) => source.dump(),
        JournalCommand::Export(source) => source.export(),
    }
}

impl Source {
    fn read(&self) -> Result<Recorded, Failure> {
        let read = match self.in_zookeeper() {
            None => Recorded::read(&Directory::read_only(&self.directory)),
            Some((servers, node)) => super::block_on(Recorded::read_in_zookeeper(servers, &node))?,
        };
        match read {
            Ok(Some(recorded)) => Ok(recorded),
            Ok(None) => {
                let directory = self.directory.display();
                Err(Failure::of(Exit::Failure, format!("{directory} has no journal of a Master")))
            }
            Err(error) => Err(failure(&error)),
        }
    }

    /// The ZooKeeper servers that have the journal, and the node. `None` if the journal is in a directory.
    fn in_zookeeper(&self) -> Option<(&str, String)> {
        let rest = self.directory.to_str()?.strip_prefix("zookeeper://")?;
        let (servers, node) = rest.split_once('/').unwrap_or((rest, "spark"));
        Some((servers, format!("/{node}")))
    }

    fn dump(&self) -> Result<Exit, Failure> {
        let recorded = self.read()?;
        exit::written(print(&recorded.batches))
    }

    fn export(&self) -> Result<Exit, Failure> {
        let master = recovered(self.read()?).map_err(|error| failure(&error))?;
        exit::written(print_json(&master))
    }
}

/// The records of the journal in this directory, or in ZooKeeper.
pub(super) fn read(directory: &Path) -> Result<Recorded, Failure> {
    Source { directory: directory.to_owned() }.read()
}

/// The failure for this error, with advice.
pub(super) fn failure(error: &StateError) -> Failure {
    let advice = match error {
        StateError::Journal(JournalError::Damaged { .. }) => {
            "; firesteel journal check --help says how to go on"
        }
        _ => "",
    };
    Failure::of(Exit::Failure, format!("{error}{advice}"))
}

/// Recovers a Master from these records, with the default settings.
fn recovered(recorded: Recorded) -> Result<Master, StateError> {
    recorded.recover(Config::default(), Timestamp::default())
}

fn print(batches: &[Vec<Record>]) -> io::Result<()> {
    let mut stdout = plain::stdout();
    for (number, records) in batches.iter().enumerate() {
        match number {
            0 => writeln!(stdout, "image")?,
            number => writeln!(stdout, "batch {number}")?,
        }
        for record in records {
            writeln!(stdout, "  {record}")?;
        }
    }
    stdout.flush()
}

fn print_json(master: &Master) -> io::Result<()> {
    let mut stdout = plain::json();
    serde_json::to_writer_pretty(&mut stdout, &document::Master::of(&master.view()))?;
    writeln!(stdout)
}
