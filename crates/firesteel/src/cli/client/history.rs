//! `firesteel history`: lists ended applications and cluster drivers, with their results and the resources that they
//! used.

mod row;

use std::io::{self, Write};
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use firesteel_host::plain;
use firesteel_protocol::Timestamp;
use firesteel_protocol::messages::PastRow;
use firesteel_settings::duration;
use serde::Serialize;

use self::row::Past;
use super::ask::{self, Masters};
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::help;
use crate::cli::table::table;

const EXAMPLES: &str = "  firesteel history
  firesteel history --since 1d --user ann
  firesteel history --state failed --json
  firesteel history --csv >history.csv";

const NOTES: &str = "\
One row for each application and for each driver of firesteel submit that has ended, in the order of their ends. The Master \
keeps the latest of them (spark.deploy.retainedApplications, spark.deploy.retainedDrivers) and, of those before, as many as \
firesteel.master.history.maxAge and firesteel.master.history.maxSize allow; a Master that keeps its state keeps them when it \
is restarted. Of an application, the last 100 executors are remembered.

CPU is the processor time of all remembered executors, or of the driver's last process, from start to end. MEMORY is the most that \
one of them had in RAM whenever it was measured: about a second after a start, and then every 5 s. One that ended before has none.

In JSON and CSV, names end in their unit: _ms (a point in time is in milliseconds since 1970, UTC) and _bytes; what is not known \
is null, or empty. exit_code is 128 + N for signal N. In JSON, schema is incremented on incompatible changes, and executors are \
listed one by one.";

const CODES: &str = "\
Exit codes: 0 done; 1 failed; 2 wrong usage; 69 no Master could be reached; 75 a Master did not answer in time or in \
full; 76 what listens there is no Master that knows its history; 78 a settings file or variable is wrong.";

/// The options of `firesteel history`: which entries are shown, and in which format.
#[derive(Debug, ClapArgs)]
#[command(after_help = help::short("history", EXAMPLES), after_long_help = format!("{NOTES}\n\n{EXAMPLES}\n\n{CODES}"))]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    masters: Masters,
    /// Show only what ended within this time, such as 12h or 7d [default: everything]
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Duration>,
    /// Show only what this user submitted
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Show only what ended in this state
    #[arg(long, value_name = "STATE", value_enum, ignore_case = true)]
    state: Option<EndState>,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated values, with a header
    #[arg(long)]
    csv: bool,
}

/// How an application or a cluster driver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EndState {
    Finished,
    Failed,
    Killed,
    Error,
    Relaunching,
    Unknown,
}

impl EndState {
    fn name(self) -> &'static str {
        match self {
            Self::Finished => "FINISHED",
            Self::Failed => "FAILED",
            Self::Killed => "KILLED",
            Self::Error => "ERROR",
            Self::Relaunching => "RELAUNCHING",
            Self::Unknown => "UNKNOWN",
        }
    }
}

fn time(text: &str) -> Result<Duration, String> {
    duration::parse(text, duration::Unit::Seconds).ok_or_else(|| format!("write {}", duration::EXPECTED))
}

pub(in crate::cli) fn run(args: &Args) -> Result<Exit, Failure> {
    let cluster = args.masters.cluster("history")?;
    let (now, rows) = ask::now(cluster.history())?;
    let rows: Vec<Past<'_>> = rows.iter().filter(|row| args.wants(now, row)).map(Past::of).collect();
    exit::written(match (args.json, args.csv) {
        (true, _) => print_json(&rows),
        (_, true) => print_csv(&rows),
        (false, false) => print_table(&rows),
    })
}

impl Args {
    fn wants(&self, now: Timestamp, row: &PastRow) -> bool {
        let past = Past::of(row);
        self.since.is_none_or(|since| now.since(row.cursor().ended) <= since)
            && self.user.as_deref().is_none_or(|user| past.user() == user)
            && self.state.is_none_or(|state| past.state() == state.name())
    }
}

#[derive(Serialize)]
struct Document<'a> {
    pub(super) schema: u32,
    history: &'a [Past<'a>],
}

fn print_json(rows: &[Past<'_>]) -> io::Result<()> {
    let mut stdout = plain::json();
    serde_json::to_writer_pretty(&mut stdout, &Document { schema: 2, history: rows })?;
    writeln!(stdout)
}

fn print_csv(rows: &[Past<'_>]) -> io::Result<()> {
    let mut stdout = plain::stdout();
    for cells in std::iter::once(row::CSV.map(str::to_owned)).chain(rows.iter().map(Past::csv)) {
        writeln!(stdout, "{}", cells.map(quoted).join(","))?;
    }
    stdout.flush()
}

/// A cell of comma-separated values. Source: RFC 4180.
fn quoted(cell: String) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

fn print_table(rows: &[Past<'_>]) -> io::Result<()> {
    let mut stdout = plain::stdout();
    match rows.is_empty() {
        true => writeln!(stdout, "nothing has ended that the Master remembers and that was asked for")?,
        false => writeln!(stdout, "{}", table(&row::HEADER, rows.iter().map(Past::cells).collect()))?,
    }
    stdout.flush()
}
